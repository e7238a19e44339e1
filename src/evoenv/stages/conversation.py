"""One sampling session for all that a step asks of its policy, whichever stage asks, while stages overlap.

Requests come from the stage whose turn it is and, early, from `evoenv.stages.ahead`. Every sample is written down the
moment it arrives; a stage waits for its own and finds what came before its turn in the store. All of it happens on the
thread that runs the step: others only do work in the sandbox, and what they finish is taken up between two samples.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from typing import Any, Self, TypeAlias

from evoenv.asking import keys_of, left_out, missing_request
from evoenv.ports import Sampling
from evoenv.records import Request, Sample
from evoenv.stages.context import Run
from evoenv.stages.sampling import ADVICE, TOKENIZING, Keeper
from evoenv.store.store import RequestRecord, SampleKey

POLL_S = 0.05
"""How long samples are waited for before threads are looked after, if some are at work."""

Listener: TypeAlias = Callable[[], bool]
"""Takes up what its threads have finished; returns whether some are still at work."""


class Conversation:
    """Belongs to one step and to one thread. Leaving it gives up what has not arrived."""

    def __init__(self, run: Run, step: int, at_once: int) -> None:
        """`at_once`: how many samples the policy draws at the same time; what can wait is asked below that number."""
        self._run, self._step = run, step
        self._at_once = at_once
        self._keeper = Keeper(run, step)
        self._session: Sampling | None = None
        self._kept = run.store.sample_keys(step)
        self._submitted: set[str] = set()
        self._reserve: dict[str, RequestRecord] = {}
        self._open: set[SampleKey] = set()
        """Asked for, and not here yet."""
        self._expected: set[SampleKey] = set()
        """What the stage whose turn it is waits for."""
        self._inbox: deque[Sample] = deque()
        self._listeners: list[Listener] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._session is not None:
            self._session.close()

    # ------------------------------------------------------------------ asking

    def submit(self, asked: Iterable[RequestRecord]) -> None:
        """Ask for the samples that are neither kept nor asked for."""
        new = [item for item in asked if item.request.id not in self._submitted]
        if not new:
            return
        self._run.store.add_requests(self._step, new)
        missing = [rest for item in new if (rest := missing_request(item.request, self._kept)) is not None]
        for item in new:
            self._submitted.add(item.request.id)
            self._reserve.pop(item.request.id, None)
        if missing:
            self._send(missing)

    def _send(self, requests: Sequence[Request]) -> None:
        if self._session is None:
            self._session = self._run.policy.sampling()
        with TOKENIZING:
            self._session.submit(requests)
        self._open.update(key for request in requests for key in keys_of(request))

    def reserve(self, asked: Iterable[RequestRecord]) -> None:
        """Ask as soon as the policy has less to do than it can do at once, or when a stage expects it."""
        self._reserve.update((item.request.id, item) for item in asked if item.request.id not in self._submitted)
        self._feed()

    def release(self) -> None:
        """Ask for all that is in reserve."""
        self.submit(list(self._reserve.values()))

    def _feed(self) -> None:
        while self._reserve and len(self._open) < self._at_once:
            self.submit([next(iter(self._reserve.values()))])

    # ------------------------------------------------------------------ a stage's turn

    def expect(self, asked: Sequence[RequestRecord]) -> None:
        """Ask for what is missing of these; from now on their samples are held for `deliver`."""
        self._expected = {key for item in asked for key in keys_of(item.request)}
        self._inbox.clear()
        self.submit(asked)

    def deliver(self, keys: Iterable[SampleKey]) -> Iterator[Sample]:
        """Yield these samples as they arrive."""
        wanted = set(keys)
        while wanted:
            while self._inbox:
                sample = self._inbox.popleft()
                if (key := (sample.request_id, sample.index)) in wanted:
                    wanted.discard(key)
                    yield sample
            if wanted - self._open:
                raise left_out(wanted - self._open, ADVICE)
            if wanted:
                self._advance()

    def until(self, futures: Collection[Future[Any]]) -> set[Future[Any]]:
        """Go on asking and listening until one of the futures is done; return all that are."""
        while not (done := {future for future in futures if future.done()}):
            if self._open:
                self._advance(POLL_S)
            else:
                wait(futures, POLL_S, FIRST_COMPLETED)
                self._listen()
        return done

    # ------------------------------------------------------------------ going on

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Call `listener` between samples, as long as this is open."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def _listen(self) -> bool:
        busy = [listener() for listener in self._listeners]
        self._feed()
        return any(busy)

    def _advance(self, timeout: float | None = None) -> None:
        """Wait for samples, not for long if threads are at work, and keep what arrives."""
        if self._listen():
            timeout = POLL_S
        assert self._session is not None, "something is waited for that was never asked"
        began = time.perf_counter()
        samples = self._session.collect(timeout)
        self._run.clock.sampling += time.perf_counter() - began
        for sample in samples:
            self._take(sample)
        if not samples and timeout is None:
            raise left_out(self._open, ADVICE)
        self._listen()

    def _take(self, sample: Sample) -> None:
        key = (sample.request_id, sample.index)
        if key not in self._open:  # a policy may draw again what is kept
            return
        self._open.discard(key)
        self._kept.add(key)
        kept = self._keeper.keep(sample)
        if key in self._expected:
            self._inbox.append(kept)
