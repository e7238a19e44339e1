"""What a generator earns on equal terms: fresh candidates as the first ones of a run, before and after training.

    python benchmarks/equal_terms.py RUN [RUN ...] [--prompts 40] [--json FILE]

Inside a run the generator's reward falls because what was admitted is no longer new, and moves because the solver that
calibrates changes with it. Here the runs' model before training and each run's newest checkpoint answer the same
prompts against the same pool, that of a run's start, and the model before training reviews and calibrates what any of
them writes (--own-judge: each its own, as in its run). Errors are over prompts: candidates of one prompt are alike.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evoenv.assembly import find_checkpoint, open_checkpoint, open_embedder, open_sandbox
from evoenv.config import Config, load_config
from evoenv.errors import EvoEnvError
from evoenv.ports import Embedder, Policy
from evoenv.records import Decision
from evoenv.run import create, prepare
from evoenv.sandbox.host import Sandbox
from evoenv.stages.admitting import decide
from evoenv.stages.judgement import judge
from evoenv.stages.synthesis import synthesise
from evoenv.store.store import Store


def fresh(config: Config, author: Policy, judging: Policy, sandbox: Sandbox, embedder: Embedder) -> list[Decision]:
    """One batch of candidates as far as its rewards."""
    with tempfile.TemporaryDirectory() as place:
        store, config = create(Path(place) / "run", config)
        with prepare(store, config, author, sandbox, embedder, training=False) as run:
            proposed = synthesise(run, 1, store.pool())
            run.policy = judging
            decide(run, 1, proposed, judge(run, 1, proposed))
            return store.decisions(1)


def mean(values: Sequence[float], group: int) -> dict[str, float]:
    """Average over all, with the standard error of the groups' means: what shares a prompt is alike."""
    means = [statistics.mean(values[begin : begin + group]) for begin in range(0, len(values), group)]
    return {"mean": statistics.mean(means), "standard_error": statistics.stdev(means) / len(means) ** 0.5}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--prompts", type=int, default=40, help="generator prompts (40)")
    parser.add_argument("--seed", type=int, default=77, help="of the prompts and samples (77)")
    parser.add_argument("--gate", type=float, default=0.65, help="of novelty (0.65)")
    parser.add_argument("--own-judge", action="store_true", help="each policy reviews and calibrates what it writes")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.prompts < 2:
        parser.error(f"--prompts is {arguments.prompts}; expected 2 or more, between which there is an error")
    if arguments.json and not arguments.json.absolute().parent.is_dir():
        parser.error(f"--json {arguments.json}: its folder is missing; make it first")
    try:
        compare(arguments)
    except EvoEnvError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def compare(arguments: argparse.Namespace) -> None:
    """Measure the model before training and every run's newest checkpoint; what is measured is kept as it comes."""
    with Store.read(arguments.runs[0]) as store:
        settings = store.meta("config")
    probe = load_config(
        settings,
        overrides=[
            f"generator.prompts={arguments.prompts}", f"run.seed={arguments.seed}", f"novelty.gate={arguments.gate}",
            "run.steps=1", "run.tokens=0", "model.device=cpu",
        ],
    )  # fmt: skip
    group = probe.generator.candidates_per_prompt
    # all are looked for before the first is asked
    first, *others = find_checkpoint(arguments.runs[0], 0), *map(find_checkpoint, arguments.runs)
    names = ["before training", *(directory.name for directory in arguments.runs)]
    embedder = open_embedder(probe)
    rows: list[dict[str, Any]] = []
    start: list[float] = []
    judging = open_checkpoint(first)
    with open_sandbox() as sandbox:
        for name, checkpoint in zip(names, (first, *others), strict=True):
            author = judging if checkpoint is first else open_checkpoint(checkpoint)
            decisions = fresh(probe, author, author if arguments.own_judge else judging, sandbox, embedder)
            rewards = [decision.reward for decision in decisions]
            row: dict[str, Any] = {
                "policy": name,
                "candidates": len(decisions),
                "reach_l5": sum(decision.layer == 5 for decision in decisions) / len(decisions),
                "reward": mean(rewards, group),
            }
            gain = ""
            if checkpoint is first:
                start = rewards
            else:
                row["gain"] = mean([new - old for old, new in zip(start, rewards, strict=True)], group)
                gain = f"  gain {row['gain']['mean']:+.2f} ± {row['gain']['standard_error']:.2f}"
            rows.append(row)
            print(f"{row['policy']:<32} reward {row['reward']['mean']:.2f}  L5 {row['reach_l5']:.0%}{gain}", flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
