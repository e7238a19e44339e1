"""Environments of a run: who was written after whom, how they were used, how the pool moved, what the oracle says.

The few-shot examples that the generator saw are the parents. One of them, the *closest*, is the parent that novelty
measured as nearest, else the one whose tags are most alike (Jaccard), else the first that was shown.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evoenv.corpus.read.consistency import agrees, read_environment
from evoenv.pool.tags import jaccard, prototypes_of
from evoenv.records import Instance, derive_seed, environment_id
from evoenv.runs.candidates import Entry
from evoenv.sandbox.guest.codec import decode
from evoenv.store.store import EnvironmentRecord, Store

# --------------------------------------------------------------------------- lineage


def closest_parent(entry: Entry, records: Mapping[str, EnvironmentRecord]) -> str | None:
    """Choose the parent that an environment hangs on; None if the run knows none of its parents."""
    known = [parent for parent in entry.parents if parent in records and parent != entry.environment_id]
    if not known:
        return None
    nearest = entry.novelty.nearest if entry.novelty else None
    if nearest in known:
        return nearest
    return max(known, key=lambda parent: (jaccard(entry.tags, records[parent].tags), -known.index(parent)))


@dataclass(frozen=True, slots=True)
class Lineage:
    """An environment's parents (what the generator saw when it wrote it) and children, as environment ids."""

    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


def read_lineage(store: Store) -> dict[str, Lineage]:
    """Read parents and children of every environment, in order of admission."""
    parents: dict[str, tuple[str, ...]] = {}
    children: dict[str, list[str]] = {}
    rows = store.query(
        "SELECT e.id, c.parents FROM environments e LEFT JOIN candidates c ON c.id = e.candidate_id ORDER BY e.position"
    )
    for identity, parent_ids in rows:
        parents[identity] = tuple(dict.fromkeys(json.loads(parent_ids))) if parent_ids else ()
        for parent in parents[identity]:
            children.setdefault(parent, []).append(identity)
    return {identity: Lineage(own, tuple(children.get(identity, ()))) for identity, own in parents.items()}


# --------------------------------------------------------------------------- use


@dataclass(frozen=True, slots=True)
class Use:
    """The solver on one environment (or problem) in one step."""

    environment_id: str
    step: int
    groups: int
    responses: int
    score: float
    """The mean over its responses."""


@dataclass(frozen=True, slots=True)
class Movement:
    """The solver on one environment: mean score at the first and at the last step that drew it."""

    environment_id: str
    name: str
    first_step: int
    first: float
    last_step: int
    last: float
    responses: int


def read_uses(store: Store, *, last: int | None = None, subject: str | None = None) -> list[Use]:
    """Read what the solver was drawn on, by step; up to step `last`, or of one environment alone."""
    condition, values = "", list[Any]()
    if last is not None:
        condition, values = " AND q.step <= ?", [last]
    if subject is not None:
        condition, values = f"{condition} AND q.subject = ?", [*values, subject]
    rows = store.query(
        "SELECT q.subject, q.step, count(DISTINCT q.id), count(*), avg(s.value) FROM requests q "
        f"JOIN scores s ON s.request_id = q.id WHERE q.purpose = 'solve'{condition} "
        "GROUP BY q.subject, q.step ORDER BY q.step, min(q.id)",
        values,
    )
    return [Use(subject or "", *numbers) for subject, *numbers in rows]


def movements_of(uses: Iterable[Use], names: Mapping[str, str]) -> list[Movement]:
    """Follow each environment from its first to its last use, in the order in which they were first drawn."""
    by_environment: dict[str, list[Use]] = {}
    for use in uses:
        by_environment.setdefault(use.environment_id, []).append(use)
    return [_movement(identity, names.get(identity, identity), own) for identity, own in by_environment.items()]


def whole_movement(uses: Iterable[Use]) -> Movement | None:
    """Follow the solver over all environments together; None if it was never asked."""
    by_step: dict[int, list[Use]] = {}
    for use in uses:
        by_step.setdefault(use.step, []).append(use)
    together = [
        Use(
            "",
            step,
            sum(use.groups for use in own),
            sum(use.responses for use in own),
            sum(use.score * use.responses for use in own) / sum(use.responses for use in own),
        )
        for step, own in by_step.items()
    ]
    return _movement("", "all", together) if together else None


def _movement(identity: str, name: str, uses: Sequence[Use]) -> Movement:
    first, last = min(uses, key=lambda use: use.step), max(uses, key=lambda use: use.step)
    return Movement(identity, name, first.step, first.score, last.step, last.score, sum(use.responses for use in uses))


# --------------------------------------------------------------------------- the pool


@dataclass(frozen=True, slots=True)
class PoolStep:
    """The pool as a step left it (0: before the first), and who came and went in it."""

    step: int
    active: float | None
    examples: float | None
    generated: float | None
    """Generated environments that were ever admitted."""
    prototypes: float | None
    entered: int
    retired: int


def turnover_of(environments: Iterable[EnvironmentRecord]) -> tuple[Counter[int], Counter[int]]:
    """Count by step the environments of this run's candidates that entered the pool, and all that left it."""
    entered: Counter[int] = Counter()
    retired: Counter[int] = Counter()
    for record in environments:
        if record.candidate_id is not None:
            entered[record.admitted_step] += 1
        if record.retired_step is not None:
            retired[record.retired_step] += 1
    return entered, retired


def pool_steps(
    environments: Sequence[EnvironmentRecord], metrics: Iterable[tuple[int, Mapping[str, float]]]
) -> list[PoolStep]:
    """Follow the pool from what the run was given on, along the steps that have its size."""
    originals = [record for record in environments if record.candidate_id is None]
    seeds = float(len(originals))
    kinds = float(len(prototypes_of(record.tags for record in originals)))
    entered, retired = turnover_of(environments)
    steps = [PoolStep(0, seeds, seeds, 0.0, kinds, 0, 0)]
    for step, values in metrics:
        if "pool/active" in values:
            ever = values.get("pool/admitted")
            steps.append(
                PoolStep(
                    step,
                    values["pool/active"],
                    values.get("pool/few_shot"),
                    None if ever is None else ever - seeds,
                    values.get("pool/prototypes"),
                    entered[step],
                    retired[step],
                )
            )
    return steps


# --------------------------------------------------------------------------- the oracle

Instances: TypeAlias = Callable[[str, Sequence[int], int], Sequence[Instance | None]]
"""(source, seeds, difficulty) -> instances."""
_PROBED = tuple((seed, level) for level in (0, 1, 3) for seed in range(8))
"""Instances on which the words of a source are tried if its code cannot be read."""


class Oracle:
    """Tells whether prompts ask for what the code computes, by reading it back into the corpus's parts.

    With `instances`, sources that cannot be read are also tried by running what their words say. Each source is looked
    at once.
    """

    def __init__(self, instances: Instances | None = None) -> None:
        self._instances = instances
        self._known: dict[str, bool | None] = {}

    def is_consistent(self, source: str) -> bool | None:
        """Return whether the prompt asks for what the code computes; None if that cannot be told."""
        identity = environment_id(source)
        if identity not in self._known:
            verdict = read_environment(source).consistent
            if verdict is None and self._instances is not None:
                verdict = agrees(source, self._drawn(self._instances, identity, source))
            self._known[identity] = verdict
        return self._known[identity]

    def _drawn(self, instances: Instances, identity: str, source: str) -> Iterable[tuple[Mapping[str, Any], Any]]:
        for level in sorted({level for _, level in _PROBED}):
            seeds = [derive_seed("oracle", identity, seed, level) for seed, at in _PROBED if at == level]
            for instance in instances(source, seeds, level):
                if instance is not None:
                    latent = decode(instance.latent)
                    if isinstance(latent, Mapping):
                        yield latent, decode(instance.reference)
