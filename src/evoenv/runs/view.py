"""A read-only view of a run, finished or not: by a directory, or over a store that is open.

with RunView.open(directory) as view:        # one moment of the run, whoever writes meanwhile
    view.progress()
    view.candidates(CandidateQuery(fate="too-hard"))

RunView(store)                               # what the store says now, asked again and again
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.objective import has_zero_variance
from evoenv.records import Message, Review
from evoenv.runs.candidates import (
    Answered,
    CandidateQuery,
    Entry,
    History,
    Page,
    Position,
    candidate_ids,
    diversity_of,
    read_all_answered,
    read_answered,
    read_chosen,
    read_entries,
    read_entry,
    read_history,
    read_page,
    request_ids,
    reward_rule,
)
from evoenv.runs.environments import (
    Lineage,
    Movement,
    Oracle,
    PoolStep,
    Use,
    movements_of,
    pool_steps,
    read_lineage,
    read_uses,
    whole_movement,
)
from evoenv.runs.funnel import DECIDED, INSIDE, NO_FATES, Fates, Funnel, add_funnels, funnel_of, read_fates, read_funnel
from evoenv.stages.budget import tokens_spent
from evoenv.store.packing import unpack_text
from evoenv.store.store import STAGES, EnvironmentRecord, HeldOutAccuracy, Purpose, Stage, Store

_SOLVING: tuple[Stage, ...] = ("solved", "updated", "rotated")
_STAGES: dict[str, tuple[Stage, ...]] = {
    "evoenv": STAGES,
    "r-zero": ("generated", "calibrated", "decided", *_SOLVING),
    "untrained": ("rotated",),
}
"""The stages of a step by curriculum; the others only solve."""
_SAMPLED: dict[Stage, tuple[Purpose, ...]] = {
    "generated": ("generate",),
    "reviewed": ("review", "calibrate"),
    "calibrated": ("calibrate",),
    "solved": ("solve",),
}
"""What is sampled for a stage; reviews and calibrations are asked for together."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    last_step: int
    """The last that is wholly done; 0 before the first."""
    wanted_steps: int
    step: int
    """The step under way, or the last one if none is."""
    stage: Stage | None
    """The stage under way; None if the run waits for nothing."""
    done_stages: tuple[Stage, ...]
    """Of the step after the last finished one."""
    done: int = 0
    """Samples, verdicts or scores of the stage that are there."""
    total: int = 0
    """How many it wants; 0 if that cannot be counted."""

    @property
    def words(self) -> str:
        """What was done last."""
        if self.done_stages:
            return f"stage ‘{self.done_stages[-1]}’ of step {self.last_step + 1}"
        return f"step {self.last_step}" if self.last_step else "nothing yet"


@dataclass(frozen=True, slots=True)
class Step:
    """One step in numbers."""

    number: int
    finished: bool
    fates: Counter[str]
    """Candidates by fate: `admitted`, or one of REFUSED, or not decided yet."""
    metrics: Mapping[str, float]
    rewards: tuple[float, ...] = ()
    """What the generator earned: for candidates, or for questions."""
    quality: float | None = None
    diversity: float | None = None
    generator_zero_variance: float | None = None
    """The share of the generator's groups whose candidates all earned the same."""

    @property
    def funnel(self) -> Funnel:
        """Who passed which test."""
        decided = self.finished or bool(self.rewards) or any(self.fates[name] for name in DECIDED)
        return funnel_of(self.fates, decided=decided)


def mean(values: Iterable[float]) -> float | None:
    """Compute the mean; None of nothing."""
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


def quantile(values: Sequence[float], share: float) -> float:
    """Find the value below which a share of them lies, by linear interpolation between the two nearest ranks."""
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (place - below)


class RunView:
    """What a run's store says, in the figures that people ask for. Nothing is kept: ask again, and it is read again."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @classmethod
    @contextmanager
    def open(cls, directory: Path, *, migrate: bool = True) -> Iterator[RunView]:
        """Open the run in `directory` as it is at this moment, also while it is being written.

        Without `migrate` nothing is ever written: a run of an older version is refused.
        """
        with Store.read(directory, migrate=migrate) as store, store.snapshot():
            yield cls(store)

    # ----------------------------------------------------------------- the run

    @property
    def config(self) -> Mapping[str, Any]:
        """The resolved configuration; empty before there is one."""
        return self.store.meta("config") or {}

    @property
    def versions(self) -> Mapping[str, str]:
        """What the run was made with, by package."""
        return self.store.meta("versions") or {}

    @property
    def created(self) -> float | None:
        """When the run was begun, in seconds since 1970."""
        created: float | None = self.store.meta("created")
        return created

    @property
    def training(self) -> bool:
        """False: the run builds a pool and trains nothing."""
        return self.store.meta("training") is not False

    def progress(self) -> Progress:
        """Say which step and stage the run is at, and how far the stage is."""
        last = self.store.last_step()
        run = self.config.get("run", {})
        wanted = int(run.get("steps", last))
        if run.get("tokens") or run.get("tokens_at_least"):
            spent = tokens_spent(self.store)
            if run.get("tokens") and spent >= run["tokens"]:
                wanted = last
            elif last >= wanted and spent < run.get("tokens_at_least", 0):
                wanted = last + 1  # how many more it takes nobody knows
        done = tuple(stage for stage in STAGES if self.store.stage_done(last + 1, stage))
        begun = done or self.store.query("SELECT 1 FROM requests WHERE step = ? LIMIT 1", [last + 1])
        if last >= wanted and not begun:
            return Progress(last, wanted, last, None, done)
        name = self.config.get("curriculum", {}).get("name", "evoenv")
        stage = next(stage for stage in _STAGES.get(name, _SOLVING) if stage not in done)
        return Progress(last, wanted, last + 1, stage, done, *self._counted(last + 1, stage))

    def _counted(self, step: int, stage: Stage) -> tuple[int, int]:
        if stage == "validated":
            ((done, total),) = self.store.query(
                "SELECT (SELECT count(*) FROM reports WHERE step = ?), "
                "(SELECT count(*) FROM candidates WHERE step = ?)",
                [step, step],
            )
        elif stage == "calibrated" and self.store.stage_done(step, "reviewed"):  # they are sampled: now they are scored
            ((done, total),) = self.store.query(
                "SELECT count(c.idx), count(*) FROM requests q JOIN samples s ON s.request_id = q.id "
                "LEFT JOIN scores c ON c.request_id = s.request_id AND c.idx = s.idx "
                "WHERE q.step = ? AND q.purpose = 'calibrate'",
                [step],
            )
        elif stage in _SAMPLED:
            marks = ",".join("?" * len(_SAMPLED[stage]))
            ((total, done),) = self.store.query(
                "SELECT coalesce(sum(q.count), 0), "
                "coalesce(sum((SELECT count(*) FROM samples s WHERE s.request_id = q.id)), 0) "
                f"FROM requests q WHERE q.step = ? AND q.purpose IN ({marks})",
                [step, *_SAMPLED[stage]],
            )
        else:
            return 0, 0
        return int(done), int(total)

    # ----------------------------------------------------------------- steps

    def funnel(self, step: int) -> Funnel:
        """Count who passed which test in a step; cheap enough to be asked again and again."""
        return read_funnel(self.store, step)

    def fates(self, first: int = 1, last: int | None = None) -> dict[int, Fates]:
        """Count what became of candidates, by step."""
        return read_fates(self.store, first, self.store.last_step() if last is None else last)

    def total_funnel(self) -> Funnel:
        """Count who passed which test in all finished steps."""
        return add_funnels(fates.funnel for fates in self.fates().values())

    def finding_counts(self, last: int | None = None) -> Counter[str]:
        """Count candidates of the steps up to `last` (the last finished one) by finding; each once per code."""
        rows = self.store.query(
            "SELECT code, count(*), min(step), min(candidate_id), min(position) FROM finding_codes WHERE step <= ? "
            "GROUP BY code ORDER BY 3, 4, 5",
            [self.store.last_step() if last is None else last],
        )
        return Counter({code: count for code, count, *_ in rows})

    def first_findings(self, step: int) -> Counter[str]:
        """Count the candidates of a step by the first finding of the layer that they failed."""
        rows = self.store.query(
            "SELECT code, count(*) FROM finding_codes WHERE step = ? AND position = 0 GROUP BY code "
            "ORDER BY min(candidate_id)",
            [step],
        )
        return Counter(dict(rows))

    def step_numbers(self) -> list[int]:
        """Number the finished steps, and the one after them if the generator was asked in it."""
        last = self.store.last_step()
        return [*range(1, last + 1), *([last + 1] if self.store.requests(last + 1, "generate") else [])]

    def steps(self, first: int = 1) -> list[Step]:
        """Read the steps from `first` on in numbers."""
        last = self.store.last_step()
        numbers = [number for number in self.step_numbers() if number >= first]
        if not numbers:
            return []
        fates = read_fates(self.store, numbers[0], numbers[-1])
        return [self._step(number, number <= last, fates.get(number, NO_FATES)) for number in numbers]

    def _step(self, number: int, finished: bool, fates: Fates) -> Step:
        metrics = self.store.metrics(number)
        rows = self.store.query(
            "SELECT c.grp AS grp, c.idx AS idx, d.q_val, d.reward FROM decisions d "
            "JOIN candidates c ON c.id = d.candidate_id WHERE d.step = ? UNION ALL "
            "SELECT q.grp, q.idx, NULL, d.reward FROM question_decisions d JOIN questions q "
            "ON q.id = d.question_id WHERE d.step = ? ORDER BY grp, idx",
            [number, number],
        )
        groups: dict[int, list[float]] = {}
        for group, _, _, reward in rows:
            groups.setdefault(group, []).append(reward)
        rule, judged = reward_rule(self.store), [row for row in rows if row[2] is not None]
        return Step(
            number=number,
            finished=finished,
            fates=Counter() if fates.questions else fates.counts,
            metrics=metrics,
            rewards=tuple(reward for *_, reward in rows),
            quality=mean(0.0 if rule == "without-quality" else q_val for _, _, q_val, _ in judged),
            diversity=mean(diversity_of(rule, q_val, reward) or 0.0 for _, _, q_val, reward in judged),
            generator_zero_variance=mean(float(has_zero_variance(rewards)) for rewards in groups.values()),
        )

    def series(self, metric: str) -> list[tuple[int, float]]:
        """Read one metric over the steps that have it."""
        return self.store.metric(metric)

    def metric_names(self) -> list[str]:
        """Name every metric that the run has a series of."""
        return [name for (name,) in self.store.query("SELECT DISTINCT name FROM metrics ORDER BY name")]

    def times(self, step: int) -> dict[str, float]:
        """Return a step's seconds by activity: `generate`, `judge`, `solve`, `update`, …; `step` is the whole."""
        left_out = ("tokens_per_second", "overhead_share")
        pairs = ((name.removeprefix("time/"), value) for name, value in self.store.metrics(step).items())
        return {name: value for name, value in pairs if "/" not in name and name not in left_out}

    def tokens(self, steps: Iterable[int]) -> int:
        """Count the tokens sampled in these steps."""
        return sum(sum(self.store.tokens(step).values()) for step in steps)

    def evaluations(self) -> list[HeldOutAccuracy]:
        """Read all held-out accuracies, by suite and step."""
        return self.store.evaluations()

    # ----------------------------------------------------------------- candidates

    def candidates(
        self,
        query: CandidateQuery | None = None,
        *,
        after: Position | None = None,
        offset: int = 0,
        limit: int = 50,
        newest_first: bool = False,
    ) -> Page:
        """Read one page of the candidates that a query wants."""
        return read_page(
            self.store, query or CandidateQuery(), after=after, offset=offset, limit=limit, newest_first=newest_first
        )

    def candidate_ids(self, query: CandidateQuery, order: str | None = None) -> list[str]:
        """Name all candidates of a query, in order."""
        return candidate_ids(self.store, query, order)

    def chosen(self, ids: Sequence[str]) -> list[Entry]:
        """Read the rows of these candidates, in this order."""
        return read_chosen(self.store, ids)

    def entries(self, step: int) -> list[Entry]:
        """Read the rows of all candidates of a step, by group and index."""
        return read_entries(self.store, step)

    def admitted(self, step: int) -> list[Entry]:
        """Read the rows of the candidates that a step admitted."""
        return [entry for entry in self.entries(step) if entry.state in INSIDE]

    def entry(self, candidate_id: str) -> Entry | None:
        """Read the row of one candidate."""
        return read_entry(self.store, candidate_id)

    def candidate(self, candidate_id: str) -> History | None:
        """Read all that happened to one candidate."""
        return read_history(self.store, candidate_id)

    def request_ids(self, purpose: Purpose, subject: str) -> list[str]:
        """Name what was asked for a purpose about a candidate, an environment or a problem, oldest first."""
        return request_ids(self.store, purpose, subject)

    def answered(self, request_id: str) -> Answered | None:
        """Read one request with its answers and scores: a group of the solver, reviews, a calibration."""
        return read_answered(self.store, request_id)

    def all_answered(self, purpose: Purpose, subject: str) -> list[Answered]:
        """Read all that was asked for a purpose about a subject, with the answers; oldest first."""
        return read_all_answered(self.store, purpose, subject)

    def reviewed(self, last: int) -> Iterator[tuple[tuple[Message, ...], tuple[Review, ...]]]:
        """Read, up to step `last`, what the reviewer was shown of each candidate and what it said; oldest first."""
        for step in range(1, last + 1):
            reviews = self.store.reviews(step)
            for request_id, (subject, _, _) in self.store.requests(step, "review").items():
                if subject in reviews:
                    yield self.store.request_messages(request_id), reviews[subject]

    def asymmetries(self, last: int | None = None) -> list[tuple[int, str, float, bool]]:
        """Read step, candidate, asymmetry and whether it was admitted, up to step `last`; in the order of the run."""
        rows = self.store.query(
            "SELECT a.step, a.candidate_id, a.value, coalesce(d.admitted, 0) FROM asymmetries a "
            "JOIN candidates c ON c.id = a.candidate_id LEFT JOIN decisions d ON d.candidate_id = a.candidate_id "
            "WHERE a.step <= ? ORDER BY a.step, c.grp, c.idx",
            [self.store.last_step() if last is None else last],
        )
        return [(step, candidate_id, value, bool(admitted)) for step, candidate_id, value, admitted in rows]

    def consistency(self, step: int, oracle: Oracle) -> dict[str, bool | None]:
        """Say of every candidate of a step at L5 whether its prompt asks for what its code computes."""
        rows = self.store.query(
            "SELECT c.id, s.source FROM reports r JOIN candidates c ON c.id = r.candidate_id LEFT JOIN sources s "
            "ON s.environment_id = c.environment_id WHERE r.step = ? AND r.layer = 5 ORDER BY c.grp, c.idx",
            [step],
        )
        return {
            candidate_id: oracle.is_consistent("" if source is None else unpack_text(source))
            for candidate_id, source in rows
        }

    # ----------------------------------------------------------------- environments

    def environments(self) -> list[EnvironmentRecord]:
        """Read every environment ever admitted, in order of admission."""
        return self.store.environments()

    def lineage(self) -> dict[str, Lineage]:
        """Read parents and children of every environment."""
        return read_lineage(self.store)

    def pool(self) -> list[PoolStep]:
        """Follow the pool along the steps."""
        metrics = ((number, self.store.metrics(number)) for number in self.step_numbers())
        return pool_steps(self.environments(), metrics)

    def uses(self, environment_id: str | None = None, *, last: int | None = None) -> list[Use]:
        """Read what the solver was drawn on, by step; of one environment, or of all."""
        return read_uses(self.store, last=last, subject=environment_id)

    def movements(self, last: int | None = None) -> list[Movement]:
        """Follow the solver on each environment, up to step `last`."""
        names = {record.id: record.name for record in self.environments()}
        return movements_of(self.uses(last=last), names)

    def solver_movement(self, last: int | None = None) -> Movement | None:
        """Follow the solver on all environments together, up to step `last`."""
        return whole_movement(self.uses(last=last))
