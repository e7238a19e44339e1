"""One HTML file out of a run: static words and figures, one block of data, one script, one style sheet.

Candidate text is hostile: it may hold `</script>`, markup, event handlers, control characters. Three walls keep it
text: static parts are escaped here; the data block has no `<`, `>` or `&` at all; and the script only ever sets text,
never markup. A fourth stands behind them: the content security policy runs no script but the one whose hash it names,
and allows no request whatsoever.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

from evoenv import __version__
from evoenv.report.charts import PALETTE, Cell, Figure, Table
from evoenv.report.overview import Overview
from evoenv.report.reading import Details, RunData
from evoenv.report.svg import draw
from evoenv.runs.candidates import Entry
from evoenv.runs.funnel import STATES
from evoenv.validation.codes import CODES

LISTED_AT_MOST = 20_000
ROWS_EMBEDDED = 500
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_FIELDS = (
    "id name state step layer tags codes parents rate quality diversity reward similarity nearest batch "
    "entry_similarity original environment epochs level admitted retired"
).split()
SECTIONS = (
    ("proposing", "Proposing", ("funnel", "funnel_by_step", "rejections")),
    ("learning", "Learning", ("scores", "reward", "zero_variance", "pass_rates")),
    ("pool", "The pool", ("pool", "tags", "lineage", "rotation", "lifetimes", "overlap")),
)


def render(data: RunData, figures: Sequence[Figure], details: Details, overview: Overview) -> str:
    """Make the whole page."""
    style, script = _asset("report.css").replace("/* palette */", _palette()), _asset("report.js")
    block = safe_json(_payload(data, figures, details))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    by_key = {figure.key: figure for figure in figures}
    name = escape(data.directory.rstrip("/").rpartition("/")[2] or data.directory)
    sections = "".join(_section(key, title, [by_key[name] for name in keys]) for key, title, keys in SECTIONS)
    links = "".join(
        f'<a href="#{key}">{title}</a>'
        for key, title in [
            *((key, title) for key, title, _ in SECTIONS),
            ("environments", "Environments"),
            ("configuration", "Configuration"),
        ]
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{name} – EvoEnv report</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#environments">Skip to the environments</a>
<header>
<div class="bar"><p class="brand">EvoEnv <span>report</span></p>
<nav aria-label="Sections">{links}</nav>
<button id="theme" type="button" aria-label="Colour theme: automatic">Theme: auto</button></div>
</header>
<main>
{_overview(name, overview)}
{sections}
{_list(data, details)}
{_configuration(data)}
</main>
<footer><p>Made by EvoEnv {escape(__version__)} on {escape(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()))} from
<code>{escape(data.directory)}</code>. This file needs no network; the PNG and CSV of every figure stand in
<code>figures/</code> beside it.</p></footer>
<div id="tip" role="tooltip" hidden></div>
<noscript><p class="noscript">Summary and figures need no script; the list of environments does.</p></noscript>
<script id="data" type="application/json">{block}</script>
<script>{script}</script>
</body>
</html>
"""


def safe_json(value: Any) -> str:
    """Write JSON that cannot end the script block it stands in, whatever the strings hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda unsafe: f"\\u{ord(unsafe[0]):04x}", text)


def _asset(name: str) -> str:
    return (resources.files("evoenv.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def _palette() -> str:
    def block(index: int) -> str:
        return "".join(f"--{name}:{shades[index]};" for name, shades in PALETTE.items())

    classes = "".join(f".f-{name}{{fill:var(--{name})}}.s-{name}{{stroke:var(--{name})}}" for name in PALETTE)
    return (
        f":root{{{block(0)}}}@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{block(1)}}}}}"
        f":root[data-theme=dark]{{{block(1)}}}{classes}"
    )


# --------------------------------------------------------------------------- the data block


def _payload(data: RunData, figures: Sequence[Figure], details: Details) -> dict[str, Any]:
    listed = listed_entries(data)
    adaptive = data.config.get("solver", {}).get("difficulty_rule") == "adaptive"
    used = {code for entry in listed for code in entry.codes}
    return {
        "fields": list(_FIELDS),
        "entries": [_row(entry, adaptive) for entry in listed],
        "details": {entry.id: details.by_entry[entry.id] for entry in listed if entry.id in details.by_entry},
        "sources": details.sources,
        "states": STATES,
        "codes": {code: CODES[code][0] for code in sorted(used) if code in CODES},
        "names": {record.id: [record.name, record.candidate_id or record.id] for record in data.environments},
        "tables": {figure.key: _table(figure.table) for figure in figures},
    }


def listed_entries(data: RunData) -> list[Entry]:
    """Return all entries, or as many as a page holds: whatever was admitted, and the newest of the rest."""
    if len(data.entries) <= LISTED_AT_MOST:
        return data.entries
    inside = sum(entry.record is not None for entry in data.entries)
    skip = len(data.entries) - max(LISTED_AT_MOST, inside)
    listed = []
    for entry in data.entries:
        if entry.record is None and skip > 0:
            skip -= 1
        else:
            listed.append(entry)
    return listed


def _row(entry: Entry, adaptive: bool) -> list[Any]:
    novelty, record = entry.novelty, entry.record
    return [
        entry.id,
        entry.name,
        entry.state,
        entry.step,
        entry.layer,
        sorted(entry.tags),
        list(entry.codes),
        list(entry.parents),
        _rounded(entry.pass_rate),
        _rounded(entry.q_val),
        _rounded(entry.diversity),
        _rounded(entry.reward),
        _rounded(novelty.similarity) if novelty else None,
        novelty.nearest if novelty else None,
        _rounded(novelty.batch_similarity) if novelty else None,
        _rounded(entry.similarity_at_admission),
        int(entry.original),
        entry.environment_id,
        record.epochs if record else None,
        record.level if record and adaptive else None,
        record.admitted_step if record else None,
        record.retired_step if record else None,
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _table(table: Table) -> dict[str, Any]:
    return {
        "columns": list(table.columns),
        "rows": [[_cell(value) for value in row] for row in table.rows[:ROWS_EMBEDDED]],
        "more": max(0, len(table.rows) - ROWS_EMBEDDED),
    }


def _cell(value: Cell) -> Cell:
    return round(value, 5) if isinstance(value, float) else value


# --------------------------------------------------------------------------- the static parts


def _overview(name: str, overview: Overview) -> str:
    tiles = "".join(
        f'<div class="tile"><dt>{escape(label)}</dt><dd>{escape(value)}<small>{escape(note)}</small></dd></div>'
        for label, value, note in overview.tiles
    )
    notes = "".join(f'<p class="note" role="note">{escape(note)}</p>' for note in overview.notes)
    words = "".join(
        f"<div><h2>{escape(title)}</h2>{''.join(f'<p>{escape(line)}</p>' for line in lines)}{_rows(rows)}</div>"
        for title, lines, rows in overview.paragraphs
    )
    return (
        f'<section id="summary" aria-labelledby="title"><h1 id="title">{name}</h1>'
        f'<p class="lead">{escape(overview.lead)}</p>{notes}<dl class="tiles">{tiles}</dl>'
        f'<div class="words">{words}</div></section>'
    )


def _rows(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head, *body = rows
    cells = "".join(f"<th scope='col'>{escape(text)}</th>" for text in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in body)
    return (
        f'<div class="scroll"><table class="plain"><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>'
    )


def _section(key: str, title: str, figures: Sequence[Figure]) -> str:
    inside = "".join(map(_figure, figures))
    return f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">{title}</h2>{inside}</section>'


def _figure(figure: Figure) -> str:
    if not figure.panels:
        body, data = '<p class="empty">Nothing to draw.</p>', ""
    else:
        body = (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(figure.title)}">{draw(figure)}</div>'
        )
        data = f'<details class="data" data-table="{figure.key}"><summary>The numbers as a table</summary></details>'
    return (
        f'<figure id="{figure.key}"><figcaption><h3>{escape(figure.title)}</h3>'
        f"<p>{escape(figure.caption)}</p></figcaption>{body}{data}</figure>"
    )


def _list(data: RunData, details: Details) -> str:
    notes = []
    listed = len(listed_entries(data))
    if listed < len(data.entries):
        notes.append(
            f"Listed are {listed:,} of {len(data.entries):,} entries: all that were admitted and the newest of the "
            "rest. The file candidates.csv has all of them."
        )
    shown = len(details.by_entry)
    if details.left_out:
        notes.append(
            f"To keep this file small, sources and texts are embedded for {shown:,} of {len(data.entries):,} entries, "
            "some of every fate, the newest first. The rest is in the run's store."
        )
    lines = "".join(f'<p class="note" role="note">{escape(note)}</p>' for note in notes)
    return f"""<section id="environments" aria-labelledby="environments-h">
<h2 id="environments-h">Environments and candidates</h2>
{lines}
<form id="filters" role="search" aria-label="Filter the list">
<label>Search<input id="query" type="search" autocomplete="off" spellcheck="false"
placeholder="name, finding, tag or source"></label>
<label>State<select id="state"><option value="">All</option></select></label>
<label>Tag<select id="tag"><option value="">All</option></select></label>
<label>Sort by<select id="sort">
<option value="newest">Newest first</option><option value="oldest">Oldest first</option>
<option value="reward">Reward</option><option value="rate">Pass rate</option>
<option value="novel">Novelty</option><option value="layer">Layer reached</option><option value="name">Name</option>
</select></label>
<button id="clear" type="reset">Clear</button>
</form>
<p id="count" role="status" aria-live="polite"></p>
<div id="list"></div>
<button id="more" type="button" hidden>Show more</button>
</section>"""


def _configuration(data: RunData) -> str:
    parts = []
    for section, values in data.config.items():
        if isinstance(values, Mapping):
            rows = "".join(
                f"<tr><th scope='row'>{escape(str(key))}</th><td><code>{escape(json.dumps(value, ensure_ascii=False))}"
                "</code></td></tr>"
                for key, value in values.items()
            )
            parts.append(f"<div><h3>{escape(str(section))}</h3><table>{rows}</table></div>")
    rows = "".join(
        f"<tr><th scope='row'>{escape(str(name))}</th><td><code>{escape(str(value))}</code></td></tr>"
        for name, value in data.versions.items()
    )
    parts.append(f"<div><h3>versions</h3><table>{rows}</table></div>")
    return (
        '<section id="configuration" aria-labelledby="configuration-h">'
        '<h2 id="configuration-h">Configuration and versions</h2>'
        f'<p class="lead">As the run has resolved them.</p><div class="settings">{"".join(parts)}</div></section>'
    )
