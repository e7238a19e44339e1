"""The update, and the checkpoints that pair with it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from evoenv.errors import ConfigError, InputError
from evoenv.objective import Batch, build_batch
from evoenv.records import Group
from evoenv.stages.budget import is_last
from evoenv.stages.context import Run
from evoenv.stages.sampling import keep_spending, restore_spending

logger = logging.getLogger(__name__)


def learn(run: Run, step: int, groups: Sequence[Group]) -> None:
    """Update the policy on both roles' groups; what is saved is saved before the update is committed.

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
        checkpoint = run.policy.save()
    with run.store.stage(step, "updated") as kept:
        kept["checkpoint"] = checkpoint
        run.store.add_metrics(step, {**metrics, "time/update": time.perf_counter() - began})
    if run.training:
        drop_needless_checkpoints(run)
    keep_spending(run)


def restore_policy(run: Run, groups: Callable[[Run, int], list[Group]]) -> None:
    """Bring a fresh policy to where the last committed update left it.

    Loads the newest checkpoint that is vouched for and computes the updates since then again, from the very
    rollouts: nothing is sampled twice. `groups` says what the curriculum trains on in a step, as it is stored.
    """
    if not run.training:
        restore_spending(run)
        return
    covered = 0
    checkpoint = run.store.last_checkpoint()
    if checkpoint is not None:
        covered, reference = checkpoint
        run.policy.load(reference)
    elif run.policy.version:
        raise ConfigError(
            f"the policy has seen {run.policy.version} updates already, and this run begins with none; open it anew"
        )
    elif run.policy.saved() and not run.store.has_requests(1):
        raise InputError(
            f"there are checkpoints already ({', '.join(run.policy.saved()[:3])}) where this new run would keep its "
            "own; choose another --run, or move them away"
        )
    drop_needless_checkpoints(run)
    missing = range(covered + 1, run.store.last_update() + 1)
    if missing and not run.policy.exact_replay:
        logger.warning(
            "the updates of %d steps since the last checkpoint are computed again; this engine does not do so bit for "
            "bit, so the run goes on from slightly other weights", len(missing),
        )  # fmt: skip
    for step in missing:
        run.policy.update(_batch(run, step, groups(run, step)))


def save_last(run: Run) -> None:
    """Save what a finished run learnt, if it ended where no checkpoint was due: its steps were lowered, say."""
    checkpoint = run.store.last_checkpoint()
    if run.training and run.store.last_update() > (checkpoint[0] if checkpoint else 0):
        run.store.vouch(run.store.last_update(), run.policy.save())
        drop_needless_checkpoints(run)


def _batch(run: Run, step: int, groups: Sequence[Group]) -> Batch:
    """Build what the step's update trains on: every step before it had one update."""
    return build_batch(groups, run.config.training, update=step - 1)


def drop_needless_checkpoints(run: Run) -> None:
    """Keep the newest few that the store vouches for; drop older ones and leftovers."""
    keep = set(run.store.checkpoints()[-max(1, run.config.run.keep_checkpoints) :])
    for reference in run.policy.saved():
        if reference not in keep:
            run.policy.drop(reference)


def _is_due(run: Run, step: int, update: Mapping[str, float]) -> bool:
    """Return whether the policy is saved after this step's update."""
    every = max(1, run.config.run.checkpoint_every) if run.policy.exact_replay else 1
    return step % every == 0 or is_last(run.store, run.config, step, update)
