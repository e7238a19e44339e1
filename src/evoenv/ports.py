"""The four edges of the system, as tiny protocols. Each has a real implementation and a packaged fake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evoenv.objective import Batch
from evoenv.records import Instance, Message, Request, Sample, Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Policy(Protocol):
    """One model in all its roles."""

    @property
    def trainable(self) -> bool:
        """False for a policy that only samples: a run that needs updates refuses it before it starts."""

    def sample(self, requests: Sequence[Request]) -> Iterator[Sample]:
        """Samples in the order in which they finish, so that validation starts while generation goes on."""

    def update(self, batch: Batch) -> Mapping[str, float]:
        """One optimisation step on both roles' samples; metrics by `area/name`."""

    def save(self, directory: Path) -> None:
        """Weights, optimiser and generator state; atomic."""

    def load(self, directory: Path) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class CountsTokens(Protocol):
    """A policy that can say how long a prompt is, so that one over-long prompt never costs a run its step."""

    def prompt_tokens(self, messages: Sequence[Message]) -> int: ...


class Worker(Protocol):
    """One environment, loaded and ready, in a process of its own."""

    def instances(self, seeds: Sequence[int], difficulty: int) -> Sequence[Instance | None]:
        """One instance per seed; None where generation died (`failures` says why)."""

    def score(self, items: Sequence[tuple[int, int, str]]) -> Sequence[Score]:
        """Scores for (seed, difficulty, answer text)."""

    def close(self) -> None: ...


class Sandbox(Protocol):
    def open(self, source: str, **options: Any) -> Worker: ...

    def close(self) -> None: ...


class Embedder(Protocol):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, as rows."""
