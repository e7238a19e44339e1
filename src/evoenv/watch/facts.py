"""What a run was made with and what happened in it: configuration, versions, events, the findings explained."""

from __future__ import annotations

from evoenv.runs.funnel import STATES
from evoenv.runs.view import RunView
from evoenv.validation.codes import CODES
from evoenv.watch.documents import Document

EVENTS_AT_MOST = 500


def configuration_document(view: RunView) -> Document:
    """Describe the configuration by section, the versions, and the meaning of every finding that the run has."""
    return {
        "config": view.config,
        "versions": view.versions,
        "created": view.created,
        "states": STATES,
        "findings": [
            {"code": code, "meaning": meaning, "hint": hint, "count": counts}
            for counts_by_code in [view.finding_counts(view.progress().step)]
            for code, (meaning, hint) in CODES.items()
            for counts in [counts_by_code.get(code, 0)]
        ],
    }


def events_document(view: RunView, before: int | None = None) -> Document:
    """Describe the newest events, or those before an event, newest first."""
    rows = view.store.query(
        "SELECT id, at, step, kind, substr(data, 1, 2000) FROM events WHERE id < ? ORDER BY id DESC LIMIT ?",
        [before if before is not None else 1 << 62, EVENTS_AT_MOST],
    )
    return {
        "events": [
            {"id": number, "at": at, "step": step, "kind": kind, "data": data} for number, at, step, kind, data in rows
        ],
        "more": len(rows) == EVENTS_AT_MOST,
    }
