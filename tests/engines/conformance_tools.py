"""The tools of the suite that every engine passes: an engine under test, requests to ask it, expected refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evoenv.config import TrainingConfig
from evoenv.objective import Batch, build_batch
from evoenv.ports import Policy
from evoenv.records import Group, Message, Request, Sample

TRAINING = TrainingConfig(learning_rate=1e-2, warmup_steps=0, kl=0.0)


@dataclass(frozen=True, slots=True)
class Subject:
    """An engine under test."""

    name: str
    """`module:attribute`, for the process that is killed."""
    open: Callable[[Path], Any]
    """A context manager over an open policy; it is given the directory for checkpoints."""
    deterministic: bool = True
    """The same request gives the same samples at the same version, whatever runs beside it."""
    exact: bool = True
    """Its log-probabilities are the same, too, to the last bit; else to four digits."""
    streams: bool = True
    """A short answer is delivered before a long one that was asked for earlier."""
    counts: bool = True
    """Samples say how many tokens they have."""
    context: int | None = None
    """Tokens of prompt and answer above which a request is refused; None: nobody knows."""


@dataclass
class Bench:
    """One engine, opened when it is first needed and kept open from check to check."""

    subject: Subject
    directory: Path
    _stack: ExitStack = field(default_factory=ExitStack)
    _policy: Policy | None = None

    @property
    def policy(self) -> Policy:
        if self._policy is None:
            self._policy = self._stack.enter_context(self.subject.open(self.directory))
        return self._policy

    def reopen(self) -> Policy:
        """Close the policy and open another one in the same directory, as a resumed run does."""
        self.close()
        return self.policy

    def close(self) -> None:
        self._stack.close()
        self._stack, self._policy = ExitStack(), None


Check = Callable[[Bench], None]
CHECKS: list[Check] = []


def check(function: Check) -> Check:
    """Enter a function in the suite."""
    CHECKS.append(function)
    return function


# --------------------------------------------------------------------------- tools


def ask(id: str, text: str = "Say something.", **settings: Any) -> Request:
    return Request(id=id, messages=(Message("user", text),), **{"role": "solver", "max_tokens": 12, **settings})


def by_key(samples: Iterable[Sample]) -> dict[tuple[str, int], Sample]:
    """Samples by request and index; each may come once."""
    found: dict[tuple[str, int], Sample] = {}
    for sample in samples:
        key = sample.request_id, sample.index
        assert key not in found, f"{key} was delivered twice"
        found[key] = sample
    return found


def texts(samples: Iterable[Sample]) -> dict[tuple[str, int], str]:
    return {key: sample.text for key, sample in by_key(samples).items()}


@contextmanager
def refused(kind: type[Exception] | tuple[type[Exception], ...], *words: str) -> Iterator[None]:
    """Expect an error of this kind that says all the words."""
    try:
        yield
    except kind as error:
        message = str(error)
    else:
        raise AssertionError(f"nothing was refused; expected {kind}")
    assert all(word in message for word in words), f"{message!r} does not say {words}"


def batch_of(policy: Policy, seed: int = 0) -> Batch:
    """Something to learn from: two groups, each with better and worse samples."""
    requests = [
        ask(f"{role}-{seed}", f"{role} {seed}", role=role, count=4, seed=seed, trains=True)
        for role in ("solver", "generator")
    ]
    samples = by_key(policy.sample(requests))
    groups = [
        Group(
            request.id,
            request.role,
            tuple(samples[request.id, index] for index in range(request.count)),
            (0.0, 1.0, 0.0, 1.0),
        )
        for request in requests
    ]
    return build_batch(groups, TRAINING, update=policy.version)


def fingerprint(policy: Policy) -> list[Any]:
    """What the policy says at its present weights, and with which log-probabilities."""
    samples = by_key(policy.sample([ask("fingerprint", count=4, max_tokens=6, seed=5, trains=True)]))
    rollouts = [samples[key].rollout for key in sorted(samples)]
    numbers = [None if item is None else [list(item.token_ids), list(item.logprobs)] for item in rollouts]
    return [[samples[key].text for key in sorted(samples)], numbers]


def agree(subject: Subject, said: list[Any], before: list[Any]) -> bool:
    """Whether two fingerprints are of the same weights."""
    if subject.exact:
        return said == before

    def close(rollout: Any, other: Any) -> bool:
        (ids, logprobs), (other_ids, other_logprobs) = rollout, other
        return ids == other_ids and all(
            math.isclose(value, expected, abs_tol=1e-4)
            for value, expected in zip(logprobs, other_logprobs, strict=True)
        )

    return said[0] == before[0] and all(map(close, said[1], before[1]))
