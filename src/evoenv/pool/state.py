"""The pool as an immutable value: who is active, who serves as example, who is due for retirement.

`P` active pool, `S` few-shot pool (originals and retired), `C` all ever admitted. An original is in S from the
start and in P until it is retired; a generated environment is in exactly one of P and S.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from evoenv.config import PoolConfig, SolverConfig
from evoenv.records import derive_seed

LEVELS_BACK = 3
"""RLVE draws the difficulty from the top level and the three below it."""
ADVANCE_GROUPS = 8
ADVANCE_ACCURACY = 0.9
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Difficulty:
    """RLVE's adaptive level of one environment: the top level h and the samples seen at d = h."""

    level: int = 0
    right: int = 0
    total: int = 0

    def seen(self, right: int, total: int) -> Difficulty:
        return replace(self, right=self.right + right, total=self.total + total)

    def advanced(self, responses_per_prompt: int) -> Difficulty:
        """Go one level up from 8·n samples on if 90% were right; the counters start again either way."""
        if self.total < ADVANCE_GROUPS * responses_per_prompt:
            return self
        return Difficulty(self.level + (self.right >= ADVANCE_ACCURACY * self.total - _ROUNDING))


@dataclass(frozen=True, slots=True)
class Member:
    """What the pool remembers of one environment."""

    id: str
    original: bool = False
    active: bool = True
    epochs: int = 0
    """Training steps that sampled it."""
    difficulty: Difficulty = field(default_factory=Difficulty)


@dataclass(frozen=True, slots=True)
class Draw:
    """One solver group to be: an environment, an instance seed and a level."""

    environment_id: str
    seed: int
    difficulty: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a drawn group went: fully right responses out of all that were sampled, dropped ones included."""

    environment_id: str
    difficulty: int
    right: int
    total: int


@dataclass(frozen=True, slots=True)
class PoolState:
    """Members by id, in the order of their admission: C is the keys, P and S are read off the members."""

    members: Mapping[str, Member] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", MappingProxyType(dict(self.members)))

    @property
    def active(self) -> tuple[str, ...]:
        """P: the ids of the active environments."""
        return tuple(item.id for item in self.members.values() if item.active)

    @property
    def few_shot(self) -> tuple[str, ...]:
        """S: the ids of the environments that may serve as examples."""
        return tuple(item.id for item in self.members.values() if item.original or not item.active)

    @property
    def admitted(self) -> tuple[str, ...]:
        """C: the ids of all environments ever admitted."""
        return tuple(self.members)

    @property
    def original_share(self) -> float:
        active = [item for item in self.members.values() if item.active]
        return sum(item.original for item in active) / len(active) if active else 0.0


def start(originals: Iterable[str]) -> PoolState:
    """Make the pool before the first step: the originals, active and serving as examples."""
    return PoolState({environment_id: Member(environment_id, original=True) for environment_id in originals})


def draw(
    state: PoolState, just_admitted: Sequence[str], step: int, count: int, run_seed: int, config: SolverConfig
) -> tuple[Draw, ...]:
    """Draw `count` solver groups from P ∪ just admitted, uniformly and with replacement.

    Everything is hashed from (run, environment, purpose, step, index): the same state gives the same draw on
    any machine, and a resumed step draws what the stopped one drew.
    """
    choices = (*state.active, *just_admitted)
    draws: list[Draw] = []
    for index in range(count):
        if config.draw_rule == "lot":
            environment_id = _highest_lot(choices, step, index, run_seed)
        else:
            environment_id = choices[derive_seed(run_seed, "draw", step, index) % len(choices)]
        draws.append(_draw(state, environment_id, step, index, run_seed, config))
    return tuple(draws)


def certain_draws(
    state: PoolState, may_enter: Collection[str], step: int, indices: Iterable[int], run_seed: int, config: SolverConfig
) -> dict[int, Draw]:
    """Return those of the draws, by index, that `draw` will make whoever of `may_enter` is admitted.

    By lot, every draw that no environment of `may_enter` can win; by position, all once nobody can be admitted.
    """
    active = state.active
    if config.draw_rule != "lot":
        if may_enter:
            return {}
        indices = list(indices)
        draws = draw(state, (), step, max(indices, default=-1) + 1, run_seed, config)
        return {index: draws[index] for index in indices}
    certain: dict[int, Draw] = {}
    for index in indices:
        environment_id = _highest_lot((*active, *may_enter), step, index, run_seed)
        if environment_id not in may_enter:
            certain[index] = _draw(state, environment_id, step, index, run_seed, config)
    return certain


def _highest_lot(choices: Iterable[str], step: int, index: int, run_seed: int) -> str:
    return max(
        choices, key=lambda environment_id: (derive_seed(run_seed, environment_id, "lot", step, index), environment_id)
    )


def _draw(state: PoolState, environment_id: str, step: int, index: int, run_seed: int, config: SolverConfig) -> Draw:
    seed = instance_seed(run_seed, environment_id, step, index)
    return Draw(environment_id, seed, _level(state, environment_id, step, index, run_seed, config))


def instance_seed(run_seed: int, environment_id: str, step: int, index: int, attempt: int = 0) -> int:
    """Derive the seed of a training instance; a further attempt replaces one whose generation failed."""
    return derive_seed(run_seed, environment_id, "train", step, index, attempt)


def _level(state: PoolState, environment_id: str, step: int, index: int, run_seed: int, config: SolverConfig) -> int:
    if config.difficulty_rule == "fixed":
        return config.difficulty
    member = state.members.get(environment_id)
    top = member.difficulty.level if member else 0
    lowest = max(0, top - LEVELS_BACK)
    return lowest + derive_seed(run_seed, environment_id, "level", step, index) % (top - lowest + 1)


def starting_level(config: SolverConfig) -> int:
    """Return the level at which a new environment will be used, and is therefore calibrated."""
    return config.difficulty if config.difficulty_rule == "fixed" else 0


def after_step(
    state: PoolState, admitted: Iterable[str], outcomes: Iterable[Outcome], responses_per_prompt: int
) -> PoolState:
    """Enter the admitted into P and C, count an epoch for every environment sampled, move adaptive levels."""
    members = dict(state.members)
    for environment_id in admitted:
        if environment_id in members:
            raise ValueError(f"pool: environment {environment_id} is admitted a second time")
        members[environment_id] = Member(environment_id)
    sampled: dict[str, Difficulty] = {}
    for outcome in outcomes:
        difficulty = sampled.get(outcome.environment_id, members[outcome.environment_id].difficulty)
        if outcome.difficulty == difficulty.level:
            difficulty = difficulty.seen(outcome.right, outcome.total)
        sampled[outcome.environment_id] = difficulty
    for environment_id, difficulty in sampled.items():
        member, moved = members[environment_id], difficulty.advanced(responses_per_prompt)
        members[environment_id] = replace(member, epochs=member.epochs + 1, difficulty=moved)
    return PoolState(members)


def rotate(state: PoolState, step: int, config: PoolConfig) -> tuple[PoolState, tuple[str, ...]]:
    """Retire, every `rotate_every` steps, what was used in `max_epochs` epochs; return the new state and who left.

    Generated environments leave first, then originals, the most used first: each original only while its
    leaving keeps the originals' share of P at the floor. The least used stay if the pool would fall below
    its smallest size.
    """
    if step % config.rotate_every:
        return state, ()
    active = [item for item in state.members.values() if item.active]
    due = [item for item in active if item.epochs >= config.max_epochs]
    due.sort(key=lambda item: (item.original, -item.epochs))  # stable: the older first among equals
    size, originals = len(active), sum(item.original for item in active)
    retired: list[str] = []
    for item in due:
        if size <= max(1, config.min_size):
            break
        if item.original:
            if (originals - 1) / (size - 1) < config.original_floor - _ROUNDING:
                break
            originals -= 1
        size -= 1
        retired.append(item.id)
    members = dict(state.members)
    for environment_id in retired:
        members[environment_id] = replace(members[environment_id], active=False)
    return PoolState(members), tuple(retired)
