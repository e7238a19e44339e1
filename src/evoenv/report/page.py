"""One HTML file out of a run: the page of `evoenv watch` with its documents inside; it opens from disk.

A page that a browser opens smoothly cannot hold every text of a long run; the run itself does. Texts are chosen within
a budget, some of every fate, and each is stored once; what is left out is counted, and the page says so.

Texts of the model cannot leave the block of data: it holds no `<`, `>` or `&`. The page's own policy runs no script but
the one whose hash it names, and allows no request whatsoever.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import Any

from evoenv.report.audit import audit_document
from evoenv.report.charts import Figure
from evoenv.report.overview import Overview
from evoenv.report.reading import RunData
from evoenv.runs.candidates import Entry
from evoenv.runs.groups import GroupQuery
from evoenv.runs.view import RunView
from evoenv.watch.bundle import asset
from evoenv.watch.candidates import candidate_document
from evoenv.watch.documents import Document, encode, entry_row
from evoenv.watch.environments import Relations, environment_document, environments_document
from evoenv.watch.facts import configuration_document, events_document
from evoenv.watch.landscape import map_document
from evoenv.watch.overview import overview_document
from evoenv.watch.rollouts import group_document, groups_document

TEXT_BUDGET = 12_000_000
"""Characters of texts that a file carries: parsed in a fraction of a second, and a file that mail still takes."""
ROWS_AT_MOST = 20_000
"""Candidates, and groups, that are listed."""
SHARES = {"environment": 0.3, "candidate": 0.8, "group": 1.0}
"""How much of the budget may be used up when each kind is done; what one leaves over, the next may use."""
SHARED_FROM = 200
"""Texts of at least this length are stored once and referred to: a prompt is the same for its whole group."""


def collect(
    view: RunView, data: RunData, name: str, overview: Overview, figures: Sequence[Figure], budget: int = TEXT_BUDGET
) -> Document:
    """Make every document that the page may ask for, as far as the budget of texts goes."""
    entries = [entry for entry in data.entries if entry.id != entry.environment_id]
    listed = listed_entries(entries)
    groups = groups_document(view, GroupQuery(), offset=0, limit=0)
    left_out = max(0, int(groups["total"]) - ROWS_AT_MOST)
    groups = groups_document(view, GroupQuery(), offset=left_out, limit=ROWS_AT_MOST)
    environments = environments_document(view)
    rows = {entry.id: rounded(entry_row(entry)) for entry in listed}
    relations = Relations.of(view)

    def candidate(candidate_id: str) -> Document | None:
        history = view.candidate(candidate_id)
        if history is None:
            return None
        document = candidate_document(view, history)
        return {name: value for name, value in document.items() if name not in rows[candidate_id]}

    wanted: dict[str, tuple[Iterable[str], Callable[[str], Document | None]]] = {
        "environment": (
            [row["id"] for row in reversed(environments["environments"])],
            lambda identity: environment_document(view, identity, relations=relations),
        ),
        "candidate": ([entry.id for entry in by_turns(listed)], candidate),
        "group": ([row["id"] for row in reversed(groups["rows"])], lambda key: group_document(view, key, None)),
    }
    left, texts, details = budget, Texts(), dict[str, dict[str, Document]]()
    for kind, (ids, read) in wanted.items():
        details[kind], used = _within(ids, read, texts, left - round(budget * (1 - SHARES[kind])))
        left -= used
    return {
        "written": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "documents": {
            "runs": {"directory": name, "runs": [{"name": name, "changed": 0, "running": False}]},
            "overview": overview_document(view, name, view.store.directory, data.steps),
            "audit": audit_document(overview, figures),
            "environments": environments,
            "map": map_document(view),
            "configuration": configuration_document(view),
            "events": events_document(view),
        },
        "totals": {"candidate": len(entries), "environment": len(data.environments), "group": groups["total"]},
        "candidates": list(rows.values()),
        "groups": groups["rows"],
        "texts": texts.kept,
        **details,
    }


def rounded(row: Document) -> Document:
    """Write the numbers of a row as precisely as a page shows them: there may be twenty thousand rows."""
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


def listed_entries(entries: Sequence[Entry]) -> list[Entry]:
    """Return all entries, or as many as a page lists: whatever was admitted, and the newest of the rest."""
    skip = len(entries) - max(ROWS_AT_MOST, sum(entry.record is not None for entry in entries))
    listed = []
    for entry in entries:
        if entry.record is None and skip > 0:
            skip -= 1
        else:
            listed.append(entry)
    return listed


def by_turns(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield one entry of each fate in turn, newest first, and four of those that were admitted."""
    queues: dict[str, list[Entry]] = {}
    for entry in entries:
        queues.setdefault("pool" if entry.record is not None else entry.state, []).append(entry)
    ordered = sorted(queues.items(), key=lambda item: item[0] != "pool")
    while any(queue for _, queue in ordered):
        for name, queue in ordered:
            for _ in range(4 if name == "pool" else 1):
                if queue:
                    yield queue.pop()


class Texts:
    """Long texts, each kept once; documents refer to them by number."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self._numbers: dict[str, int] = {}

    def share(self, value: Any) -> Any:
        """Replace the long texts of a document (`{"text", "length"}`) by references (`{"ref", "length"}`)."""
        if isinstance(value, dict):
            if value.keys() == {"text", "length"} and len(value["text"]) >= SHARED_FROM:
                return {"ref": self._number(value["text"]), "length": value["length"]}
            return {key: self.share(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.share(item) for item in value]
        return value

    def _number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.kept)
            self.kept.append(text)
        return self._numbers[text]

    def forget(self, count: int) -> None:
        """Keep the first `count` texts alone: the document that brought the others did not fit."""
        for text in self.kept[count:]:
            del self._numbers[text]
        del self.kept[count:]


def _within(
    ids: Iterable[str], read: Callable[[str], Document | None], texts: Texts, budget: int
) -> tuple[dict[str, Document], int]:
    """Read documents until they and their texts are larger than the budget; return them and what they take."""
    documents, used = dict[str, Document](), 0
    for identity in ids:
        if used >= budget:
            break
        before = len(texts.kept)
        document = texts.share(read(identity))
        size = len(encode(document)) + sum(map(len, texts.kept[before:]))
        if document is not None and used + size <= budget:
            documents[identity] = document
            used += size
        else:
            texts.forget(before)
    return documents, used


def render(run: str, data: Document) -> str:
    """Make the whole file."""
    style, script = asset("app.css").decode("utf-8"), asset("app.js").decode("utf-8").replace("</script", "<\\/script")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{escape(run)} – EvoEnv report</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript><p>This page needs JavaScript.</p></noscript>
<script id="data" type="application/json">{safe_json(data)}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def safe_json(value: Any) -> str:
    """Write JSON that cannot end the script block it stands in, whatever the strings hold."""
    return encode(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
