"""A run as the report needs it, as plain values: candidates with tags and consistency, steps in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evoenv.overlap.results import Overlap, read_overlaps
from evoenv.pool.tags import tags_of
from evoenv.runs.candidates import Entry, original_entry
from evoenv.runs.environments import Movement, Oracle, PoolStep, pool_steps
from evoenv.runs.funnel import add_funnels
from evoenv.runs.view import RunView, Step
from evoenv.store.packing import unpack_text
from evoenv.store.store import EnvironmentRecord, HeldOutAccuracy, Store


@dataclass(frozen=True, slots=True)
class RunData:
    """A whole run as plain values."""

    directory: str
    config: Mapping[str, Any]
    versions: Mapping[str, str]
    created: float | None
    training: bool
    last_step: int
    """The last that is wholly done."""
    wanted_steps: int
    stage: str
    """What was done last, in words."""
    steps: list[Step]
    entries: list[Entry]
    environments: list[EnvironmentRecord]
    evaluations: list[HeldOutAccuracy]
    movements: list[Movement]
    tokens: int = 0
    seconds: float = 0.0
    overlaps: Sequence[Overlap] = ()
    """What `evoenv audit-overlap` left in the run, by suite."""

    @property
    def names(self) -> dict[str, str]:
        """Names of environments by id."""
        return {record.id: record.name for record in self.environments}

    @property
    def generated(self) -> list[EnvironmentRecord]:
        """The environments that the run admitted."""
        return [record for record in self.environments if not record.original]

    @property
    def seed_tags(self) -> list[frozenset[str]]:
        """The tags of the original environments."""
        return [record.tags for record in self.environments if record.original]

    @property
    def left_out(self) -> frozenset[str]:
        """Tests of FUNNEL that this run does not apply: what passed them says nothing."""
        return frozenset(
            name for name in ("review", "calibration") if not self.config.get(name, {}).get("enabled", True)
        )

    @property
    def funnel(self) -> tuple[int, ...]:
        """Who passed which test, over all steps; what is not known yet counts as 0."""
        return tuple(count or 0 for count in add_funnels(step.funnel for step in self.steps))

    @property
    def pool(self) -> list[PoolStep]:
        """The pool along the steps."""
        return pool_steps(self.environments, ((step.number, step.metrics) for step in self.steps))

    def total(self, *states: str) -> int:
        """Count the candidates of all steps with these fates."""
        return sum(step.fates[state] for step in self.steps for state in states)


def read_run(store: Store) -> RunData:
    """Read all that is known of a run; call it inside `store.snapshot()` if the run may still be written."""
    view = RunView(store)
    progress, environments, steps = view.progress(), view.environments(), view.steps()
    return RunData(
        directory=str(store.directory),
        config=view.config,
        versions=view.versions,
        created=view.created,
        training=view.training,
        last_step=progress.last_step,
        wanted_steps=progress.wanted_steps,
        stage=progress.words,
        steps=steps,
        entries=[
            *(original_entry(record) for record in environments if record.original or record.candidate_id is None),
            *_described(view, [step.number for step in steps]),
        ],
        environments=environments,
        evaluations=view.evaluations(),
        movements=view.movements(),
        tokens=view.tokens(step.number for step in steps),
        seconds=sum(step.metrics.get("time/step", 0.0) for step in steps),
        overlaps=read_overlaps(store.directory),
    )


def _described(view: RunView, steps: Iterable[int]) -> Iterator[Entry]:
    """Yield every candidate with the tags of its task and whether it is consistent: both are read off its source."""
    tags: dict[tuple[str, str], frozenset[str]] = {}
    oracle = Oracle()
    for step in steps:
        consistent = view.consistency(step, oracle)
        texts = {
            name: (unpack_text(template), "" if source is None else unpack_text(source))
            for name, template, source in view.store.query(
                "SELECT c.id, r.prompt_template, s.source FROM candidates c JOIN reports r ON r.candidate_id = c.id "
                "LEFT JOIN sources s ON s.environment_id = c.environment_id WHERE c.step = ? AND r.layer > 0",
                [step],
            )
        }
        for entry in view.entries(step):
            own = entry.tags
            if entry.record is None and entry.id in texts:
                key = texts[entry.id]
                own = tags[key] = tags[key] if key in tags else tags_of(*key)
            yield replace(entry, tags=own, consistent=consistent.get(entry.id))
