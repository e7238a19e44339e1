"""What validation costs beside another version of EvoEnv: CPU seconds of the median seed, both in one run.

    python benchmarks/validation_cpu.py OTHER_CHECKOUT [--seeds 10] [--rounds 3]

The two versions take turns on each seed, so that a busy moment hits both. Prints both medians and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from evoenv.environment.seeds import seed_sources

HERE = Path(__file__).parents[1]
CHILD = """
import json, sys
from evoenv.sandbox.host import Sandbox
from evoenv.validation.validate import validate
with Sandbox(workers=1) as sandbox:
    for line in sys.stdin:
        report = validate(json.loads(line), sandbox)
        print(json.dumps([report.layer, report.cpu_seconds]), flush=True)
"""


def start(checkout: Path) -> subprocess.Popen[str]:
    """Start a process that validates sources, with the version of EvoEnv that a checkout holds."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def ask(process: subprocess.Popen[str], source: str) -> tuple[int, float]:
    """Return the layer and the CPU seconds of one validation."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(source) + "\n")
    process.stdin.flush()
    layer, seconds = json.loads(process.stdout.readline())
    return layer, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    sources = list(seed_sources().items())
    sources = sources[:: max(1, len(sources) // arguments.seeds)][: arguments.seeds]
    versions = {"this": start(HERE), "other": start(arguments.other)}
    costs: dict[str, list[float]] = {name: [] for name in versions}
    for title, source in sources:
        for name, process in versions.items():
            outcomes = [ask(process, source) for _ in range(arguments.rounds)]
            if any(layer != 5 for layer, _ in outcomes):
                print(f"{title}: {name} version gives layer {min(outcomes)[0]}", file=sys.stderr)
            costs[name].append(min(seconds for _, seconds in outcomes))
    for process in versions.values():
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    this, other = (statistics.median(costs[name]) for name in ("this", "other"))
    print(f"{len(sources)} seeds, the best of {arguments.rounds}: this version {this:.3f} s, the other {other:.3f} s")
    print(f"ratio of the medians {this / other:.2f}")
    ratios = sorted(mine / theirs for mine, theirs in zip(costs["this"], costs["other"], strict=True))
    print(f"median of the ratios {statistics.median(ratios):.2f}, the largest {ratios[-1]:.2f}")


if __name__ == "__main__":
    main()
