"""What a reviewer is shown of an environment: in a run and in an audit the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evoenv.prompts.review import ScoredAnswer, review_messages
from evoenv.records import Instance, Message
from evoenv.sandbox.host import EnvironmentWorker, Sandbox
from evoenv.validation import probes
from evoenv.validation.evidence import Drawn, Evidence

PROBES_SHOWN = (("changed", 6), ("foreign", 1), ("flooded", 2), ("malformed", 2), ("empty", 1))
"""How many wrong answers of each kind a reviewer is shown: enough to see a careless scorer, not a wall of text."""


def review_instances(worker: EnvironmentWorker, seeds: tuple[int, int], level: int) -> tuple[Instance, ...]:
    """Draw two instances; the first at level 0: small enough to be traced by hand."""
    drawn = [*worker.instances([seeds[0]], 0), *worker.instances([seeds[1]], level)]
    return tuple(instance for instance in drawn if instance is not None)


def review_probes(
    sandbox: Sandbox, source: str, worker: EnvironmentWorker, instances: Sequence[Instance]
) -> tuple[ScoredAnswer, ...]:
    """Score the reference of each instance and a choice of wrong answers."""
    drawn = [Drawn(item.seed, item.difficulty, item.prompt, item.latent, item.reference) for item in instances]
    evidence = Evidence(worker, lambda **options: sandbox.open(source, **options), drawn=drawn)
    solved, _, _ = probes.solve(evidence, drawn)
    answers = [ScoredAnswer("the reference", answer.text, 1.0) for answer in solved]
    wrong = probes.wrong_answers(evidence, solved, probes.answer_options(solved))
    for kind, count in PROBES_SHOWN:
        scored = [probe for probe in getattr(wrong, kind) if probe.score is not None]
        answers += [
            ScoredAnswer(probe.kind.replace(":", ": "), probe.text, probe.score or 0.0) for probe in scored[:count]
        ]
    return tuple(answers)


def fitting_review(
    source: str,
    instances: Sequence[Instance],
    probes_shown: Sequence[ScoredAnswer],
    tokens: Callable[[Sequence[Message]], int],
    limit: int,
) -> tuple[Message, ...] | None:
    """Build the review prompt, with shorter values, then fewer instances and probes, if it would be too long.

    Return None if not even the source fits: such an environment goes without reviews, which refuses it.
    """
    shortened = (
        (instances, probes_shown, True),
        (instances, probes_shown, False),
        (instances[:1], probes_shown, False),
        (instances[:1], (), False),
    )
    for examples, probed, in_full in shortened:
        messages = review_messages(source, examples, probed, in_full=in_full)
        if tokens(messages) <= limit:
            return messages
    return None
