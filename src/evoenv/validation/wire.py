"""A second look at what a worker sent: its shape is checked before any of it is believed.

The protocol lets only JSON through, but the candidate shares its process with the code that writes it and
can send any JSON it likes. Whatever does not look like an honest result becomes a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evoenv.sandbox.outcomes import Failed, Ok, Outcome, is_encoded, is_prompt


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e9


def _is_instance(value: Any) -> bool:
    return (
        type(value) is list
        and len(value) == 4
        and is_prompt(value[0])
        and is_encoded(value[2])
        and type(value[3]) is bool
    )


def _is_perturbed(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and is_prompt(value[0]) and is_encoded(value[1])


def _is_parsed(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and value[0] in ("value", "opaque")


def _is_roundtrip(value: Any) -> bool:
    return type(value) is list and len(value) == 4 and _is_number(value[2]) and _is_number(value[3])


def _is_draws(value: Any) -> bool:
    return (
        type(value) is list
        and len(value) == 3
        and all(type(part) is int and 0 <= part < 10**9 for part in value[:2])
        and type(value[2]) is list
        and all(type(part) is str for part in value[2])
    )


SHAPES: dict[str, Callable[[Any], bool]] = {
    "instances": _is_instance,
    "score": _is_number,
    "swapped": _is_number,
    "parse": _is_parsed,
    "roundtrip": _is_roundtrip,
    "perturbed": _is_perturbed,
    "draws": _is_draws,
}


def checked(op: str, outcome: Outcome) -> Outcome:
    """Return the outcome, or a failure if its value does not have the operation's shape."""
    if isinstance(outcome, Ok) and not SHAPES[op](outcome.value):
        return Failed("protocol", f"the result of {op} is too large, or not of the shape that an honest worker sends")
    return outcome


def checked_description(description: dict[str, Any]) -> dict[str, Any]:
    """Return what loading said, without entries that are not of the expected type."""
    kinds = {"class": str, "dialect": str, "template": str, "levels": int}
    return {key: value for key, value in description.items() if type(value) is kinds.get(key)}
