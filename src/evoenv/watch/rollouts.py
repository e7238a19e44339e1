"""Groups as documents: what the two roles were asked, with every response, score, advantage and, if kept, tokens."""

from __future__ import annotations

from evoenv.environment.answers import extract_answer, extract_source
from evoenv.models.token_texts import Decoder
from evoenv.runs.groups import GroupDetail, GroupQuery, GroupRow, Response, count_groups, read_group, read_group_rows
from evoenv.runs.view import RunView
from evoenv.watch.documents import Document, browser_length, clip, messages_document, seed_text

PIECES_AT_MOST = 20_000


def groups_document(view: RunView, query: GroupQuery, *, offset: int, limit: int) -> Document:
    """Describe some groups of a query, and say how many it has in all."""
    rows = read_group_rows(view.store, query, offset=offset, limit=limit)
    names = {record.id: record.name for record in view.environments()} if rows else {}
    return {
        "total": count_groups(view.store, query),
        "offset": offset,
        "rows": [_row(row, names.get(row.subject or "")) for row in rows],
    }


def group_document(view: RunView, request_id: str, decoder: Decoder | None, *, whole: bool = False) -> Document | None:
    """Describe one group with its texts; None if the run has no such group."""
    training = view.config.get("training", {})
    standardise = training.get("advantage_std", True) and training.get("aggregation") != "dr-grpo"
    detail = read_group(view.store, request_id, standardise=standardise)
    if detail is None:
        return None
    names = dict(view.store.query("SELECT id, name FROM environments WHERE id = ?", [detail.row.subject]))
    return {
        **_row(detail.row, names.get(detail.row.subject)),
        "messages": messages_document(detail.messages, whole=whole),
        "replies": [_response(detail, response, decoder, whole) for response in detail.responses],
    }


def _row(row: GroupRow, name: str | None) -> Document:
    return {
        "id": row.id,
        "step": row.step,
        "role": row.role,
        "subject": row.subject,
        "name": name,
        "seed": seed_text(row.seed),
        "difficulty": row.difficulty,
        "wanted": row.wanted,
        "responses": row.responses,
        "tokens": row.tokens,
        "reward": row.reward,
        "silent": row.silent,
    }


def _response(detail: GroupDetail, response: Response, decoder: Decoder | None, whole: bool) -> Document:
    text, rollout = response.text, response.rollout
    part = extract_answer(text) if detail.row.role == "solver" else extract_source(text)
    pieces = None
    if rollout is not None and decoder is not None and len(rollout.token_ids) <= PIECES_AT_MOST:
        pieces = decoder(rollout.token_ids)
    at = text.rfind(part) if part else -1
    return {
        "index": response.index,
        "text": clip(text, whole=whole),
        "part": [browser_length(text[:at]), browser_length(text[: at + len(part)])] if part and at >= 0 else None,
        "finish": response.finish_reason,
        "tokens": response.tokens,
        "version": response.version,
        "reward": response.reward,
        "advantage": response.advantage,
        "format_ok": response.format_ok,
        "failure": response.failure,
        "candidate": response.candidate_id,
        "logprobs": None if rollout is None else [round(value, 3) for value in rollout.logprobs[:PIECES_AT_MOST]],
        "pieces": pieces,
    }
