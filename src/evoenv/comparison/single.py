"""One run of a comparison, in a process of its own: train, evaluate on the way, leave a series behind.

    python -m evoenv.comparison.single DIRECTORY RUN

It tells its parent how far it is by JSON lines on stdout, and ends when its parent does (stdin closes): a comparison
that is killed leaves nobody behind who holds on to its runs.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from evoenv.assembly import limits_of, open_embedder, open_policy, open_sandbox
from evoenv.comparison.plan import (
    DONE,
    SERIES,
    START,
    ComparisonPlan,
    RunPlan,
    config_of,
    evaluation_file,
    read_plan,
    run_directory,
    write_json,
)
from evoenv.comparison.series import ComparedRun, series, to_csv
from evoenv.config import Config
from evoenv.durable import write_bytes
from evoenv.errors import EvoEnvError, InputError
from evoenv.evaluation import Evaluation, ItemResult, Suite, evaluate
from evoenv.evaluation.protocol import open_suites
from evoenv.evaluation.statistics import mean_pass_at
from evoenv.ports import Policy
from evoenv.run import advance, create, prepare, reopen
from evoenv.sandbox.host import Sandbox
from evoenv.stages.budget import first_step_with, is_finished, tokens_spent
from evoenv.store.store import Store


def run_one(directory: Path, plan: ComparisonPlan, run: RunPlan) -> None:
    """Bring one run from wherever it is to the plan's budget."""
    with ExitStack() as stack:
        place = run_directory(directory, run)
        config = config_of(run)
        session = _Session(directory, plan, run, config, stack)
        store = session.store = _open_store(place, config)
        stack.callback(store.close)
        session.evaluate_at(0)
        if run.trains:
            _train(session, stack)
        rows = tuple(series(store, session.instances))
        write_bytes(place / SERIES, to_csv([ComparedRun(run.curriculum, run.seed, rows)]).encode())
        write_json(
            place / DONE,
            {"budget": plan.goal, "steps": store.last_step(), "tokens": tokens_spent(store)},
        )


def _open_store(place: Path, config: Config) -> Store:
    if Store.begun(place):
        budget = ("steps", "tokens", "tokens_at_least")
        return reopen(place, [f"run.{name}={getattr(config.run, name)}" for name in budget])[0]
    return create(place, config)[0]


def _train(session: _Session, stack: ExitStack) -> None:
    """Train step by step to the budget. An evaluation that is due is made before the next step begins."""
    store, config, every = session.store, session.config, session.plan.eval_every
    if is_finished(store, config) and session.is_evaluated(store.last_step()):
        return
    run = stack.enter_context(prepare(store, config, session.policy, session.sandbox, open_embedder(config)))
    while True:
        step, finished = store.last_step(), is_finished(store, config)
        if step and (finished or (every and step % every == 0) or session.is_common(step)):
            session.evaluate_at(step)
        if finished:
            return
        (summary,) = advance(run, steps=1)
        shown = {name: summary.metrics.get(f"solver/{name}") for name in ("score", "zero_variance")}
        tell(step=summary.step, tokens=tokens_spent(store), **shown)


class _Session:
    """What a run needs, each made when it is first asked for: a baseline whose numbers are known loads no model."""

    store: Store

    def __init__(self, directory: Path, plan: ComparisonPlan, run: RunPlan, config: Config, stack: ExitStack) -> None:
        self.directory, self.plan, self.run, self.config = directory, plan, run, config
        self._stack = stack
        self._policy: Policy | None = None
        self._sandboxes: dict[tuple[str, ...], Sandbox] = {}
        self._suites: list[Suite] | None = None

    @property
    def policy(self) -> Policy:
        if self._policy is None:
            self._policy = open_policy(
                self.config, learns=self.run.trains, run_directory=self.store.directory, progress=False
            )
            self._stack.callback(self._policy.close)
        return self._policy

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox of the run's own environments."""
        return self.sandbox_with(self.config.validation.modules)

    def sandbox_with(self, modules: Sequence[str]) -> Sandbox:
        """Open a sandbox that trusts exactly these modules: what a suite may import does not depend on other suites."""
        key = tuple(sorted(modules))
        if key not in self._sandboxes:
            cores = int(os.environ.get("EVOENV_SANDBOX_WORKERS", "0")) or None
            limits = limits_of(self.config)
            sandbox = open_sandbox(limits=limits, modules=key, allow_degraded=self.plan.allow_degraded, workers=cores)
            self._sandboxes[key] = self._stack.enter_context(sandbox)
        return self._sandboxes[key]

    @property
    def suites(self) -> list[Suite]:
        if self._suites is None:
            self._suites = open_suites(self.plan.evaluation.plans, allow_degraded=self.plan.allow_degraded)
        return self._suites

    def instances(self, source: str, seeds: Any, difficulty: int) -> Any:
        with self.sandbox.open(source) as worker:
            return worker.instances(seeds, difficulty)

    def is_evaluated(self, step: int) -> bool:
        known = {item.suite for item in self.store.evaluations() if item.step == step}
        return known >= set(self.plan.evaluation.suites)

    def is_common(self, step: int) -> bool:
        """Say whether every run of a ladder is compared here: at the common number of steps, or of tokens."""
        plan = self.plan
        if not plan.ladder:
            return False
        return step in (plan.steps, first_step_with(self.store, plan.equal_tokens))

    def evaluate_at(self, step: int) -> None:
        """Evaluate the policy as `step` left it on every suite; write to the run's store and a small file each."""
        known = {item.suite for item in self.store.evaluations() if item.step == step}
        for index, name in enumerate(self.plan.evaluation.suites):
            if name not in known:
                found = self._start(index) if step == 0 else summary_of(self._evaluate(index))
                # The file first: what the store vouches for is not evaluated again.
                write_json(run_directory(self.directory, self.run) / evaluation_file(step, index), found)
                self.store.record_evaluation(
                    step, name, found["accuracy"], found["low"], found["high"], found["problems"]
                )
                tell(step=step, tokens=tokens_spent(self.store), accuracy=found["accuracy"], suite=name)

    def _start(self, index: int) -> dict[str, Any]:
        """Evaluate the model before training, once for all curricula and seeds, which have it in common."""
        path = self.directory / START / f"suite{index}.json"
        if not path.is_file():
            write_json(path, summary_of(self._evaluate(index)))
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def _evaluate(self, index: int) -> Evaluation:
        asked, suite = self.plan.evaluation.plans.suites[index], self.suites[index]
        return evaluate(
            self.policy,
            self.sandbox_with(suite.modules),
            suite,
            samples=asked.samples,
            temperature=asked.temperature,
            top_p=asked.top_p,
            max_tokens=asked.max_tokens,
        )


def summary_of(evaluation: Evaluation) -> dict[str, Any]:
    """Return what is kept of an evaluation: the numbers in all and by environment, not every response."""
    if not evaluation.accuracy.n:
        reason = evaluation.bad[0].reason if evaluation.bad else "it is empty"
        raise InputError(f"the suite {evaluation.suite} has no problem that can be posed: {reason}; choose another")
    by_environment = {
        group.name: {"accuracy": group.accuracy.mean, "family": group.family, "problems": group.accuracy.n}
        for group in evaluation.by_environment.values()
        if group.accuracy.n
    }
    places = {name: place for place, name in enumerate(evaluation.by_environment)}
    return {
        "suite": evaluation.suite,
        "accuracy": evaluation.accuracy.mean,
        "low": evaluation.accuracy.low,
        "high": evaluation.accuracy.high,
        "problems": evaluation.accuracy.n,
        "samples": evaluation.samples,
        "mean_score": evaluation.mean_score.mean,
        "format_failures": evaluation.format_failures,
        "truncated": evaluation.truncated,
        "pass_at": {str(k): value for k, value in evaluation.pass_at.items()},
        "by_level": levels_of(evaluation.items),
        "right": [item.right for item in evaluation.items],
        "environments": [places[item.group] for item in evaluation.items],
        "by_environment": by_environment,
    }


def levels_of(items: Sequence[ItemResult]) -> dict[str, dict[str, Any]]:
    """Take the problems of each level apart: accuracy, pass@k, and how many there are."""
    levels = sorted({item.difficulty for item in items if item.difficulty is not None})
    by_level = {}
    for level in levels:
        counts = [(len(item.scores), item.right) for item in items if item.difficulty == level and item.scores]
        if counts:
            pass_at = {str(k): value for k, value in mean_pass_at(counts).items()}
            by_level[str(level)] = {"accuracy": pass_at["1"], "pass_at": pass_at, "problems": len(counts)}
    return by_level


# --------------------------------------------------------------------------- the process


def tell(**facts: Any) -> None:
    """Print one JSON line for the parent."""
    print(json.dumps(facts), flush=True)


def end_with_parent() -> None:
    """Stop at once when stdin closes: whoever started this run is gone. A run loses nothing by it."""

    def wait() -> None:
        while os.read(0, 1024):  # not through sys.stdin, whose lock the interpreter wants when it ends
            pass
        os._exit(3)

    threading.Thread(target=wait, daemon=True, name="evoenv-parent").start()


def main(arguments: list[str]) -> int:
    directory, name = Path(arguments[0]), arguments[1]
    end_with_parent()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(message)s")
    try:
        plan = read_plan(directory)
        run = next((run for run in plan.runs if run.name == name), None) if plan else None
        if plan is None or run is None:
            raise InputError(f"{directory} holds no comparison with a run {name!r}")
        run_one(directory, plan, run)
    except EvoEnvError as error:
        tell(error=str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
