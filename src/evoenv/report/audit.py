"""The audit as a document of the page: the run in words, and the figures that the live overview does not draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from evoenv.report.charts import Cell, Figure, Panel, Table
from evoenv.report.overview import Overview
from evoenv.watch.documents import Document

ROWS_EMBEDDED = 500
"""Rows of a figure's table that the page has; its CSV has all."""
MARKS_EMBEDDED = 1000
"""Lines of a timeline or a lineage that the page draws."""
DRAWN_BY_THE_OVERVIEW = frozenset({"funnel", "funnel_by_step", "scores", "reward", "zero_variance", "pool"})


def audit_document(overview: Overview, figures: Sequence[Figure]) -> Document:
    """Put words and figures together; a figure without data says what is missing."""
    return {
        "lead": overview.lead,
        "notes": overview.notes,
        "tiles": overview.tiles,
        "paragraphs": [{"title": title, "lines": lines, "rows": rows} for title, lines, rows in overview.paragraphs],
        "figures": [figure_document(figure) for figure in figures if figure.key not in DRAWN_BY_THE_OVERVIEW],
    }


def figure_document(figure: Figure) -> Document:
    """Describe one figure with its panels and the beginning of its table."""
    return {
        "key": figure.key,
        "title": figure.title,
        "caption": figure.caption,
        "alt": figure.alt,
        "panels": [panel_document(panel) for panel in figure.panels],
        "table": table_document(figure.table),
    }


def panel_document(panel: Panel) -> Document:
    """Describe a panel; its kind is its class. Of very many lives the last are drawn, of too large a forest none."""
    document: dict[str, Any] = {"kind": type(panel).__name__.lower(), "left_out": 0, **asdict(panel)}
    if document["kind"] == "tree" and len(document["nodes"]) > MARKS_EMBEDDED:
        return {"kind": "omitted", "left_out": len(document["nodes"])}
    if document["kind"] == "spans" and len(document["spans"]) > MARKS_EMBEDDED:
        document["left_out"] = len(document["spans"]) - MARKS_EMBEDDED
        document["spans"] = document["spans"][-MARKS_EMBEDDED:]
    return document


def table_document(table: Table) -> Document:
    """Describe the numbers behind a figure, rounded for reading."""
    return {
        "columns": table.columns,
        "rows": [[_cell(value) for value in row] for row in table.rows[:ROWS_EMBEDDED]],
        "more": max(0, len(table.rows) - ROWS_EMBEDDED),
    }


def _cell(value: Cell) -> Cell:
    return round(value, 5) if isinstance(value, float) else value
