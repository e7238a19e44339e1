"""The edges of the system, as small protocols. Each has a real implementation and a packaged fake.

`Policy` is one protocol for a model in this process, for a server and for a cluster; docs/engines.md describes it for
whoever writes an engine, and tests/engines/conformance.py is the suite that every engine passes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from evoenv.objective import Batch
from evoenv.records import Instance, Message, Request, Sample, Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# --------------------------------------------------------------------------- the policy


class Sampling(Protocol):
    """An open sampling session: requests go in at any time, samples come out as they finish.

    It belongs to one thread. What a request's samples are depends on the request alone (messages, seed, settings) and
    on the policy's version, not on what runs beside it.
    """

    @property
    @abstractmethod
    def closed(self) -> bool: ...

    @abstractmethod
    def submit(self, requests: Sequence[Request]) -> None:
        """Add requests, also while others are being answered.

        Refuses all of them (see `Policy.check`) if one cannot be answered or has the id of an earlier one.
        """

    @abstractmethod
    def collect(self, timeout: float | None = None) -> Sequence[Sample]:
        """Wait until samples have finished and return them, in that order.

        Empty if nothing is left to wait for, or if none finished within `timeout` seconds. Raises whatever ends the
        sampling: a dead server, a used-up budget, an update in between.
        """

    @abstractmethod
    def close(self) -> None:
        """Give up what was not collected. Closing again does nothing; a closed session collects nothing more."""

    def __iter__(self) -> Iterator[Sample]:
        """Yield samples until all that was submitted, also in the meantime, is delivered."""
        while samples := self.collect():
            for sample in samples:
                if self.closed:
                    return
                yield sample

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@runtime_checkable
class Policy(Protocol):
    """One model in all its roles. Engines inherit from it."""

    @property
    @abstractmethod
    def trainable(self) -> bool:
        """False for a policy that only samples: a run that needs updates refuses it before it starts."""

    @property
    @abstractmethod
    def exact_replay(self) -> bool:
        """Whether updates computed again after `load` give the same weights, bit for bit.

        If so, a run may save a checkpoint only now and then: a resumed one recomputes what is missing. If not, every
        step is saved.
        """

    @property
    @abstractmethod
    def version(self) -> int:
        """How many updates the policy has seen; 0 is the model that it started from."""

    @abstractmethod
    def check(self, requests: Sequence[Request]) -> None:
        """Raise for the first request that cannot be answered, and name it.

        InputError if the request makes no sense; PolicyError if it makes sense and does not fit this policy.
        """

    @abstractmethod
    def sampling(self) -> Sampling:
        """Open a sampling session."""

    def sample(self, requests: Sequence[Request]) -> Iterator[Sample]:
        """Check every request now, then yield samples in the order in which they finish.

        Validation starts while generation goes on. Giving the iterator up gives up what is not finished.
        """
        self.check(requests)
        return _deliver(self, requests)

    @abstractmethod
    def update(self, batch: Batch) -> Mapping[str, float]:
        """Learn from a batch; metrics by `area/name`. Sessions that are still waiting for samples end in an error."""

    @abstractmethod
    def save(self) -> str:
        """Write weights, optimiser and random state as a checkpoint, atomically, and return its reference.

        A reference is opaque to everyone but the engine. It stays valid in later processes that open the policy with
        the same checkpoint directory. Saving the same version again replaces the checkpoint.
        """

    @abstractmethod
    def load(self, reference: str) -> None:
        """Continue from a checkpoint."""

    @abstractmethod
    def drop(self, reference: str) -> None:
        """Remove a checkpoint; one that is gone already is no error."""

    @abstractmethod
    def saved(self) -> Sequence[str]:
        """Return the references of all checkpoints there are, oldest first: also of those that no store vouches for."""

    @abstractmethod
    def close(self) -> None:
        """Let go of processes and memory. Closing again does nothing."""


def _deliver(policy: Policy, requests: Sequence[Request]) -> Iterator[Sample]:
    with policy.sampling() as session:
        session.submit(requests)
        yield from session


@runtime_checkable
class CountsTokens(Protocol):
    """A policy that can say how long a prompt is, so that one over-long prompt never costs a run its step."""

    def prompt_tokens(self, messages: Sequence[Message]) -> int: ...


@runtime_checkable
class HasContext(Protocol):
    """A policy that knows how many tokens a prompt and its answer may have together."""

    @property
    def context(self) -> int | None:
        """None: no limit is known."""


class Spending(Protocol):
    """What a served policy has used so far, and may use. Checkpoints know nothing of it."""

    @property
    def requests(self) -> int:
        """Answers that were paid for."""

    @property
    def solver_requests(self) -> int:
        """Those of them that a solver of its own gave."""

    @property
    def tokens(self) -> int:
        """Prompt and answer tokens."""

    @property
    def cost(self) -> float:
        """At the configured prices, in the currency of the budget."""

    @property
    def exhausted(self) -> bool:
        """Whether a budget is used up."""

    def snapshot(self) -> dict[str, int]:
        """Return the counts as plain numbers, to be kept by whoever keeps the run."""

    def restore(self, counts: Mapping[str, int]) -> None:
        """Go on from a snapshot."""


@runtime_checkable
class Spends(Protocol):
    """A policy whose use is paid for."""

    @property
    def spending(self) -> Spending: ...


@dataclass(frozen=True, slots=True)
class Traffic:
    """Answers that were asked for and are not whole yet."""

    waiting: int
    """How many they are."""
    received: int
    """Tokens of them so far; of a server, by the parts of the stream."""
    retries: int
    """Tries that failed and were repeated, since the policy was opened."""


@runtime_checkable
class Streams(Protocol):
    """A policy that can say how far its answers are."""

    @property
    def traffic(self) -> Traffic: ...


# --------------------------------------------------------------------------- environments at work


class Worker(Protocol):
    """One environment, loaded and ready, in a process of its own."""

    def instances(self, seeds: Sequence[int], difficulty: int) -> Sequence[Instance | None]:
        """Generate one instance per seed; None if generation died (`failures` says why)."""

    def score(self, items: Sequence[tuple[int, int, str]]) -> Sequence[Score]:
        """Score (seed, difficulty, answer text) items."""

    def close(self) -> None: ...


class Sandbox(Protocol):
    def open(self, source: str, **options: Any) -> Worker: ...

    def close(self) -> None: ...


class Embedder(Protocol):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector per text, as rows."""
