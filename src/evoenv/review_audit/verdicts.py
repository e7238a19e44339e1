"""Ask the mechanical checks and the reviewer about every environment of a set; what is known is not asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from evoenv.admission.review import read_review
from evoenv.config import ReviewConfig
from evoenv.errors import PolicyError
from evoenv.ports import Policy
from evoenv.records import Message, Request, Review, Sample, derive_seed
from evoenv.review_audit.journal import Journal, Mechanical
from evoenv.review_audit.labels import Labelled, LabelledSet
from evoenv.sandbox.host import Sandbox
from evoenv.stages.reviewing import fitting_review, review_instances, review_probes
from evoenv.stages.sampling import tokens_for
from evoenv.validation.validate import validate

Progress = Callable[[int, int], None]
TOO_LONG = "(the environment does not fit the reviewer's prompt)"


def nobody(done: int, total: int) -> None:
    """Progress that nobody watches."""


def check_mechanically(labelled: LabelledSet, sandbox: Sandbox, kept: Journal, *, progress: Progress = nobody) -> None:
    """ℓ(e) of every environment, on all cores."""
    missing = [item for item in labelled.items if item.name not in kept.mechanical]
    total = len(labelled.items)
    progress(total - len(missing), total)

    def check(item: Labelled) -> None:
        report = validate(item.source, sandbox)
        kept.add_mechanical(item.name, Mechanical(report.layer, tuple(one.code for one in report.findings)))

    for left in _on_threads(sandbox, check, missing):
        progress(total - left, total)


def review_all(
    labelled: LabelledSet,
    sandbox: Sandbox,
    policy: Policy,
    config: ReviewConfig,
    kept: Journal,
    *,
    level: int = 0,
    seed: int = 0,
    progress: Progress = nobody,
) -> None:
    """`config.reviews` reviews of every environment, also of those that the mechanical checks refuse.

    What does not fit the reviewer's prompt counts as unparsed, like an answer that was cut off.
    """
    total = len(labelled.items) * config.reviews
    left = {
        item.name: tuple(index for index in range(config.reviews) if (item.name, index) not in kept.reviews)
        for item in labelled.items
    }
    done = total - sum(map(len, left.values()))
    progress(done, total)
    requests: dict[str, Request] = {}

    def prepare(item: Labelled) -> None:
        messages = _messages(item, sandbox, policy, config, level, seed)
        if messages is None:
            for index in left[item.name]:
                kept.add_review(item.name, index, Review("unparseable", TOO_LONG))
            return
        requests[item.name] = Request(
            id=item.name,
            role="reviewer",
            messages=messages,
            count=config.reviews,
            temperature=config.temperature,
            max_tokens=config.max_tokens,
            seed=derive_seed("audit-review", seed, item.name),
            wanted=left[item.name],
        )

    for _ in _on_threads(sandbox, prepare, [item for item in labelled.items if left[item.name]]):
        pass
    asked = [requests[item.name] for item in labelled.items if item.name in requests]
    wanted = {(request.id, index) for request in asked for index in request.wanted}
    done = total - len(wanted)
    for sample in _samples(policy, asked):
        key = (sample.request_id, sample.index)
        if key in wanted:  # a policy may draw again what was kept
            wanted.discard(key)
            kept.add_review(*key, read_review(sample.text, sample.finish_reason))
            done += 1
            progress(done, total)
    if wanted:
        name, index = min(wanted)
        raise PolicyError(
            f"the reviewer left {len(wanted)} reviews out, the first is number {index} of {name}; "
            "audit again: what was given is kept"
        )


def _on_threads(sandbox: Sandbox, work: Callable[[Labelled], None], items: Sequence[Labelled]) -> Iterator[int]:
    """How many are left, each time that one is done."""
    with ThreadPoolExecutor(sandbox.workers, thread_name_prefix="evoenv-audit") as threads:
        futures = [threads.submit(work, item) for item in items]
        try:
            for count, future in enumerate(as_completed(futures), 1):
                future.result()
                yield len(futures) - count
        finally:
            for future in futures:
                future.cancel()


def _messages(
    item: Labelled, sandbox: Sandbox, policy: Policy, config: ReviewConfig, level: int, seed: int
) -> tuple[Message, ...] | None:
    """What a run would show of this environment; the source alone where it makes no instances."""
    seeds = (derive_seed("audit", seed, item.name, 0), derive_seed("audit", seed, item.name, 1))
    with sandbox.open(item.source) as worker:
        instances = review_instances(worker, seeds, level)
        found = review_probes(sandbox, item.source, worker, instances) if instances else ()
    return fitting_review(
        item.source, instances, found, lambda messages: tokens_for(policy, messages), config.max_prompt_tokens
    )


def _samples(policy: Policy, requests: Sequence[Request]) -> Iterable[Sample]:
    if not requests:
        return ()
    # A request with all indices wanted is the plain request.
    return policy.sample([replace(one, wanted=()) if len(one.wanted) == one.count else one for one in requests])
