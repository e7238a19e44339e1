"""Validate an environment file, draw instances of it, and score answers.

python examples/validate_and_score.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import evoenv

DIGITS = Path(__file__).parent / "digits.py"


def main(path: Path) -> int:
    report = evoenv.validate(path)
    print(f"{report.class_name}: layer {report.layer} of 5")
    for finding in report.findings:
        print(f"  {finding.code}: {finding.message}\n  {finding.hint}")
    if not report.passed:
        return 1
    with evoenv.Sandbox() as sandbox, sandbox.open(path.read_text()) as worker:
        for instance in worker.instances(seeds=[1, 2], difficulty=1):
            if instance is None:
                continue
            right, wrong = str(instance.reference), "0"
            scores = worker.score([(instance.seed, 1, right), (instance.seed, 1, wrong)])
            print(f"{instance.prompt} {right} scores {scores[0].value:g}, {wrong} scores {scores[1].value:g}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else DIGITS))
