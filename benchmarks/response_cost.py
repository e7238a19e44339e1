"""What a solver response costs in all, sampled and trained on, here and in another checkout of this project.

    git worktree add ../before COMMIT
    python benchmarks/response_cost.py --against ../before [--turns 3] [--json]

Each turn answers 64 prompts of the corpus eight times with the small policy and trains on the answers, a third of whose
groups is silent, without KL: once with the other checkout's package, once with this one's, each in a process of its own
on one thread. CPU time counts, which holds on a busy machine too; the first round of each process is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

HERE = Path(__file__).parents[1]


def measure() -> dict[str, float]:
    """Sample and train twice with whatever package is on the path; return the second round's CPU seconds."""
    from responses import Watch, groups_of, solver_requests

    from evoenv.config import load_config
    from evoenv.engines.local.policy import LocalPolicy
    from evoenv.objective import build_batch
    from evoenv.presets import preset

    config = load_config(preset("nano"), overrides=["training.kl=0"])
    requests = solver_requests(config, 8)
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as checkpoints:
        policy = LocalPolicy.open(config.model, config.training, checkpoints=Path(checkpoints), seed=0)
        for _ in range(2):
            watch = Watch()
            samples = list(policy.sample(requests))
            seconds["sample"] = watch.rates(len(samples), 0)["cpu_seconds"]
            batch = build_batch(groups_of(samples), config.training)
            watch = Watch()
            policy.update(batch)
            seconds["train"] = watch.rates(len(samples), 0)["cpu_seconds"]
        policy.close()
    return {**seconds, "responses": len(samples), "tokens": sum(sample.tokens for sample in samples)}


def measured_in(checkout: Path) -> dict[str, float]:
    """Measure with another checkout's package, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str((checkout / "src").resolve()), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--measure"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the package in {checkout} could not be measured: {done.stderr.strip().splitlines()[-1:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure()))
        return
    checkouts = {"here": HERE, **({"before": arguments.against} if arguments.against else {})}
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    for _ in range(arguments.turns):
        for name, checkout in checkouts.items():
            turns[name].append(measured_in(checkout))
    document: dict[str, Any] = {"turns": turns}
    for name, own in turns.items():
        document[name] = {part: mean(turn[part] for turn in own) for part in own[0]}
    if arguments.json:
        print(json.dumps(document, indent=1))
        return
    for name in turns:
        row = document[name]
        print(
            f"{name}: {row['sample']:.2f} s sampled + {row['train']:.2f} s trained on = "
            f"{1000 * (row['sample'] + row['train']) / row['responses']:.1f} CPU ms a response"
        )


if __name__ == "__main__":
    main()
