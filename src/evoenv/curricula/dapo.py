"""`dapo`: a fixed file of problems and answers, with DAPO's dynamic sampling and overlong shaping.

- Dynamic sampling: batches of `oversampling` · `solver.prompts` problems are answered until `solver.prompts` groups
  have a signal (some but not all right), in at most `max_batches` batches. The first of them are trained on. If too few
  are found the step trains on what there is, and says so.
- Reward: +1 right, −1 wrong, plus min(−(length − (Lmax − Lbuf)) / Lbuf, 0) with Lmax = `solver.max_tokens` and
  Lbuf = `overlong_share` · Lmax.
- Loss: the recipe sets one token mean, clip 0.2/0.28 and no KL; advantages and the dual clip are the trainer's.

Answers are graded as the evaluation grades mathematics (math-verify in the sandbox), so that a right answer is right in
both. Whether a group has a signal is judged by right and wrong alone, before lengths are punished.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Container, Sequence
from pathlib import Path

from evoenv.admission.calibration import FULLY_RIGHT
from evoenv.curricula.problems import answer_problems, numbered, read_problems
from evoenv.evaluation.mathematics import MathGrader
from evoenv.records import Group
from evoenv.stages.context import Run
from evoenv.stages.groups import solver_groups
from evoenv.stages.solving import solver_metrics
from evoenv.store.store import Store

logger = logging.getLogger(__name__)


def collect(run: Run, step: int) -> None:
    """Sample batch after batch, until enough groups have a signal."""
    run.begin(step, "solved")
    if run.store.stage_done(step, "solved"):
        return
    began = time.perf_counter()
    config, needed = run.config.curriculum, run.config.solver.prompts
    problems = read_problems(Path(config.problems), config.problem_field, config.answer_field)
    first = _cursor(run.store, step)
    size = needed * config.oversampling
    request_ids: set[str] = set()
    useful = batches = 0
    with MathGrader(allow_degraded=run.sandbox.allow_degraded) as grader:
        while useful < needed and batches < config.max_batches:
            batch = dict(enumerate(numbered(problems, first + batches * size, run.seed, size), batches * size))
            request_ids.update(answer_problems(run, step, batch, grader.same))
            batches += 1
            # only of what this loop has asked: a stopped run may have left half of a later batch
            useful = len(informative(run.store, step, request_ids))
    if useful < needed:
        logger.warning(
            "step %d: %d of %d groups have a signal after %d batches; training on those", step, useful, needed, batches
        )
    with run.store.stage(step, "solved") as kept:
        kept["cursor"] = first + batches * size
        run.store.add_metrics(
            step,
            {
                **solver_metrics(run.store, step),
                "dapo/batches": batches,
                "dapo/informative": useful,
                "solver/lost_draws": batches * size - len(request_ids),
                "time/solve": time.perf_counter() - began,
            },
        )


def informative(store: Store, step: int, only: Container[str] | None = None) -> list[Group]:
    """Return the groups in which some responses are right and some are not, in order."""
    groups = []
    for group in solver_groups(store, step, only):
        right = sum(reward >= FULLY_RIGHT for reward in group.rewards)
        if 0 < right < len(group.rewards):
            groups.append(group)
    return groups


def groups(run: Run, step: int) -> list[Group]:
    """Return the first informative groups, with DAPO's rewards."""
    config = run.config
    buffer = config.curriculum.overlong_share * config.solver.max_tokens
    shaped = []
    for group in informative(run.store, step)[: config.solver.prompts]:
        lengths = [sample.tokens for sample in group.samples]
        rewards = shaped_rewards(group.rewards, lengths, config.solver.max_tokens, buffer)
        shaped.append(Group(group.id, group.role, group.samples, rewards))
    return shaped


def shaped_rewards(
    scores: Sequence[float], lengths: Sequence[int], max_tokens: int, buffer: float
) -> tuple[float, ...]:
    return tuple(
        (1.0 if score >= FULLY_RIGHT else -1.0) + overlong_penalty(length, max_tokens, buffer)
        for score, length in zip(scores, lengths, strict=True)
    )


def overlong_penalty(length: int, max_tokens: int, buffer: float) -> float:
    """Return 0 up to the buffer, then linearly down to −1 at the limit."""
    return min(-(length - (max_tokens - buffer)) / buffer, 0.0) if buffer > 0 else 0.0


def _cursor(store: Store, step: int) -> int:
    """Return how many problems of the stream earlier steps have used up."""
    return int(store.stage_data(step - 1, "solved").get("cursor", 0))
