"""Ask the mechanical checks and the reviewer about every environment of a set; what is kept is not asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from evoenv.admission.review import read_review
from evoenv.asking import ask_for_missing, keys_of
from evoenv.config import ReviewConfig
from evoenv.ports import Policy
from evoenv.records import Message, Request, Review, derive_seed
from evoenv.review_audit.journal import Mechanical, VerdictLedger
from evoenv.review_audit.labels import Labelled, LabelledSet
from evoenv.sandbox.host import Sandbox
from evoenv.stages.reviewing import fitting_review, review_instances, review_probes
from evoenv.stages.sampling import tokens_for
from evoenv.validation.validate import validate

Progress = Callable[[int, int], None]
TOO_LONG = "(the environment does not fit the reviewer's prompt)"


def nobody(done: int, total: int) -> None:
    """Report progress to nobody."""


def check_mechanically(
    labelled: LabelledSet, sandbox: Sandbox, kept: VerdictLedger, *, progress: Progress = nobody
) -> None:
    """Find the layer ℓ(e) that every environment reaches, on all cores."""
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
    kept: VerdictLedger,
    *,
    level: int = 0,
    seed: int = 0,
    progress: Progress = nobody,
) -> None:
    """Have every environment reviewed `config.reviews` times, also those that the mechanical checks refuse.

    What does not fit the reviewer's prompt counts as unparsed, like an answer that was cut off.
    """
    total = len(labelled.items) * config.reviews
    requests: dict[str, Request] = {}

    def prepare(item: Labelled) -> None:
        request = Request(
            id=item.name,
            role="reviewer",
            messages=_messages(item, sandbox, policy, config, level, seed) or (),
            count=config.reviews,
            temperature=config.temperature,
            max_tokens=config.max_tokens,
            seed=derive_seed("audit-review", seed, item.name),
        )
        if request.messages:
            requests[item.name] = request
            return
        for key in keys_of(request):
            if key not in kept.reviews:
                kept.add_review(*key, Review("unparseable", TOO_LONG))

    def count() -> int:
        return sum((item.name, index) in kept.reviews for item in labelled.items for index in range(config.reviews))

    progress(count(), total)
    unfinished = [item for item in labelled.items if len(kept.reviews_of(item.name, config.reviews)) < config.reviews]
    for _ in _on_threads(sandbox, prepare, unfinished):
        pass
    asked = [requests[item.name] for item in labelled.items if item.name in requests]
    done = count()
    for sample in ask_for_missing(policy.sample, asked, frozenset(kept.reviews), "audit again: what was given is kept"):
        prompt = tokens_for(policy, requests[sample.request_id].messages) if sample.index == 0 else 0
        review = read_review(sample.text, sample.finish_reason)
        kept.add_review(sample.request_id, sample.index, review, sample.tokens, prompt)
        done += 1
        progress(done, total)


def _on_threads(sandbox: Sandbox, work: Callable[[Labelled], None], items: Sequence[Labelled]) -> Iterator[int]:
    """Do the work on threads; yield how many items are left each time that one is done."""
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
    """Build the prompt that a run would show of this environment: the source alone if it makes no instances."""
    seeds = (derive_seed("audit", seed, item.name, 0), derive_seed("audit", seed, item.name, 1))
    with sandbox.open(item.source) as worker:
        instances = review_instances(worker, seeds, level)
        found = review_probes(sandbox, item.source, worker, instances) if instances else ()
    return fitting_review(
        item.source, instances, found, lambda messages: tokens_for(policy, messages), config.max_prompt_tokens
    )
