"""Groups of a run: what the solver and the generator were asked, and every response with its score and advantage.

A list reads one small row per group; texts, and log-probabilities as far as they are kept, are read for a single one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from evoenv.ids import GeneratorRequestId
from evoenv.objective import group_advantages, has_zero_variance
from evoenv.records import Message, Rollout
from evoenv.store.packing import unpack_rollout, unpack_text
from evoenv.store.store import Store

GroupRole: TypeAlias = Literal["solver", "generator"]
_PURPOSES: dict[GroupRole, str] = {"solver": "solve", "generator": "generate"}
_ROLES: dict[str, GroupRole] = {purpose: role for role, purpose in _PURPOSES.items()}


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """Which groups are wanted; what is None does not matter."""

    role: GroupRole | None = None
    step: int | None = None
    subject: str | None = None
    """The environment that the solver was drawn on."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One line of a list of groups."""

    id: str
    step: int
    role: GroupRole
    subject: str | None
    seed: int | None
    difficulty: int | None
    wanted: int
    """Responses that were asked for."""
    responses: int
    """Responses that are there."""
    tokens: int
    reward: float | None
    """The mean of what is scored; None before anything is."""
    silent: bool | None
    """Whether all responses earned the same, so that the group trains nothing; None before all are scored."""


@dataclass(frozen=True, slots=True)
class Response:
    """One response of a group, with all that training knows of it."""

    index: int
    text: str
    finish_reason: str
    tokens: int
    version: int
    """Of the policy: how many updates it had seen."""
    reward: float | None
    advantage: float | None
    format_ok: bool | None
    failure: str | None
    candidate_id: str | None
    """The candidate that a generator's response is."""
    rollout: Rollout | None
    """Tokens and log-probabilities, until a checkpoint makes them needless."""


@dataclass(frozen=True, slots=True)
class GroupDetail:
    """A group with its texts."""

    row: GroupRow
    messages: tuple[Message, ...]
    responses: tuple[Response, ...]


def _conditions(query: GroupQuery) -> tuple[str, list[Any]]:
    texts, values = ["q.purpose IN ('solve', 'generate')"], list[Any]()
    if query.role is not None:
        texts, values = ["q.purpose = ?"], [_PURPOSES[query.role]]
    if query.step is not None:
        texts.append("q.step = ?")
        values.append(query.step)
    if query.subject is not None:
        texts.append("q.subject = ?")
        values.append(query.subject)
    return " AND ".join(texts), values


def count_groups(store: Store, query: GroupQuery) -> int:
    """Count the groups of a query."""
    conditions, values = _conditions(query)
    return int(store.query(f"SELECT count(*) FROM requests q WHERE {conditions}", values)[0][0])


def read_group_rows(store: Store, query: GroupQuery, *, offset: int = 0, limit: int = 50) -> list[GroupRow]:
    """Read some groups of a query, by step and id."""
    conditions, values = _conditions(query)
    rows = store.query(
        f"SELECT q.id FROM requests q WHERE {conditions} ORDER BY q.step, q.id LIMIT ? OFFSET ?",
        [*values, limit, offset],
    )
    return _rows(store, [request_id for (request_id,) in rows])


def _rows(store: Store, ids: Sequence[str]) -> list[GroupRow]:
    marks = ",".join("?" * len(ids))
    rows = store.query(
        "SELECT q.id, q.step, q.purpose, q.subject, q.seed, q.difficulty, q.count, count(s.idx), "
        "coalesce(sum(s.tokens), 0) FROM requests q LEFT JOIN samples s ON s.request_id = q.id "
        f"WHERE q.id IN ({marks}) GROUP BY q.id ORDER BY q.step, q.id",
        ids,
    )
    rewards = _scores(store, ids) | _generator_rewards(
        store, [(row[0], row[6]) for row in rows if row[2] == "generate"]
    )
    return [
        GroupRow(
            id=request_id,
            step=step,
            role=_ROLES[purpose],
            subject=subject,
            seed=seed,
            difficulty=difficulty,
            wanted=wanted,
            responses=responses,
            tokens=tokens,
            reward=sum(values) / len(values) if values else None,
            silent=has_zero_variance(values) if len(values) == wanted else None,
        )
        for request_id, step, purpose, subject, seed, difficulty, wanted, responses, tokens in rows
        for values in [rewards.get(request_id, [])]
    ]


def _scores(store: Store, ids: Sequence[str]) -> dict[str, list[float]]:
    """Read what the responses to these requests scored."""
    scores: dict[str, list[float]] = {}
    marks = ",".join("?" * len(ids))
    for request_id, value in store.query(f"SELECT request_id, value FROM scores WHERE request_id IN ({marks})", ids):
        scores.setdefault(request_id, []).append(value)
    return scores


def _generator_rewards(store: Store, asked: Sequence[tuple[str, int]]) -> dict[str, list[float]]:
    """Read what the candidates (or questions) of these requests earned; `asked` has each with how many it wanted."""
    request_of = {
        str(GeneratorRequestId.parse(request_id).candidate(index)): request_id
        for request_id, wanted in asked
        for index in range(wanted)
    }
    rewards: dict[str, list[float]] = {}
    names = list(request_of)
    for start in range(0, len(names), 400):
        part = names[start : start + 400]
        marks = ",".join("?" * len(part))
        for candidate_id, reward in store.query(
            f"SELECT candidate_id, reward FROM decisions WHERE candidate_id IN ({marks}) UNION ALL "
            f"SELECT question_id, reward FROM question_decisions WHERE question_id IN ({marks})",
            [*part, *part],
        ):
            rewards.setdefault(request_of[candidate_id], []).append(reward)
    return rewards


def read_group(store: Store, request_id: str, *, standardise: bool = True) -> GroupDetail | None:
    """Read one group with its texts; None if the run has no such group.

    `standardise`: whether the run divides advantages by the standard deviation of the group.
    """
    rows = store.query(
        "SELECT 1 FROM requests WHERE id = ? AND purpose IN ('solve', 'generate')", [request_id]
    ) and _rows(store, [request_id])
    if not rows:
        return None
    row = rows[0]
    candidates = _candidates(store, row)
    samples = store.query(
        "SELECT s.idx, s.text, s.finish_reason, s.tokens, s.version, c.value, c.format_ok, c.failure, r.data "
        "FROM samples s LEFT JOIN scores c ON c.request_id = s.request_id AND c.idx = s.idx "
        "LEFT JOIN rollouts r ON r.request_id = s.request_id AND r.idx = s.idx WHERE s.request_id = ? ORDER BY s.idx",
        [request_id],
    )
    rewards = [candidates[sample[0]][1] if sample[0] in candidates else sample[5] for sample in samples]
    advantages: list[float | None] = [None] * len(rewards)
    trains = [index for index, sample in enumerate(samples) if sample[2] != "error"]  # as training leaves them out
    if trains and len(samples) == row.wanted and all(rewards[index] is not None for index in trains):
        values = group_advantages([cast(float, rewards[index]) for index in trains], std=standardise)
        for index, value in zip(trains, values, strict=True):
            advantages[index] = value
    responses = tuple(
        Response(
            index=index,
            text=unpack_text(text),
            finish_reason=finish_reason,
            tokens=tokens,
            version=version,
            reward=reward,
            advantage=advantage,
            format_ok=None if format_ok is None else bool(format_ok),
            failure=failure,
            candidate_id=candidates[index][0] if index in candidates else None,
            rollout=None if data is None else unpack_rollout(data),
        )
        for (index, text, finish_reason, tokens, version, _, format_ok, failure, data), reward, advantage in zip(
            samples, rewards, advantages, strict=True
        )
    )
    return GroupDetail(row, store.request_messages(request_id), responses)


def _candidates(store: Store, row: GroupRow) -> dict[int, tuple[str, float | None]]:
    """Name the candidates (or questions) of a generator's group and what they earned, by index."""
    if row.role != "generator":
        return {}
    rewards = store.generator_rewards(row.step)
    request = GeneratorRequestId.parse(row.id)
    names = ((index, str(request.candidate(index))) for index in range(row.wanted))
    return {index: (candidate_id, rewards.get(candidate_id)) for index, candidate_id in names}
