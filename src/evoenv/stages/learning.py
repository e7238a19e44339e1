"""The update, and the checkpoints that pair with it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence

from evoenv.objective import Batch, build_batch
from evoenv.records import Group
from evoenv.stages.budget import is_last
from evoenv.stages.context import Run
from evoenv.stages.sampling import SPENDING, save_spending


def learn(run: Run, step: int, groups: Sequence[Group]) -> None:
    """One optimisation step on both roles' groups; saved before it is committed.

    A kill between saving and committing leaves a checkpoint that nothing vouches for: the resumed run starts from
    the one before and computes the same update again.
    """
    run.begin(step, "updated")
    if run.store.stage_done(step, "updated"):
        return
    began = time.perf_counter()
    metrics: dict[str, float] = {}
    if run.training:
        batch = _batch(run, step, groups)
        metrics = {**batch.metrics(), **run.policy.update(batch)}
    run.clock.updating += time.perf_counter() - began
    checkpoint: str | None = None
    if run.training and _is_due(run, step, metrics):
        checkpoint = f"step-{step:05d}"
        run.policy.save(run.checkpoints / checkpoint)
    with run.store.stage(step, "updated") as kept:
        kept["checkpoint"] = checkpoint
        run.store.add_metrics(step, {**metrics, "time/update": time.perf_counter() - began})
    remove_needless_checkpoints(run)
    save_spending(run)


def restore_policy(run: Run, groups: Callable[[Run, int], list[Group]]) -> None:
    """Bring a fresh policy to where the last committed update left it.

    Loads the newest checkpoint that is vouched for and computes the updates since then again, from the very
    rollouts: nothing is sampled twice. `groups` says what the curriculum trains on in a step, as it is stored.
    """
    if not run.training:
        if (run.store.directory / SPENDING).is_dir():
            run.policy.load(run.store.directory / SPENDING)
        return
    found = run.store.last_checkpoint()
    if found is not None:
        run.policy.load(run.checkpoints / found[1])
    remove_needless_checkpoints(run)
    for step in range((found[0] if found else 0) + 1, run.store.last_update() + 1):
        run.policy.update(_batch(run, step, groups(run, step)))


def _batch(run: Run, step: int, groups: Sequence[Group]) -> Batch:
    """What the step's update trains on: every step before it had one update."""
    return build_batch(groups, run.config.training, update=step - 1)


def remove_needless_checkpoints(run: Run) -> None:
    """Keep the newest few that the store vouches for; drop older ones and leftovers."""
    vouched = run.store.checkpoints()
    keep = set(vouched[-max(1, run.config.run.keep_checkpoints) :])
    if run.checkpoints.is_dir():
        for path in run.checkpoints.glob("step-*"):
            if path.name not in keep:
                shutil.rmtree(path, ignore_errors=True)


def _is_due(run: Run, step: int, update: Mapping[str, float]) -> bool:
    return step % max(1, run.config.run.checkpoint_every) == 0 or is_last(run.store, run.config, step, update)
