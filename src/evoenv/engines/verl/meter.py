"""How much the servers draw, in which time, and how much of it some of them have nothing to do."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable


class Meter:
    """Counts between one update and the next. Time counts only while at least one sample is being drawn."""

    def __init__(self, servers: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._servers = servers
        self._clock = clock
        self._open: Counter[int] = Counter()
        """Calls in flight, by server."""
        self._since = clock()
        self._clear()

    def _clear(self) -> None:
        self.tokens = 0
        self.seconds = 0.0
        self._idle = 0.0
        self.publishing = 0.0
        """Seconds in which weights went to the servers."""

    def begin(self, server: int) -> None:
        """Count a call that has gone to a server."""
        self._advance()
        self._open[server] += 1

    def end(self, server: int, tokens: int = 0) -> None:
        """Count a call that is over: finished with some tokens, or given up."""
        self._advance()
        self._open[server] -= 1
        self._open += Counter()  # drops zeros
        self.tokens += tokens

    def _advance(self) -> None:
        now = self._clock()
        if self._open:
            self.seconds += now - self._since
            self._idle += (now - self._since) * (self._servers - len(self._open)) / self._servers
        self._since = now

    def read(self) -> dict[str, float]:
        """Return the metrics since the last reading."""
        self._advance()
        metrics = {"engine/publish_seconds": self.publishing}
        if self.seconds > 0:
            metrics["engine/sampled_tokens_per_second"] = self.tokens / self.seconds
            metrics["engine/idle_servers"] = self._idle / self.seconds
        self._clear()
        return metrics
