"""A run as the report needs it: every candidate with its fate in one small row, every step in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evoenv.admission.reward import NOVELTY_FROM_LAYER
from evoenv.corpus.read.consistency import read_environment
from evoenv.ids import CandidateId, GeneratorRequestId
from evoenv.objective import has_zero_variance
from evoenv.pool.tags import tags_of
from evoenv.records import Decision, Novelty, ValidationReport
from evoenv.store.store import STAGES, EnvironmentRecord, Evaluation, Store

STATES: dict[str, str] = {
    "pool": "In the pool",
    "retired": "Retired",
    "entering": "Admitted, entering the pool",
    "l1": "Rejected at L1: source",
    "l2": "Rejected at L2: execution",
    "l3": "Rejected at L3: determinism",
    "l4": "Rejected at L4: variation",
    "l5": "Rejected at L5: scorer",
    "review": "Rejected by review",
    "too-hard": "Rejected as too hard",
    "too-easy": "Rejected as too easy",
    "gate": "Rejected as not novel",
    "batch-duplicate": "Rejected as a duplicate in its batch",
    "undecided": "Not decided yet",
}
"""What became of a candidate or an original, in the order in which the rules are asked."""
FUNNEL = ("proposed", "L1", "L2", "L3", "L4", "L5", "review", "calibration", "admitted")
"""What each count of a funnel is: the candidates that passed it; the last, novelty's, are the admitted."""
REFUSED = ("l1", "l2", "l3", "l4", "l5", "review", "too-hard", "too-easy", "gate", "batch-duplicate")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the list: an original environment, or a candidate."""

    id: str
    """The candidate's id, or the environment's where it is an original."""
    name: str
    state: str
    step: int
    environment_id: str | None = None
    original: bool = False
    layer: int | None = None
    tags: frozenset[str] = frozenset()
    codes: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    pass_rate: float | None = None
    q_val: float | None = None
    diversity: float | None = None
    reward: float | None = None
    novelty: Novelty | None = None
    similarity_at_admission: float | None = None
    consistent: bool | None = None
    """Whether the prompt asks for what the code computes, for a candidate at L5; None where that cannot be read."""
    record: EnvironmentRecord | None = None


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    finished: bool
    fates: Counter[str]
    """Candidates by state as of their decision: `admitted`, or one of REFUSED, or `undecided`."""
    metrics: Mapping[str, float]
    rewards: tuple[float, ...] = ()
    quality: float | None = None
    diversity: float | None = None
    generator_zero_variance: float | None = None

    @property
    def funnel(self) -> tuple[int, ...]:
        """Counts along FUNNEL; those whose fate is open count as far as they have surely got."""
        left = sum(self.fates.values())
        counts = [left]
        for names in (("l1", "undecided"), *((f"l{layer}",) for layer in range(2, 6)), ("review",)):
            left -= sum(self.fates[name] for name in names)
            counts.append(left)
        left -= self.fates["too-hard"] + self.fates["too-easy"]
        return (*counts, left, left - self.fates["gate"] - self.fates["batch-duplicate"])


@dataclass(frozen=True, slots=True)
class Movement:
    """The solver on one environment: mean score at the first and the last step that drew it."""

    environment_id: str
    first_step: int
    first: float
    last_step: int
    last: float
    responses: int


@dataclass(frozen=True, slots=True)
class RunData:
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
    evaluations: list[Evaluation]
    movements: list[Movement]
    solve_requests: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """(step, request) by environment, oldest first."""
    tokens: int = 0
    seconds: float = 0.0

    @property
    def names(self) -> dict[str, str]:
        return {record.id: record.name for record in self.environments}

    @property
    def generated(self) -> list[EnvironmentRecord]:
        return [record for record in self.environments if not record.original]

    @property
    def left_out(self) -> frozenset[str]:
        """Tests of FUNNEL that this run does not apply: what passed them says nothing."""
        return frozenset(
            name for name in ("review", "calibration") if not self.config.get(name, {}).get("enabled", True)
        )

    def total(self, *states: str) -> int:
        return sum(step.fates[state] for step in self.steps for state in states)


def read_run(store: Store) -> RunData:
    """All that is known of a run; call it inside `store.snapshot()` where the run may still be written."""
    config = store.meta("config") or {}
    last = store.last_step()
    environments = store.environments()
    by_candidate = {record.candidate_id: record for record in environments if record.candidate_id is not None}
    entries = [_original(record) for record in environments if record.original]
    steps: list[Step] = []
    movements: dict[str, dict[int, list[float]]] = {}
    asked: dict[str, list[tuple[int, str]]] = {}
    tags: dict[str, frozenset[str]] = {}
    consistent: dict[str, bool | None] = {}
    tokens, number = 0, 0
    while (number := number + 1) <= last or store.requests(number, "generate"):
        metrics = store.metrics(number)
        found = list(_candidates(store, number, metrics.get("novelty/gamma", 0.0), by_candidate, tags, consistent))
        entries += found
        steps.append(_step(number, number <= last, found, metrics, store.generator_rewards(number)))
        tokens += sum(store.tokens(number).values())
        subjects = store.requests(number, "solve")
        for request, (environment, _, _) in subjects.items():
            asked.setdefault(environment or "", []).append((number, request))
        for (request, _), score in store.scores(number, "solve").items():
            movements.setdefault(subjects[request][0] or "", {}).setdefault(number, []).append(score.value)
    return RunData(
        directory=str(store.directory),
        config=config,
        versions=store.meta("versions") or {},
        created=store.meta("created"),
        training=store.meta("training") is not False,
        last_step=last,
        wanted_steps=int(config.get("run", {}).get("steps", last)),
        stage=_stage(store, last),
        steps=steps,
        entries=entries,
        environments=environments,
        evaluations=store.evaluations(),
        movements=[_movement(name, scores) for name, scores in movements.items()],
        solve_requests=asked,
        tokens=tokens,
        seconds=sum(step.metrics.get("time/step", 0.0) for step in steps),
    )


def _stage(store: Store, last: int) -> str:
    done = [stage for stage in STAGES if store.stage_done(last + 1, stage)]
    return f"stage ‘{done[-1]}’ of step {last + 1}" if done else (f"step {last}" if last else "nothing yet")


def _original(record: EnvironmentRecord) -> Entry:
    return Entry(
        id=record.id,
        name=record.name,
        state="pool" if record.active else "retired",
        step=0,
        environment_id=record.id,
        original=True,
        tags=record.tags,
        record=record,
    )


def _candidates(
    store: Store,
    step: int,
    gamma: float,
    environments: Mapping[str, EnvironmentRecord],
    tags: dict[str, frozenset[str]],
    consistent: dict[str, bool | None],
) -> Iterable[Entry]:
    reports, novelties, calibrations = store.reports(step), store.novelties(step), store.calibrations(step)
    decisions = {item.candidate_id: item for item in store.decisions(step)}
    for candidate in store.candidates(step):
        report, decision = reports.get(candidate.id), decisions.get(candidate.id)
        novelty, calibration = novelties.get(candidate.id), calibrations.get(candidate.id)
        record = environments.get(candidate.id)
        template = report.prompt_template if report else ""
        source = candidate.source or ""
        if record is not None:
            found = record.tags
        else:
            key = f"{template}\0{source}"
            if key not in tags:
                tags[key] = tags_of(template, source) if report and report.layer else frozenset()
            found = tags[key]
        passed = report is not None and report.passed
        if passed and source not in consistent:
            consistent[source] = read_environment(source).consistent
        yield Entry(
            id=candidate.id,
            name=(report.class_name if report else None) or candidate.id,
            state=_state(report, decision, record),
            step=step,
            environment_id=record.id if record else None,
            layer=report.layer if report else None,
            tags=found,
            codes=tuple(dict.fromkeys(finding.code for finding in report.findings)) if report else (),
            parents=candidate.parents,
            pass_rate=calibration.pass_rate if calibration else None,
            q_val=decision.q_val if decision else None,
            diversity=_diversity(decision, novelty, gamma),
            reward=decision.reward if decision else None,
            novelty=novelty,
            similarity_at_admission=decision.similarity_at_admission if decision else None,
            consistent=consistent[source] if passed else None,
            record=record,
        )


def _diversity(decision: Decision | None, novelty: Novelty | None, gamma: float) -> float | None:
    if decision is None or novelty is None or decision.layer < NOVELTY_FROM_LAYER:
        return None
    return gamma * novelty.novelty


def _state(report: ValidationReport | None, decision: Decision | None, record: EnvironmentRecord | None) -> str:
    if record is not None:
        return "pool" if record.active else "retired"
    if decision is not None and decision.reason != "layer":
        return "entering" if decision.admitted else decision.reason
    if report is not None and not report.passed:
        return f"l{report.layer + 1}"
    return "undecided"


def _step(
    number: int, finished: bool, entries: Sequence[Entry], metrics: Mapping[str, float], rewards: Mapping[str, float]
) -> Step:
    admitted = ("pool", "retired", "entering")
    fates = Counter("admitted" if entry.state in admitted else entry.state for entry in entries)
    groups: dict[GeneratorRequestId, list[float]] = {}
    for candidate_id, reward in rewards.items():
        groups.setdefault(CandidateId.parse(candidate_id).request, []).append(reward)
    decided = [entry for entry in entries if entry.q_val is not None]
    return Step(
        number=number,
        finished=finished,
        fates=fates,
        metrics=metrics,
        rewards=tuple(rewards.values()),
        quality=mean(entry.q_val or 0.0 for entry in decided),
        diversity=mean(entry.diversity or 0.0 for entry in decided),
        generator_zero_variance=mean(float(has_zero_variance(values)) for values in groups.values()),
    )


def _movement(name: str, scores: Mapping[int, Sequence[float]]) -> Movement:
    first, last = min(scores), max(scores)
    return Movement(
        name,
        first,
        mean(scores[first]) or 0.0,
        last,
        mean(scores[last]) or 0.0,
        sum(len(values) for values in scores.values()),
    )


def mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
