"""What repairs bring: candidates at L5 and admitted, per thousand tokens of candidates, with 0, 1 and 2 repairs.

    python benchmarks/repairs.py RUN [--json] [--candidates 64] [other arguments of `evoenv synth`: --base-url U, …]

One synthesis with two repairs holds all three: what its first attempts gave is what it would have given with none, and
so on, so that the prompts and the first attempts are the same for each row. It is one step, whatever the number of
candidates: a repaired candidate that is admitted early would change the prompts of the others. One thing is not as it
would have been: a mended candidate may be admitted in place of a first attempt that is nearly the same and earned
less, which the row without repairs then lacks. "At L5" has no such doubt. Arguments start the
synthesis, or with --resume go on with it; without any, the run is only read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from evoenv.runs.yields import LAYERS, Yield
from evoenv.store.store import Store

REPAIRS = 2
GROUP = 8


def synthesise(run: Path, candidates: int, arguments: list[str]) -> None:
    """Run `evoenv synth` with two repairs, all candidates in one step."""
    command = [sys.executable, "-m", "evoenv", "synth", "--run", str(run), "--candidates", str(candidates), *arguments]
    if "--resume" not in arguments:
        settings = {"candidates_per_prompt": GROUP, "prompts": -(-candidates // GROUP)}
        command += ["--repairs", str(REPAIRS)]
        for name, value in settings.items():
            command += ["--set", f"generator.{name}={value}"]
    subprocess.run(command, check=True)


def yields_by_attempt(store: Store) -> list[Yield]:
    """Count the candidates of the first step by the number of repairs behind them."""
    mends = store.repaired(1)
    reports = store.reports(1)
    admitted = {decision.candidate_id for decision in store.decisions(1) if decision.admitted}
    tokens = {
        f"{request_id}.c{index:02}": sample.tokens
        for purpose in ("generate", "repair")
        for (request_id, index), sample in store.samples(1, purpose).items()
    }
    attempts = [Yield() for _ in range(REPAIRS + 1)]
    for candidate in store.candidates(1):
        repairs, earlier = 0, candidate.id
        while earlier in mends:
            repairs, earlier = repairs + 1, mends[earlier]
        report = reports.get(candidate.id)
        attempts[repairs] += Yield(
            1,
            int(report is not None and report.layer >= LAYERS),
            int(candidate.id in admitted),
            tokens.get(candidate.id, 0),
        )
    return attempts


def table(attempts: list[Yield]) -> list[dict[str, Any]]:
    """One row for each number of repairs allowed: what the attempts up to it gave together."""
    rows = []
    total = Yield()
    for repairs, own in enumerate(attempts):
        total += own
        rows.append(
            {
                "repairs": repairs,
                "candidates": total.candidates,
                "tokens": total.tokens,
                "validated": total.validated,
                "admitted": total.admitted,
                "validated_per_thousand": total.validated_per_thousand,
                "admitted_per_thousand": total.admitted_per_thousand,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--candidates", type=int, default=64, help="first attempts")
    arguments, others = parser.parse_known_args()
    if others:
        synthesise(arguments.run, arguments.candidates, others)
    with Store.read(arguments.run) as store:
        rows = table(yields_by_attempt(store))
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    print("| repairs | candidates | tokens | at L5 | admitted | at L5 per 1,000 tokens | admitted per 1,000 tokens |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['repairs']} | {row['candidates']} | {row['tokens']:,} | {row['validated']} | {row['admitted']} | "
            f"{row['validated_per_thousand']:.3f} | {row['admitted_per_thousand']:.3f} |"
        )


if __name__ == "__main__":
    main()
