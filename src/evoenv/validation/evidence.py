"""What a candidate showed when it ran: the instances that L2 drew, on which L3 to L5 build.

Every later layer reuses these, so that an instance is generated once, not once per check.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from evoenv.errors import MachineTooSlow
from evoenv.records import LevelSpace, Replay, derive_seed
from evoenv.sandbox.guest import codec
from evoenv.sandbox.outcomes import WAITED, Failed, Outcome
from evoenv.validation.wire import checked

MACHINE_PATIENCE = 20.0
"""A layer's wall clock, in multiples of its CPU time. A machine that is slower than that gives no verdict."""
SHALLOW_LEVELS = (0, 1, 2, 3, 4, 5)
DEEP_LEVELS = (6, 8, 10)
"""Levels at which growth that breaks the time limit shows; few seeds each, because they may be expensive."""
READ = 20_000
"""Characters of a prompt that checks look at."""
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


class Caller(Protocol):
    """The part of a worker that validation needs."""

    @property
    def description(self) -> dict[str, Any]: ...

    @property
    def failure(self) -> Failed | None: ...

    @property
    def cpu_s(self) -> float: ...

    def call(
        self,
        op: str,
        items: Sequence[Any],
        args: dict[str, Any] | None = None,
        *,
        total_s: float | None = None,
        total_cpu_s: float | None = None,
        stop_on_death: bool = True,
    ) -> Sequence[Outcome]: ...

    def close(self) -> None: ...


OpenWorker = Callable[..., Caller]
"""`open_worker(twin=True, instrument=True)`: another worker of the same source."""


def canonical(value: Any) -> str:
    """Serialise an encoded value to a text that can be compared."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, eq=False)
class Drawn:
    """One instance as the worker sent it."""

    seed: int
    difficulty: int
    prompt: str
    latent: Any
    reference: Any
    full_reference: bool = True

    @property
    def key(self) -> tuple[int, int]:
        return self.seed, self.difficulty

    @property
    def replay(self) -> Replay:
        return Replay(self.seed, self.difficulty)

    @cached_property
    def numbers(self) -> list[str]:
        """Every number that the prompt shows, as it is written."""
        return NUMBER.findall(self.prompt[:READ])

    @cached_property
    def latent_key(self) -> str:
        return canonical(self.latent)

    @cached_property
    def answer_key(self) -> str:
        return canonical(self.reference)

    @cached_property
    def answer(self) -> Any:
        """The reference as the Python value it was."""
        return codec.decode(self.reference)


@dataclass
class Evidence:
    """The worker at hand and all that was drawn from it."""

    worker: Caller
    open_worker: OpenWorker
    levels: tuple[int, ...] = SHALLOW_LEVELS + DEEP_LEVELS
    drawn: list[Drawn] = field(default_factory=list)
    cost: dict[int, float] = field(default_factory=dict)
    """CPU seconds that one instance of a level takes, drawn and scored."""
    spent: Callable[[], float] = float
    """CPU seconds that all workers of this source have used so far."""
    cpu_deadline: float = float("inf")
    """What `spent` may come to until the layer at hand is done."""
    wall_deadline: float = float("inf")
    """When the machine has had its chance with the layer at hand, on the monotonic clock."""
    spaces: tuple[LevelSpace, ...] = ()
    """How many instances each level has, as far as L4 could tell."""
    waited: bool = False
    """Whether the candidate kept us waiting without computing: then time lost is its own fault."""

    def begin_layer(self, cpu_seconds: float) -> None:
        """Give the next layer its CPU time, and the machine far more time to provide it."""
        self.cpu_deadline = self.spent() + cpu_seconds
        self.wall_deadline = time.monotonic() + cpu_seconds * MACHINE_PATIENCE

    @property
    def out_of_time(self) -> bool:
        """Whether the candidate has used up the CPU time of the layer."""
        return self.spent() > self.cpu_deadline

    def at_level(self, difficulty: int) -> list[Drawn]:
        return [instance for instance in self.drawn if instance.difficulty == difficulty]

    def call(
        self,
        op: str,
        items: Sequence[Any],
        args: dict[str, Any] | None = None,
        *,
        worker: Caller | None = None,
        stop_on_death: bool = True,
    ) -> Sequence[Outcome]:
        """Call the worker within the layer's time. Raise MachineTooSlow if the machine is to blame."""
        outcomes = (worker or self.worker).call(
            op,
            items,
            args,
            total_s=max(0.5, self.wall_deadline - time.monotonic()),
            total_cpu_s=max(0.5, self.cpu_deadline - self.spent()),
            stop_on_death=stop_on_death,
        )
        self.waited |= any(isinstance(outcome, Failed) and outcome.error == WAITED for outcome in outcomes)
        if time.monotonic() > self.wall_deadline and not self.waited:
            raise MachineTooSlow(
                "undecided: the machine did not give a layer of validation the CPU time it may use in "
                f"{MACHINE_PATIENCE:.0f} times as long; try again when fewer programs run"
            )
        return [checked(op, outcome) for outcome in outcomes]

    def seconds(self, instance: Drawn) -> float:
        return self.cost.get(instance.difficulty, 0.0)

    def spread(self, count: int, seconds: float = float("inf")) -> list[Drawn]:
        """Choose about `count` instances, evenly over the levels, that together take about `seconds` to make again."""
        by_level = [self.at_level(level) for level in self.levels]
        chosen: list[Drawn] = []
        for round_ in range(max((len(row) for row in by_level), default=0)):
            for row in by_level:
                if round_ < len(row) and self.seconds(row[round_]) <= max(seconds, 0.0 if chosen else float("inf")):
                    seconds -= self.seconds(row[round_])
                    chosen.append(row[round_])
                    if len(chosen) == count:
                        return chosen
        return chosen


def seed_for(purpose: str, index: int) -> int:
    """Derive a seed that looks like those of training: hashed, of any size.

    The lowest level also gets 0 and 1, which people try first. Other levels do not: the same seed at every level would
    count as nine instances, but may be only one.
    """
    if purpose == "level-0" and index < 2:
        return index
    return derive_seed("validation", purpose, index) >> (31 if index % 2 else 0)
