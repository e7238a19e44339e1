"""Ask the policy for a run: samples are kept in its store as they come, and the waiting is charged to the policy.

In a step whose stages overlap, the asking itself is left to the step's conversation (`evoenv.stages.conversation`).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evoenv.asking import SampleKey, ask_for_missing
from evoenv.errors import StoreError
from evoenv.ports import CountsTokens, Policy, Spends
from evoenv.prompts.generator import CHARS_PER_TOKEN
from evoenv.records import Message, Sample
from evoenv.stages.context import Run
from evoenv.store.store import Purpose, RequestRecord, Stage

ADVICE = "resume the run: what was given is kept"
SPENDING = "spending"
SPENDING_KEPT_EVERY_S = 1.0
"""A killed run forgets at most what was spent in this time; a write per answer would cost more than it saves."""
SPENDING_BEFORE = Path("policy") / "endpoint.json"
"""Its place in the run directory of older versions."""

TOKENIZING = threading.Lock()
"""Instances are made on many threads, and tokenizers may not be shared between them."""


def prompt_tokens(run: Run, messages: Sequence[Message]) -> int:
    return tokens_for(run.policy, messages)


def tokens_for(policy: Policy, messages: Sequence[Message]) -> int:
    """Count the tokens of a prompt for this policy; guess from its bytes if the policy cannot say."""
    if isinstance(policy, CountsTokens):
        with TOKENIZING:
            return policy.prompt_tokens(messages)
    return 1 + sum(len(message.content.encode("utf-8", "replace")) for message in messages) // CHARS_PER_TOKEN


def ask(run: Run, step: int, stage: Stage, asked: Sequence[RequestRecord]) -> Iterator[Sample]:
    """Yield every sample of every request: first those that were kept before a stop, then the rest as they finish."""
    if not asked:
        return
    conversation = run.conversation
    if conversation is None:
        run.store.add_requests(step, asked)
    else:
        conversation.expect(asked)
    purposes: set[Purpose] = {item.purpose for item in asked}
    kept = {key: sample for purpose in sorted(purposes) for key, sample in run.store.samples(step, purpose).items()}
    wanted = [(item.request.id, index) for item in asked for index in range(item.request.count)]
    done = 0
    for key in wanted:
        if key in kept:
            done += 1
            yield kept[key]
    if conversation is None:
        missing = _ask_policy(run, step, asked, kept)
    else:
        missing = conversation.deliver(key for key in wanted if key not in kept)
    for sample in missing:
        done += 1
        run.observer.progress(step, stage, done, len(wanted))
        yield sample


def _ask_policy(run: Run, step: int, asked: Sequence[RequestRecord], kept: Container[SampleKey]) -> Iterator[Sample]:
    """Yield the samples that are not kept as they finish, each written down before."""
    keeper = Keeper(run, step)
    requests = [item.request for item in asked]
    for sample in ask_for_missing(lambda missing: _timed(run, run.policy.sample(missing)), requests, kept, ADVICE):
        yield keeper.keep(sample)


class Keeper:
    """Writes the samples of a step down as they come, and now and then what they cost."""

    def __init__(self, run: Run, step: int) -> None:
        self._run, self._step = run, step
        self._spending_kept = time.monotonic()

    def keep(self, sample: Sample) -> Sample:
        """Write a sample down; return it without its rollout, which the update reads back from the store."""
        self._run.store.add_sample(self._step, sample)
        if time.monotonic() - self._spending_kept > SPENDING_KEPT_EVERY_S:
            keep_spending(self._run)
            self._spending_kept = time.monotonic()
        self._run.clock.tokens += sample.tokens
        return replace(sample, rollout=None)


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


def _timed(run: Run, samples: Iterator[Sample]) -> Iterator[Sample]:
    """Charge the waiting for samples to the policy, and what happens between them to us."""
    while True:
        began = time.perf_counter()
        sample = next(samples, None)
        run.clock.sampling += time.perf_counter() - began
        if sample is None:
            return
        yield sample
