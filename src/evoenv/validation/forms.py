"""Right answers as text: the plain forms that a prompt may ask for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Render = Callable[[Any], str | None]
"""Writes an answer in one form; None if the form does not fit the value."""


def scalar_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return repr(value)
    return str(value)


def plain_text(value: Any) -> str:
    """Write a value in the form to try first: text as it is, sequences joined by spaces, the rest by str()."""
    items = items_of(value)
    if items is not None and not any(isinstance(item, list | tuple | dict | set) for item in items):
        return " ".join(scalar_text(item) for item in items)
    return scalar_text(value)


def items_of(value: Any) -> list[Any] | None:
    if isinstance(value, set | frozenset):
        return sorted(value, key=lambda item: (str(type(item)), item if isinstance(item, int | float) else str(item)))
    if isinstance(value, list | tuple) or type(value).__name__ == "deque":
        return list(value)
    return None


def _joined(separator: str) -> Render:
    def render(value: Any) -> str | None:
        items = items_of(value)
        if items is None or any(items_of(item) is not None or isinstance(item, dict) for item in items):
            return None
        return separator.join(scalar_text(item) for item in items)

    return render


def _rows(outer: str, inner: str, frame: str = "{}") -> Render:
    def render(value: Any) -> str | None:
        items = items_of(value)
        if not items:
            return None
        rows = [items_of(item) for item in items]
        if any(row is None for row in rows):
            return None
        return outer.join(frame.format(inner.join(scalar_text(part) for part in row or ())) for row in rows)

    return render


def _pairs(outer: str, inner: str) -> Render:
    def render(value: Any) -> str | None:
        if not isinstance(value, dict):
            return None
        return outer.join(f"{scalar_text(key)}{inner}{plain_text(item)}" for key, item in value.items())

    return render


def _as_json(value: Any) -> str | None:
    if isinstance(value, set | frozenset):
        value = items_of(value)
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return None


def _word(true: str, false: str) -> Render:
    return lambda value: (true if value else false) if isinstance(value, bool) else None


def _decimals(places: int) -> Render:
    return lambda value: f"{value:.{places}f}" if isinstance(value, float) else None


def _as_tuple(value: Any) -> str | None:
    items = items_of(value)
    return None if items is None else str(tuple(items))


def _as_list(value: Any) -> str | None:
    items = items_of(value)
    return None if items is None else str([list(item) if isinstance(item, tuple) else item for item in items])


def _clock(separator: str) -> Render:
    """Make a form that writes numbers with two digits: 07:05."""

    def render(value: Any) -> str | None:
        items = items_of(value)
        if not items or any(type(item) is not int for item in items):
            return None
        return separator.join(f"{item:02d}" for item in items)

    return render


def _nothing(word: str) -> Render:
    return lambda value: word if value is None or value in ([], (), set(), {}) else None


def _latex_free(value: Any) -> str | None:
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else None


FORMS: tuple[Render, ...] = (
    plain_text,
    str,
    _joined(", "),
    _joined(","),
    _joined("\n"),
    _as_json,
    _as_list,
    _as_tuple,
    _joined(""),
    _joined(" -> "),
    _joined("->"),
    _joined("; "),
    _joined("-"),
    _joined(" | "),
    _rows("\n", " "),
    _rows("\n", ","),
    _rows("\n", ", "),
    _rows("\n", ""),
    _rows(" ", "-"),
    _rows(", ", "-"),
    _rows("\n", "-"),
    _rows(" ", ","),
    _rows("; ", ", "),
    _rows("; ", " "),
    _rows(";", ","),
    _rows(", ", " "),
    _rows(" ", " "),
    _rows(", ", ", ", "({})"),
    _rows(" ", ", ", "({})"),
    _rows(" ", ",", "({})"),
    _rows(",", ",", "({})"),
    _rows(", ", ",", "({})"),
    _rows("\n", ", ", "({})"),
    _rows("\n", " ", "({})"),
    _pairs("\n", ": "),
    _pairs(", ", ": "),
    _pairs(", ", "="),
    _pairs("\n", "="),
    _pairs("\n", " "),
    _pairs(" ", ":"),
    _pairs(" ", "="),
    _word("Yes", "No"),
    _word("yes", "no"),
    _word("YES", "NO"),
    _word("true", "false"),
    _word("TRUE", "FALSE"),
    _word("1", "0"),
    _decimals(2),
    _decimals(1),
    _decimals(3),
    _decimals(4),
    _decimals(6),
    _latex_free,
    _clock(":"),
    _joined(":"),
    _joined("/"),
    _joined(" / "),
    *(_nothing(word) for word in ("NONE", "none", "None", "empty", "EMPTY", "-", "[]", "no", "0", "-1")),
)


def _part(index: int, form: Render) -> Render:
    """Make a form of one part of a compound reference such as (best value, items) or {"value": …, "items": …}."""

    def render(value: Any) -> str | None:
        parts = list(value.values()) if isinstance(value, dict) else items_of(value)
        if parts is None or not 1 < len(parts) <= 4 or index >= len(parts):
            return None
        return form(parts[index])

    return render


PART_FORMS: tuple[Render, ...] = tuple(_part(index, form) for index in range(4) for form in FORMS[:16])
"""Tried only when no form of the whole scores 1."""
