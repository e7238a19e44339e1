"""One HTML file out of a run: the same page as the server's, with the documents inside; it opens from disk.

Texts of the model cannot leave the block of data: it holds no `<`, `>` or `&`. The page's own policy runs no script but
the one whose hash it names, and allows no request whatsoever.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from evoenv.durable import replace_file
from evoenv.environment.files import short
from evoenv.errors import InputError
from evoenv.runs.candidates import CandidateQuery
from evoenv.runs.groups import GroupQuery
from evoenv.watch.documents import Document, encode
from evoenv.watch.folder import RunFolder
from evoenv.watch.reader import PAGE_AT_MOST, Reader
from evoenv.watch.server import asset

TEXT_BUDGET = 12_000_000
"""Characters of texts that a file carries."""
ROWS_AT_MOST = 20_000
"""Candidates, and groups, that are listed: the newest."""
SHARES = {"environment": 0.3, "candidate": 0.8, "group": 1.0}
"""How much of the budget may be used up when each kind is done; what one leaves over, the next may use."""


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A file that was written, and what it carries."""

    path: Path
    size: int
    candidates: int
    """Candidates that are listed."""
    with_texts: int
    """Those of them whose texts are inside."""


def write_page(directory: Path, path: Path, budget: int = TEXT_BUDGET) -> WrittenPage:
    """Write the page of one run."""
    reader = Reader(RunFolder(directory))
    name, _ = reader.folder.find(None)
    data = collect(reader, name, budget)
    text = render(name, data)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, [text.encode("utf-8")])
    except OSError as error:
        raise InputError(f"cannot write {short(path)}: {error.strerror or error}; choose another place") from error
    return WrittenPage(path, len(text), len(data["candidates"]), len(data["candidate"]))


def collect(reader: Reader, run: str, budget: int) -> Document:
    """Read every document that the page may ask for, as far as the budget of texts goes."""
    candidates = _all_rows(lambda offset: reader.candidates(run, CandidateQuery(), offset=offset, limit=PAGE_AT_MOST))
    groups = _all_rows(lambda offset: reader.groups(run, GroupQuery(), offset=offset, limit=PAGE_AT_MOST))
    environments = reader.environments(run)
    documents = {
        "runs": {"directory": run, "runs": [{"name": run, "changed": 0, "running": False}]},
        "overview": reader.overview(run),
        "environments": environments,
        "map": reader.landscape(run),
        "configuration": reader.configuration(run),
        "events": reader.events(run),
    }
    newest = sorted(candidates, key=lambda row: row["environment"] is None)  # the admitted first; the sort is stable
    wanted: dict[str, tuple[list[str], Callable[[str], Document]]] = {
        "environment": (
            [row["id"] for row in reversed(environments["environments"])],
            lambda identity: reader.environment(run, identity),
        ),
        "candidate": ([row["id"] for row in newest], lambda identity: reader.candidate(run, identity)),
        "group": ([row["id"] for row in groups], lambda identity: reader.group(run, identity)),
    }
    left, details = budget, dict[str, dict[str, Document]]()
    for kind, (ids, read) in wanted.items():
        details[kind], used = _within(ids, read, left - round(budget * (1 - SHARES[kind])))
        left -= used
    return {
        "written": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "documents": documents,
        "candidates": candidates[::-1],
        "groups": groups[::-1],
        **details,
    }


def _all_rows(read: Callable[[int], Document]) -> list[Document]:
    """Read the newest rows of a list, newest first."""
    rows: list[Document] = []
    total = int(read(0)["total"])
    for offset in range(max(0, total - ROWS_AT_MOST), total, PAGE_AT_MOST):
        rows += read(offset)["rows"]
    return rows[::-1]


def _within(ids: Iterable[str], read: Callable[[str], Document], budget: int) -> tuple[dict[str, Document], int]:
    """Read documents until their texts are larger than the budget; what they take."""
    documents, used = dict[str, Document](), 0
    for identity in ids:
        if used >= budget:
            break
        document = read(identity)
        size = len(encode(document))
        if used + size <= budget:
            documents[identity] = document
            used += size
    return documents, used


def render(run: str, data: Document) -> str:
    """Make the whole file."""
    style, script = asset("app.css").decode("utf-8"), asset("app.js").decode("utf-8").replace("</script", "<\\/script")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    block = encode(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{escape(run)} – EvoEnv</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript><p>This page needs JavaScript.</p></noscript>
<script id="data" type="application/json">{block}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
