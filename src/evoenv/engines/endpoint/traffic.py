"""What is under way with a server: answers that were asked for and have not arrived whole."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evoenv.ports import Traffic


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer under way; its methods are the hooks of `ChatApi.complete`."""

    number: int
    traffic: EndpointTraffic

    def heard(self, parts: int) -> None:
        self.traffic.received(self.number, parts)

    def retrying(self) -> None:
        self.traffic.repeated(self.number)


class EndpointTraffic:
    """Count answers under way, what has arrived of them, and tries that were repeated. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._parts: dict[int, int] = {}
        self._retries = 0

    @contextmanager
    def asking(self) -> Iterator[Answer]:
        """Count one answer as under way for as long as the context lasts."""
        with self._lock:
            number = next(self._numbers)
            self._parts[number] = 0
        try:
            yield Answer(number, self)
        finally:
            with self._lock:
                del self._parts[number]

    def received(self, number: int, parts: int) -> None:
        with self._lock:
            self._parts[number] = parts

    def repeated(self, number: int) -> None:
        with self._lock:
            self._parts[number] = 0  # the next try begins from nothing
            self._retries += 1

    def now(self) -> Traffic:
        with self._lock:
            return Traffic(len(self._parts), sum(self._parts.values()), self._retries)
