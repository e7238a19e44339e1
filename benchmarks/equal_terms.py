"""What a generator earns on equal terms: fresh candidates as the first ones of a run, before and after training.

    python benchmarks/equal_terms.py RUN [RUN ...] [--prompts 40] [--json FILE]

Inside a run the generator's reward falls because what was admitted is no longer new, and moves because the solver that
calibrates changes with it. Here the runs' model before training and each run's newest checkpoint answer the same
prompts against the same pool, that of a run's start; differences are taken candidate by candidate.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from evoenv.assembly import find_checkpoint, open_checkpoint, open_embedder, open_sandbox
from evoenv.config import Config, load_config
from evoenv.ports import Embedder, Policy
from evoenv.records import Decision
from evoenv.run import create, prepare
from evoenv.sandbox.host import Sandbox
from evoenv.stages.admitting import decide
from evoenv.stages.judgement import judge
from evoenv.stages.synthesis import synthesise
from evoenv.store.store import Store


def fresh(config: Config, policy: Policy, sandbox: Sandbox, embedder: Embedder) -> list[Decision]:
    """One batch of candidates as far as its rewards."""
    with tempfile.TemporaryDirectory() as place:
        store, config = create(Path(place) / "run", config)
        with prepare(store, config, policy, sandbox, embedder, training=False) as run:
            proposed = synthesise(run, 1, run.store.pool())
            decide(run, 1, proposed, judge(run, 1, proposed))
            return run.store.decisions(1)


def mean(values: list[float]) -> dict[str, float]:
    return {"mean": statistics.mean(values), "standard_error": statistics.stdev(values) / len(values) ** 0.5}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--prompts", type=int, default=40, help="generator prompts (40)")
    parser.add_argument("--seed", type=int, default=77, help="of the prompts and samples (77)")
    parser.add_argument("--gate", type=float, default=0.65, help="of novelty (0.65)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    with Store.read(arguments.runs[0]) as store:
        settings = store.meta("config")
    probe = load_config(
        settings,
        overrides=[
            f"generator.prompts={arguments.prompts}", f"run.seed={arguments.seed}", f"novelty.gate={arguments.gate}",
            "run.steps=1", "run.tokens=0", "model.device=cpu",
        ],
    )  # fmt: skip
    embedder = open_embedder(probe)
    rows: list[dict[str, Any]] = []
    start: list[float] = []
    with open_sandbox() as sandbox:
        for directory in (None, *arguments.runs):
            before = directory is None
            checkpoint = find_checkpoint(arguments.runs[0], 0) if before else find_checkpoint(directory)
            policy = open_checkpoint(checkpoint)
            decisions = fresh(probe, policy, sandbox, embedder)
            rewards = [decision.reward for decision in decisions]
            row: dict[str, Any] = {
                "policy": "before training" if before else directory.name,
                "candidates": len(decisions),
                "reach_l5": sum(decision.layer == 5 for decision in decisions) / len(decisions),
                "reward": mean(rewards),
            }
            if before:
                start = rewards
            else:
                row["gain"] = mean([new - old for old, new in zip(start, rewards, strict=True)])
            rows.append(row)
            gain = f"  gain {row['gain']['mean']:+.2f} ± {row['gain']['standard_error']:.2f}" if not before else ""
            print(f"{row['policy']:<32} reward {row['reward']['mean']:.2f}  L5 {row['reach_l5']:.0%}{gain}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
