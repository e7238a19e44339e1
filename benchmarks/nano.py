"""What one evoenv step costs with the small policy, and where the time goes.

    python benchmarks/nano.py [--json] [--steps 2] [--model nano] [--kind reading | recomputing]

- sampling: tokens per second of solver responses at 64 rows, eight to a prompt as the loop samples them, and one to a
  prompt, where reading prompts costs more than writing answers. Goal: 2,000 on two cores.
- step: whole steps of the `nano` preset, its review included, by stage. Goal: 60 s on two cores. `--kind reading`: the
  same with a review that reads.
- `--kind recomputing`: the same steps without any review and with recomputation, and what that adds to a step. All
  verdicts admit here, so that both runs go the same way. Goal: at most a third.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from responses import ROWS, solver_requests

from evoenv.config import Config, load_config, to_mapping
from evoenv.engines.local.policy import LocalPolicy
from evoenv.models.embedder import MiniLMEmbedder
from evoenv.presets import preset
from evoenv.records import StepSummary
from evoenv.run import advance, create, prepare
from evoenv.sandbox.host import Sandbox
from evoenv.store.store import Stage


def sampling(policy: LocalPolicy, config: Config, group: int) -> dict[str, float]:
    """Fresh instances of the corpus, answered with 64 rows at work, `group` to a prompt."""
    requests = solver_requests(config, group, trains=False)
    list(policy.sample(requests[: ROWS // group]))  # warm
    began = time.perf_counter()
    tokens = sum(sample.tokens for sample in policy.sample(requests))
    seconds = time.perf_counter() - began
    return {
        "rows": ROWS, "threads": torch.get_num_threads(), "per_prompt": group, "tokens": tokens, "seconds": seconds,
        "tokens_per_second": tokens / seconds,
    }  # fmt: skip


class StageClock:
    """An observer that charges the time between two stages to the earlier one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._current, self._since = "", time.perf_counter()

    def stage(self, step: int, stage: Stage) -> None:
        self._turn(stage)

    def progress(self, step: int, stage: Stage, done: int, total: int) -> None:
        pass

    def summary(self, summary: StepSummary) -> None:
        self._turn("")

    def _turn(self, stage: str) -> None:
        now = time.perf_counter()
        if self._current:
            self.seconds[self._current] += now - self._since
        self._current, self._since = stage, now


def step(policy: LocalPolicy, config: Config, steps: int) -> dict[str, Any]:
    clock = StageClock()
    with tempfile.TemporaryDirectory() as place, Sandbox() as sandbox:
        store, config = create(Path(place) / "run", config)
        embedder = MiniLMEmbedder(config.novelty.embedder, device="cpu")
        with prepare(store, config, policy, sandbox, embedder, observer=clock) as run:
            began = time.perf_counter()
            summaries = advance(run, steps)
            seconds = time.perf_counter() - began
            overhead = [value for _, value in store.metric("time/overhead_share")]
            admitted = sum(len(store.decisions(number)) for number in range(1, steps + 1))
            running = sum(value for _, value in store.metric("time/recompute"))
            programs = sum(
                len(item.shares) for number in range(1, steps + 1) for item in store.recomputations(number).values()
            )
    done = len(summaries)
    return {
        "steps": done,
        "seconds_per_step": seconds / done,
        "stages": {name: value / done for name, value in clock.seconds.items()},
        "share_beside_the_policy": sum(overhead) / len(overhead),
        "candidates": admitted,
        "programs": programs,
        "running_programs": running / done,
    }


def recomputing(policy: LocalPolicy, config: Config, steps: int) -> dict[str, Any]:
    """Measure what recomputation adds to a step."""
    without = load_config(to_mapping(config), overrides=["review.enabled=false"])
    with_it = load_config(to_mapping(config), overrides=['review.admits=["confirmed", "unconfirmed", "contradicted"]'])
    step(policy, without, 1)  # warm
    plain, recomputed = step(policy, without, steps), step(policy, with_it, steps)
    added = recomputed["seconds_per_step"] - plain["seconds_per_step"]
    return {"without": plain, "with": recomputed, "added": added, "added_share": added / plain["seconds_per_step"]}


def show_recomputing(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(found, indent=1))
        return
    plain, recomputed = found["without"], found["with"]
    print(
        f"step: {plain['seconds_per_step']:.1f} s without review, {recomputed['seconds_per_step']:.1f} s with "
        f"recomputation ({found['added_share']:+.0%}); {recomputed['programs'] / recomputed['steps']:.0f} programs a "
        f"step, {recomputed['running_programs']:.2f} s to run them"
    )
    for name, seconds in recomputed["stages"].items():
        print(f"  {name:<12} {plain['stages'].get(name, 0.0):6.2f} s  {seconds:6.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--model", default="nano")
    parser.add_argument("--kind", choices=["reading", "recomputing"])
    arguments = parser.parse_args()
    reading = ['review.kind="reading"'] if arguments.kind == "reading" else []
    config = load_config(preset("nano"), overrides=[*reading, f'model.name="{arguments.model}"', "run.steps=1000"])
    with tempfile.TemporaryDirectory() as checkpoints:
        policy = LocalPolicy.open(config.model, config.training, checkpoints=Path(checkpoints), seed=0)
        if arguments.kind == "recomputing":
            show_recomputing(recomputing(policy, config, arguments.steps), as_json=arguments.json)
            return
        groups = {str(group): sampling(policy, config, group) for group in (config.solver.responses_per_prompt, 1)}
        found: dict[str, Any] = {"sampling": groups, "step": step(policy, config, arguments.steps)}
    if arguments.json:
        print(json.dumps(found, indent=1))
        return
    for one in groups.values():
        print(
            f"sampling: {one['tokens_per_second']:,.0f} tokens/s at {ROWS} rows, {one['per_prompt']} to a prompt "
            f"({one['tokens']:,} tokens, {one['threads']} threads)"
        )
    two = found["step"]
    print(f"step: {two['seconds_per_step']:.1f} s, of which {two['share_beside_the_policy']:.0%} beside the policy")
    for name, seconds in two["stages"].items():
        print(f"  {name:<12} {seconds:6.2f} s  {seconds / two['seconds_per_step']:5.0%}")


if __name__ == "__main__":
    main()
