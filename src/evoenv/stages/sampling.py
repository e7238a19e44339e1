"""Asking the policy so that nothing it said is ever lost or asked for twice."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evoenv.errors import StoreError
from evoenv.ports import CountsTokens, Policy, Spends
from evoenv.prompts.generator import CHARS_PER_TOKEN
from evoenv.records import Message, Request, Sample
from evoenv.stages.context import Run
from evoenv.store.store import Asked, Purpose, SampleKey, Stage

SPENDING = "spending"
SPENDING_KEPT_EVERY_S = 1.0
"""A killed run forgets at most what was spent in this time; a write per answer would cost more than it saves."""
SPENDING_BEFORE = Path("policy") / "endpoint.json"
"""Where older versions kept it in the run directory."""

_COUNTING = threading.Lock()
"""Instances are made on many threads, and tokenizers may not be shared between them."""


def prompt_tokens(run: Run, messages: Sequence[Message]) -> int:
    return tokens_for(run.policy, messages)


def tokens_for(policy: Policy, messages: Sequence[Message]) -> int:
    """How long a prompt is for this policy; a fair guess where the policy cannot say."""
    if isinstance(policy, CountsTokens):
        with _COUNTING:
            return policy.prompt_tokens(messages)
    return 1 + sum(len(message.content.encode("utf-8", "replace")) for message in messages) // CHARS_PER_TOKEN


def ask(run: Run, step: int, stage: Stage, asked: Sequence[Asked]) -> Iterator[Sample]:
    """Every sample of every request: first those that were kept before a stop, then the rest as they finish.

    A request that is only half answered says which samples are still wanted; a policy that draws all of them again
    does no harm, since what is kept stays.
    """
    if not asked:
        return
    run.store.add_requests(step, asked)
    purposes: set[Purpose] = {item.purpose for item in asked}
    kept = {key: sample for purpose in sorted(purposes) for key, sample in run.store.samples(step, purpose).items()}
    wanted = [(item.request.id, index) for item in asked for index in range(item.request.count)]
    done = 0
    for key in wanted:
        if key in kept:
            done += 1
            yield kept[key]
    missing = [_rest(item.request, kept) for item in asked]
    requests = [request for request in missing if request is not None]
    if not requests:
        return
    kept_at = time.monotonic()
    for sample in _timed(run, run.policy.sample(requests)):
        if (sample.request_id, sample.index) in kept:
            continue
        run.store.add_sample(step, sample)
        if time.monotonic() - kept_at > SPENDING_KEPT_EVERY_S:
            keep_spending(run)
            kept_at = time.monotonic()
        run.clock.tokens += sample.tokens
        done += 1
        run.observer.progress(step, stage, done, len(wanted))
        yield sample


def keep_spending(run: Run) -> None:
    """Remember what a served policy has spent of its budgets."""
    if isinstance(run.policy, Spends):
        run.store.set_meta(SPENDING, run.policy.spending.snapshot())


def restore_spending(run: Run) -> None:
    """Let a served policy go on with what the run has spent so far."""
    if isinstance(run.policy, Spends):
        counts = run.store.meta(SPENDING) or _spending_before(run.store.directory)
        if counts:
            run.policy.spending.restore(counts)


def _spending_before(directory: Path) -> Any:
    path = directory / SPENDING_BEFORE
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} says what the run has spent and cannot be read: {error}; mend it, or delete it to count from 0"
        ) from error


def _rest(request: Request, kept: Container[SampleKey]) -> Request | None:
    """Return a request for the samples that are still missing, or None if all are stored."""
    left = tuple(index for index in range(request.count) if (request.id, index) not in kept)
    if len(left) == request.count:
        return request
    return replace(request, wanted=left) if left else None


def _timed(run: Run, samples: Iterator[Sample]) -> Iterator[Sample]:
    """Charge the waiting for samples to the policy, and what happens between them to us."""
    while True:
        began = time.perf_counter()
        sample = next(samples, None)
        run.clock.sampling += time.perf_counter() - began
        if sample is None:
            return
        yield sample
