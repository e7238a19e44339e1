"""An audit as one offline page, and as one JSON document beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from evoenv import __version__
from evoenv.durable import write_bytes, write_document
from evoenv.suite_audit.verdicts import Verdict

PAGE, DOCUMENT = "audit.html", "audit.json"
ORDER = ("refused", "undecided", "not judged", "passed")

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c1c1c; }
h1 { font-size: 1.5rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; }
details { border-top: 1px solid #ddd; padding: .5rem 0; } summary { cursor: pointer; }
.refused { color: #a40000; } .passed { color: #1a6b1a; } .undecided, .not-judged { color: #8a6100; }
.code { font-weight: 600; } .dim { color: #666; }
pre { background: #f5f5f5; padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 .8rem; }
@media (prefers-color-scheme: dark) {
  body { background: #16181b; color: #e6e6e6; } pre { background: #22262b; } details { border-color: #333; }
  .refused { color: #ff8a80; } .passed { color: #8fd694; } .dim { color: #999; }
  .undecided, .not-judged { color: #e5b95c; }
}
"""


def summary(suite: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Count the verdicts of a suite: outcomes, layers, codes, families."""
    return {
        "suite": suite,
        "evoenv": __version__,
        "sets": len(verdicts),
        "outcomes": {
            outcome: count for outcome in ORDER if (count := sum(verdict.outcome == outcome for verdict in verdicts))
        },
        "layers": dict(
            sorted(Counter(f"L{verdict.layer}" for verdict in verdicts if verdict.layer is not None).items())
        ),
        "codes": dict(
            Counter(code for verdict in verdicts for code in {f["code"] for f in verdict.findings}).most_common()
        ),
        "families": dict(Counter(verdict.family for verdict in verdicts if verdict.family).most_common()),
    }


def write_pages(suite: str, verdicts: Sequence[Verdict], directory: Path) -> tuple[Path, Path]:
    """Write the page and the document; returns their paths."""
    facts = summary(suite, verdicts)
    document = {**facts, "verdicts": [asdict(verdict) | {"outcome": verdict.outcome} for verdict in verdicts]}
    write_document(directory / DOCUMENT, document)
    write_bytes(directory / PAGE, page(facts, verdicts).encode("utf-8", "backslashreplace"))
    return directory / PAGE, directory / DOCUMENT


def page(facts: dict[str, Any], verdicts: Sequence[Verdict]) -> str:
    title = f"Audit of {facts['suite']}"
    tables = (
        _table("Outcome", facts["outcomes"]) + _table("Finding", facts["codes"]) + _table("Scorer", facts["families"])
    )
    rows = "".join(_set(verdict) for outcome in ORDER for verdict in verdicts if verdict.outcome == outcome)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
        f"<h1>{escape(title)}</h1><p>{facts['sets']} sets, judged by EvoEnv {escape(facts['evoenv'])}. "
        f"Every line of evidence can be run as it stands.</p>{tables}"
        f"{rows}</html>\n"
    )


def _table(heading: str, counts: dict[str, int]) -> str:
    rows = "".join(f"<tr><td>{escape(name)}<td>{count}" for name, count in counts.items())
    return f"<table><tr><th>{heading}<th>Sets{rows}</table>" if rows else ""


def _set(verdict: Verdict) -> str:
    codes = ", ".join(dict.fromkeys(finding["code"] for finding in verdict.findings))
    level = "" if verdict.layer is None else f"L{verdict.layer}"
    facts = " · ".join(filter(None, (level, verdict.family or "", codes)))
    style = verdict.outcome.replace(" ", "-")
    heading = f'<span class="{style}">{verdict.outcome}</span> <b>{escape(verdict.name)}</b>'
    parts = [
        f'<details id="{escape(verdict.name)}">',
        f'<summary>{heading} <span class="dim">{escape(facts)}</span></summary>',
    ]
    for finding in verdict.findings:
        parts.append(
            f'<p><span class="code">{escape(finding["code"])}</span> {escape(finding["message"])}'
            f"<br>{escape(finding['hint'])}</p>"
        )
        if finding["replay"]:
            parts.append(f"<pre>{escape(finding['replay'])}</pre>")
    parts += [f'<p class="dim">{escape(note)}</p>' for note in verdict.notes]
    if verdict.instance_space:
        sizes = ", ".join(
            f"level {space['level']}: {'more than ' if space['at_least'] else 'about '}{space['size']:,}"
            for space in verdict.instance_space
        )
        parts.append(f'<p class="dim">Different instances: {escape(sizes)}.</p>')
    if verdict.play:
        parts.append(f"<pre>{escape(verdict.play)}</pre>")
    parts.append("</details>")
    return "".join(parts)
