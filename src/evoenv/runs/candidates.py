"""Candidates of a run: one small row each, found by step, fate, layer or finding, page by page; and all about one.

A run may hold a hundred thousand of them. A page reads its own rows and, of a table in between, those of the steps that
it touches; texts (responses, sources, prompts) are read for a single candidate alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from evoenv.errors import InputError
from evoenv.records import (
    Calibration,
    Decision,
    Message,
    Novelty,
    Recomputation,
    Review,
    Score,
    ValidationReport,
)
from evoenv.runs.funnel import LAYERS, STATES, state_of
from evoenv.store.packing import unpack_text
from evoenv.store.store import EnvironmentRecord, Purpose, Store

ORDERS = {
    "oldest": "-c.step, -c.grp, -c.idx",
    "reward": "(SELECT reward FROM decisions WHERE candidate_id = c.id)",
    "rate": "(SELECT pass_rate FROM calibrations WHERE candidate_id = c.id)",
    "novelty": "(SELECT novelty FROM novelties WHERE candidate_id = c.id)",
    "layer": "(SELECT layer FROM reports WHERE candidate_id = c.id)",
    "name": "coalesce((SELECT class_name FROM reports WHERE candidate_id = c.id), c.id) DESC",
}
"""What candidates can be put in order by. A list shows the last first: the newest, or the highest reward."""

Position: TypeAlias = tuple[int, int, int]
"""Where a candidate stands in a run: step, group, index."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list: an original environment, or a candidate."""

    id: str
    """The candidate's id; an original has its environment's."""
    name: str
    state: str
    """One of STATES."""
    step: int
    environment_id: str | None = None
    original: bool = False
    layer: int | None = None
    tags: frozenset[str] = frozenset()
    codes: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    pass_rate: float | None = None
    asymmetry: float | None = None
    """By how much programs do better than words; None if that was not measured."""
    q_val: float | None = None
    diversity: float | None = None
    reward: float | None = None
    novelty: Novelty | None = None
    similarity_at_admission: float | None = None
    consistent: bool | None = None
    """Whether the prompt asks for what the code computes, for a candidate at L5; None if that cannot be read, or was
    not asked for."""
    record: EnvironmentRecord | None = None
    group: int = 0
    index: int = 0

    @property
    def position(self) -> Position:
        """Where it stands in the run; pages go on from here."""
        return self.step, self.group, self.index


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """Which candidates are wanted; what is None does not matter."""

    step: int | None = None
    fate: str | None = None
    """One of STATES, or `admitted` for whatever has become of an admitted one."""
    layer: int | None = None
    """The highest layer passed."""
    code: str | None = None
    """Among the codes of its findings."""
    tag: str | None = None
    """Among the tags of the environment that it became; only admitted candidates have tags."""
    text: str | None = None
    """In its id, its class's name or its source, whatever the case."""

    def __post_init__(self) -> None:
        if self.fate is not None and self.fate not in (*STATES, "admitted"):
            raise InputError(f"the fate is {self.fate!r}; expected admitted or one of {', '.join(STATES)}")


@dataclass(frozen=True, slots=True)
class Page:
    """Some candidates of a query, in order."""

    entries: tuple[Entry, ...]
    total: int
    """How many candidates the query has in all."""
    next: Position | None
    """Give this as `after` to get the next page; None if this is the last."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A request with what it was answered: texts in the order of the samples, with what they earned if scored."""

    id: str
    step: int
    purpose: Purpose
    subject: str | None
    seed: int | None
    difficulty: int | None
    messages: tuple[Message, ...]
    replies: tuple[tuple[str, Score | None], ...]

    @property
    def prompt(self) -> str:
        """All that was asked, as one text."""
        return "".join(message.content for message in self.messages)


@dataclass(frozen=True, slots=True)
class History:
    """All that happened to one candidate."""

    entry: Entry
    prompt: tuple[Message, ...]
    """What the generator was asked."""
    response: str
    source: str | None
    report: ValidationReport | None
    reviews: tuple[Review, ...]
    review_prompt: tuple[Message, ...]
    recomputation: Recomputation | None
    programs: tuple[str, ...]
    """The responses with the programs that recomputed its answers."""
    calibration: Calibration | None
    calibration_requests: tuple[Answered, ...]
    decision: Decision | None

    @property
    def opinions(self) -> list[tuple[str, str]]:
        """Verdict and text of everything that judged the candidate's meaning: each review, and the recomputation."""
        given: list[tuple[str, str]] = [(review.verdict, review.text) for review in self.reviews]
        if self.recomputation is not None:
            given.append((self.recomputation.verdict, _recomputation_text(self.recomputation, self.programs)))
        return given


def _recomputation_text(recomputation: Recomputation, programs: Sequence[str]) -> str:
    """Write a recomputation down for people: how the programs did, the witness, and the programs."""
    parts = [f"Programs written from the prompt alone were run on {recomputation.instances} fresh instances."]
    witness = recomputation.witness
    if witness is not None:
        numbers = ", ".join(str(number + 1) for number in witness.programs)
        parts.append(
            f"Witness: seed {witness.seed}, difficulty {witness.difficulty}\n\n{witness.prompt}\n\n"
            f"The reference says {witness.reference}; programs {numbers} say {witness.answer}."
        )
    shares = (*recomputation.shares, *[0.0] * len(programs))
    parts += [f"Program {at + 1}, right on {shares[at]:.0%}:\n\n{text}" for at, text in enumerate(programs)]
    return "\n\n".join(parts)


# --------------------------------------------------------------------------- pages


def count_candidates(store: Store, query: CandidateQuery) -> int:
    """Count the candidates of a query."""
    tables, conditions, values, _ = _parts(query)
    return int(store.query(f"SELECT count(*) FROM {tables} WHERE {conditions}", values)[0][0])


def read_page(
    store: Store,
    query: CandidateQuery,
    *,
    after: Position | None = None,
    offset: int = 0,
    limit: int = 50,
    newest_first: bool = False,
) -> Page:
    """Read up to `limit` candidates of a query from the one after `after` on, by step, group and index.

    `offset` leaves out that many first; it reads them too, so `after` is faster far into a large run.
    """
    tables, conditions, values, step = _parts(query)
    sign, order = ("<", "DESC") if newest_first else (">", "ASC")
    if after is not None:
        # the step alone first: an index knows it
        conditions += f" AND {step} {sign}= ? AND (c.step, c.grp, c.idx) {sign} (?, ?, ?)"
        values = [*values, after[0], *after]
    rows = store.query(
        f"SELECT c.id, c.step, c.grp, c.idx FROM {tables} WHERE {conditions} "
        f"ORDER BY {step} {order}, c.grp {order}, c.idx {order} LIMIT ? OFFSET ?",
        [*values, limit + 1, offset],
    )
    return Page(
        entries=tuple(read_chosen(store, [row[0] for row in rows[:limit]])),
        total=count_candidates(store, query),
        next=tuple(rows[limit - 1][1:]) if len(rows) > limit else None,
    )


def candidate_ids(store: Store, query: CandidateQuery, order: str | None = None) -> list[str]:
    """Name all candidates of a query, by step, group and index, or first by one of ORDERS."""
    if order is not None and order not in ORDERS:
        raise InputError(f"there is no order {order!r}; expected one of {', '.join(ORDERS)}")
    tables, conditions, values, step = _parts(query)
    before = "" if order is None else f"{ORDERS[order]}, "
    rows = store.query(f"SELECT c.id FROM {tables} WHERE {conditions} ORDER BY {before}{step}, c.grp, c.idx", values)
    return [candidate_id for (candidate_id,) in rows]


def read_chosen(store: Store, candidate_ids: Sequence[str]) -> list[Entry]:
    """Read the rows of these candidates, in this order; ids that the run does not know are left out."""
    marks = ",".join("?" * len(candidate_ids))
    entries = {entry.id: entry for entry in _entries(store, f"c.id IN ({marks})", candidate_ids)}
    return [entries[candidate_id] for candidate_id in candidate_ids if candidate_id in entries]


def _parts(query: CandidateQuery) -> tuple[str, str, list[Any], str]:
    """Return tables, conditions, their values, and the column to order steps by.

    The most telling condition goes first, because its table has an index on it and the step.
    """
    conditions: list[tuple[str, str, Any]] = []
    if query.code is not None:
        conditions.append(("f", "f.code = ?", query.code))
    state = query.fate
    if state in LAYERS:
        conditions.append(("r", "r.layer = ?", LAYERS.index(state)))
    elif state == "judging":
        conditions.append(("r", "r.layer = ?", len(LAYERS)))
    elif state in ("admitted", "pool", "retired", "entering"):
        conditions.append(("d", "d.reason = ?", "admitted"))
    elif state is not None and state != "undecided":
        conditions.append(("d", "d.reason = ?", state))
    if query.layer is not None:
        conditions.append(("r", "r.layer = ?", query.layer))
    if query.step is not None:
        conditions.append(("c", "c.step = ?", query.step))
    first = conditions[0][0] if conditions else "c"
    names = {"f": "finding_codes", "r": "reports", "d": "decisions", "c": "candidates"}
    keys = {alias: "id" if alias == "c" else "candidate_id" for alias in names}
    needed = dict.fromkeys((first, "c", *(alias for alias, _, _ in conditions)))
    tables = f"{names[first]} {first}"
    for alias in list(needed)[1:]:
        tables += f" CROSS JOIN {names[alias]} {alias} ON {alias}.{keys[alias]} = {first}.{keys[first]}"
    outside = "NOT EXISTS (SELECT 1 FROM decisions WHERE candidate_id = c.id AND reason <> 'layer')"
    extra = dict.fromkeys(LAYERS, outside) | {
        "undecided": "NOT EXISTS (SELECT 1 FROM reports WHERE candidate_id = c.id) "
        "AND NOT EXISTS (SELECT 1 FROM decisions WHERE candidate_id = c.id)",
        "judging": "NOT EXISTS (SELECT 1 FROM decisions WHERE candidate_id = c.id)",
        "pool": "EXISTS (SELECT 1 FROM environments WHERE id = c.environment_id AND candidate_id = c.id AND active)",
        "retired": "EXISTS (SELECT 1 FROM environments WHERE id = c.environment_id AND candidate_id = c.id "
        "AND NOT active)",
        "entering": "NOT EXISTS (SELECT 1 FROM environments WHERE id = c.environment_id AND candidate_id = c.id)",
    }
    texts = [text for _, text, _ in conditions]
    values = [value for _, _, value in conditions]
    if query.tag is not None:
        texts.append(
            "EXISTS (SELECT 1 FROM environments t, json_each(t.tags) g WHERE t.id = c.environment_id "
            "AND t.candidate_id = c.id AND g.value = ?)"
        )
        values.append(query.tag)
    if query.text:
        texts.append(
            "(instr(lower(c.id), ?) OR EXISTS (SELECT 1 FROM reports t WHERE t.candidate_id = c.id "
            "AND instr(lower(t.class_name), ?)) OR EXISTS (SELECT 1 FROM sources t "
            "WHERE t.environment_id = c.environment_id AND text_holds(t.source, ?)))"
        )
        values += [query.text.lower()] * 3
    return tables, " AND ".join([*texts, extra.get(state or "", "1")]), values, f"{first}.step"


def read_entries(store: Store, step: int) -> list[Entry]:
    """Read the candidates of a step, by group and index; their tags only if they are in the pool."""
    return list(_entries(store, "c.step = ?", [step]))


def read_entry(store: Store, candidate_id: str) -> Entry | None:
    """Read the row of one candidate; None if the run has no such candidate."""
    return next(_entries(store, "c.id = ?", [candidate_id]), None)


def original_entry(record: EnvironmentRecord) -> Entry:
    """Make the line of an environment that the run was given: an original, or one that was imported with its past."""
    return Entry(
        id=record.id,
        name=record.name,
        state=state_of(None, None, active=record.active),
        step=record.admitted_step,
        environment_id=record.id,
        original=record.original,
        tags=record.tags,
        record=record,
    )


def _entries(store: Store, condition: str, values: Sequence[Any]) -> Iterator[Entry]:
    rows = store.query(
        "SELECT c.id, c.step, c.grp, c.idx, c.parents, r.layer, r.class_name, k.pass_rate, d.q_val, d.reward, "
        "d.reason, d.similarity_at_admission, n.similarity, n.novelty, n.batch_similarity, n.nearest, "
        "(SELECT json_group_array(json_array(f.position, f.code)) FROM finding_codes f WHERE f.candidate_id = c.id), "
        "a.value, e.id, e.name, e.active, e.admitted_step, e.retired_step, e.epochs, e.level, e.tags FROM candidates c "
        "LEFT JOIN reports r ON r.candidate_id = c.id LEFT JOIN calibrations k ON k.candidate_id = c.id "
        "LEFT JOIN asymmetries a ON a.candidate_id = c.id "
        "LEFT JOIN decisions d ON d.candidate_id = c.id LEFT JOIN novelties n ON n.candidate_id = c.id "
        "LEFT JOIN environments e ON e.id = c.environment_id AND e.candidate_id = c.id "
        f"WHERE {condition} ORDER BY c.step, c.grp, c.idx",
        values,
    )
    rule = reward_rule(store)
    for row in rows:
        candidate_id, step, group, index, parents, layer, class_name, pass_rate = row[:8]
        q_val, reward, reason, similarity = row[8:12]
        novelty = None if row[12] is None else Novelty(*row[12:16])
        record = None if row[18] is None else _record(candidate_id, row[18:])
        yield Entry(
            id=candidate_id,
            name=class_name or candidate_id,
            state=state_of(layer, reason, active=None if record is None else record.active),
            step=step,
            environment_id=record.id if record else None,
            layer=layer,
            tags=record.tags if record else frozenset(),
            codes=tuple(code for _, code in sorted(json.loads(row[16]))),
            parents=tuple(json.loads(parents)),
            pass_rate=pass_rate,
            asymmetry=row[17],
            q_val=q_val,
            diversity=diversity_of(rule, q_val, reward),
            reward=reward,
            novelty=novelty,
            similarity_at_admission=similarity,
            record=record,
            group=group,
            index=index,
        )


def _record(candidate_id: str, row: Sequence[Any]) -> EnvironmentRecord:
    identity, name, active, admitted_step, retired_step, epochs, level, tags = row
    return EnvironmentRecord(
        id=identity,
        name=name,
        original=False,
        active=bool(active),
        candidate_id=candidate_id,
        admitted_step=admitted_step,
        retired_step=retired_step,
        epochs=epochs,
        level=level,
        tags=frozenset(json.loads(tags)),
    )


def reward_rule(store: Store) -> str:
    """Return how the generator is paid in this run (`generator.reward`)."""
    return str((store.meta("config") or {}).get("generator", {}).get("reward", "full"))


def diversity_of(rule: str, q_val: float | None, reward: float | None) -> float | None:
    """Compute what novelty paid: the reward beyond its quality; None for what was not decided.

    Not γ·N, which rules that pay some candidates alike (`gated`, `proven`) do not always give.
    """
    if q_val is None or reward is None:
        return None
    return reward if rule == "without-quality" else reward - q_val


# --------------------------------------------------------------------------- one candidate


def read_history(store: Store, candidate_id: str) -> History | None:
    """Read all that happened to a candidate; None if the run has no such candidate."""
    entry = read_entry(store, candidate_id)
    if entry is None:
        return None
    ((request_id, response, source),) = store.query(
        "SELECT c.request_id, s.text, e.source FROM candidates c "
        "LEFT JOIN samples s ON s.request_id = c.request_id AND s.idx = c.idx "
        "LEFT JOIN sources e ON e.environment_id = c.environment_id WHERE c.id = ?",
        [candidate_id],
    )
    scores = store.query("SELECT scores, pass_rate FROM calibrations WHERE candidate_id = ?", [candidate_id])
    decisions = store.query(
        "SELECT layer, q_val, reward, admitted, reason, similarity_at_admission FROM decisions WHERE candidate_id = ?",
        [candidate_id],
    )
    reviewed = read_all_answered(store, "review", candidate_id)
    texts = [text for request in reviewed for text, _ in request.replies]
    recomputed = store.query("SELECT data FROM recomputations WHERE candidate_id = ?", [candidate_id])
    verdicts = store.query("SELECT idx, verdict FROM reviews WHERE candidate_id = ? ORDER BY idx", [candidate_id])
    return History(
        entry=entry,
        prompt=store.request_messages(request_id),
        response="" if response is None else unpack_text(response),
        source=None if source is None else unpack_text(source),
        report=store.report(candidate_id),
        reviews=tuple(Review(verdict, texts[at] if at < len(texts) else "") for at, verdict in verdicts),
        review_prompt=reviewed[0].messages if reviewed else (),
        recomputation=msgspec.json.decode(recomputed[0][0], type=Recomputation) if recomputed else None,
        programs=tuple(
            text for request in read_all_answered(store, "recompute", candidate_id) for text, _ in request.replies
        ),
        calibration=Calibration(tuple(json.loads(scores[0][0])), scores[0][1]) if scores else None,
        calibration_requests=tuple(read_all_answered(store, "calibrate", candidate_id)),
        decision=None if not decisions else _decision(candidate_id, *decisions[0]),
    )


def _decision(
    candidate_id: str, layer: int, q_val: float, reward: float, admitted: int, reason: str, similarity: float | None
) -> Decision:
    return Decision(candidate_id, layer, q_val, reward, bool(admitted), reason, similarity)


def request_ids(store: Store, purpose: Purpose, subject: str) -> list[str]:
    """Name what was asked for a purpose about a candidate, an environment or a problem, oldest first."""
    rows = store.query(
        "SELECT id FROM requests WHERE subject = ? AND purpose = ? ORDER BY step, length(id), id", [subject, purpose]
    )
    return [request_id for (request_id,) in rows]


def read_answered(store: Store, request_id: str) -> Answered | None:
    """Read a request with its answers; None if the run has no such request."""
    rows = store.query("SELECT step, purpose, subject, seed, difficulty FROM requests WHERE id = ?", [request_id])
    if not rows:
        return None
    step, purpose, subject, seed, difficulty = rows[0]
    messages, replies = store.request_messages(request_id), tuple(store.replies(request_id))
    return Answered(request_id, step, purpose, subject, seed, difficulty, messages, replies)


def read_all_answered(store: Store, purpose: Purpose, subject: str) -> list[Answered]:
    """Read all that was asked for a purpose about a subject, with the answers; oldest first."""
    requests = (read_answered(store, request_id) for request_id in request_ids(store, purpose, subject))
    return [request for request in requests if request is not None]
