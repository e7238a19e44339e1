"""A sampling session with a server: each sample a request of its own, several in flight at a time.

When a budget is used up or the server gives a final no, nothing new is sent, what is in flight is still delivered,
and only then the error is raised: no paid answer is lost.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evoenv.engines.requests import check_submission, wanted_indices
from evoenv.errors import BudgetExhausted
from evoenv.ports import Sampling
from evoenv.records import Request, Sample

if TYPE_CHECKING:
    from evoenv.engines.endpoint.policy import EndpointPolicy


class EndpointSampling(Sampling):
    """Threads ask the server as long as there is something to ask; all that they share is behind one condition."""

    def __init__(self, policy: EndpointPolicy) -> None:
        self._policy = policy
        self._ids: set[str] = set()
        self._submitted = 0
        self._changed = threading.Condition()
        self._pending: deque[tuple[Request, int]] = deque()
        self._finished: deque[Sample] = deque()
        self._flying = 0
        self._workers = 0
        self._failure: Exception | None = None
        self._stop = threading.Event()
        """Nothing new is sent, and pauses between tries are cut short."""
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def submit(self, requests: Sequence[Request]) -> None:
        check_submission(self, self._policy, requests, self._ids)
        self._ids.update(request.id for request in requests)
        tasks = [(request, index) for request in requests for index in wanted_indices(request)]
        with self._changed:
            self._submitted += len(tasks)
            self._pending.extend(tasks)
            wanted = min(self._policy.config.concurrency, self._flying + len(self._pending))
            for number in range(self._workers, wanted):
                self._workers += 1
                threading.Thread(target=self._work, name=f"endpoint-{number}", daemon=True).start()

    def collect(self, timeout: float | None = None) -> Sequence[Sample]:
        until = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self._finished and self._workers and not self._closed:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    return ()
                self._changed.wait(left)
            if self._closed:
                return ()
            if self._finished:
                samples = list(self._finished)
                self._finished.clear()
                return samples
            # Nobody is at work any more: all is delivered, or something ended it.
            if self._failure is not None:
                raise self._failure
            if self._pending:
                delivered = self._submitted - len(self._pending)
                raise BudgetExhausted(
                    f"budget used up: {self._policy.spending.describe()}; {delivered} of {self._submitted} samples "
                    "were delivered; raise it to go on from here"
                )
            return ()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._stop.set()
            self._pending.clear()
            self._finished.clear()
            self._changed.notify_all()

    # ------------------------------------------------------------------ one thread

    def _work(self) -> None:
        while task := self._next():
            try:
                sample = self._policy.ask(*task, self._stop)
            except Exception as error:  # handed to the caller's thread, which raises it
                with self._changed:
                    self._failure = self._failure or error
                    self._stop.set()
                    self._flying -= 1
            else:
                with self._changed:
                    self._flying -= 1
                    if not self._closed:
                        self._finished.append(sample)
                    self._changed.notify_all()

    def _next(self) -> tuple[Request, int] | None:
        """Take the next sample to ask for; None ends the thread."""
        with self._changed:
            idle = self._stop.is_set() or not self._pending
            if idle or self._policy.spending.exhausted_by(self._flying):
                self._workers -= 1
                self._changed.notify_all()
                return None
            self._flying += 1
            return self._pending.popleft()
