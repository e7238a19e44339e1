"""Python values as plain JSON values and back, without loss.

JSON forgets the difference between a tuple and a list, between `{1: 2}` and `{"1": 2}`; an instance that
was stored and read back would then render or score differently. Values that JSON cannot say are tagged:
`{"~": "tuple", "v": [...]}`. What cannot survive the trip (objects, named tuples, functions, numbers of
thousands of digits) is refused here, with the path to the offender.

Used on both sides: the worker encodes, the host compares encoded values only.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 40
MAX_NODES = 60_000
MAX_PROMPT = 200_000
"""Characters of a rendered prompt, which goes the same way."""
MAX_INT_BITS = 13_000
"""About 3,900 decimal digits: below CPython's own limit for converting integers to text."""

_FACTORIES: dict[str, Callable[[], Any]] = {
    kind.__name__: kind for kind in (int, float, str, bool, list, dict, set, tuple, Counter, deque)
}


class NotSerialisable(ValueError):
    """A value that would not come back from storage as it was."""


def encode(value: Any) -> Any:
    """Return the plain form of `value`; raise NotSerialisable with the path of what cannot be kept."""
    return _encode(value, "value", 0, [MAX_NODES])


def _encode(value: Any, path: str, depth: int, budget: list[int]) -> Any:
    kind = type(value)
    budget[0] -= 1
    if budget[0] < 0:
        raise NotSerialisable(f"more than {MAX_NODES} parts")
    if kind is int:
        if value.bit_length() > MAX_INT_BITS:
            raise NotSerialisable(f"{path} is an integer of {value.bit_length()} bits (limit {MAX_INT_BITS})")
        return value
    if value is None or kind is bool:
        return value
    if kind is str:
        if not value.isascii():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                raise NotSerialisable(f"{path} is text with a lone surrogate") from None
        return value
    if kind is float:
        return value if math.isfinite(value) else {"~": "float", "v": repr(value)}
    if depth >= MAX_DEPTH:
        raise NotSerialisable(f"nested deeper than {MAX_DEPTH} at {path[:80]}")
    depth += 1
    if kind is list:
        return [_encode(item, f"{path}[{i}]", depth, budget) for i, item in enumerate(value)]
    if kind is dict:
        if all(type(key) is str and key != "~" for key in value):
            return {key: _encode(item, f"{path}[{key!r}]", depth, budget) for key, item in value.items()}
        return {"~": "dict", "v": _pairs(value, path, depth, budget)}
    if kind in (tuple, deque):
        parts = [_encode(item, f"{path}[{i}]", depth, budget) for i, item in enumerate(value)]
        return {"~": kind.__name__, "v": parts}
    if kind in (set, frozenset):
        # Sets have no order: sort by the encoded text, so that equal sets have equal encodings.
        parts = sorted((_encode(item, f"{path}{{}}", depth, budget) for item in value), key=repr)
        return {"~": kind.__name__, "v": parts}
    if kind in (Counter, OrderedDict):
        return {"~": kind.__name__, "v": _pairs(value, path, depth, budget)}
    if kind is defaultdict:
        factory = value.default_factory
        name = None if factory is None else getattr(factory, "__name__", "?")
        if name is not None and _FACTORIES.get(name) is not factory:
            raise NotSerialisable(f"{path} is a defaultdict with a factory of its own; return dict(...) of it")
        return {"~": "defaultdict", "f": name, "v": _pairs(value, path, depth, budget)}
    if kind is range:
        return {"~": "range", "v": [value.start, value.stop, value.step]}
    if kind is complex:
        return {
            "~": "complex",
            "v": [_encode(value.real, path, depth, budget), _encode(value.imag, path, depth, budget)],
        }
    if kind in (bytes, bytearray):
        return {"~": kind.__name__, "v": value.hex()}
    raise NotSerialisable(f"{path} is a {kind.__name__}; use numbers, text, lists, tuples, dicts or sets")


def _pairs(value: dict[Any, Any], path: str, depth: int, budget: list[int]) -> list[Any]:
    return [
        [_encode(key, f"key of {path}", depth, budget), _encode(item, f"{path}[{key!r}]", depth, budget)]
        for key, item in value.items()
    ]


def decode(plain: Any) -> Any:
    """Return the value that `encode` was given."""
    kind = type(plain)
    if kind is list:
        return [decode(item) for item in plain]
    if kind is not dict:
        return plain
    tag = plain.get("~")
    if tag is None:
        return {key: decode(item) for key, item in plain.items()}
    body = plain["v"]
    if tag == "float":
        return float(body)
    if tag in ("bytes", "bytearray"):
        raw = bytes.fromhex(body)
        return raw if tag == "bytes" else bytearray(raw)
    if tag == "range":
        return range(*body)
    if tag == "complex":
        return complex(decode(body[0]), decode(body[1]))
    if tag in _SEQUENCES:
        return _SEQUENCES[tag]([decode(item) for item in body])
    pairs = {decode(key): decode(item) for key, item in body}
    if tag == "defaultdict":
        return defaultdict(None if plain["f"] is None else _FACTORIES[plain["f"]], pairs)
    return _MAPPINGS[tag](pairs)


_SEQUENCES: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
}
_MAPPINGS: dict[str, Callable[[dict[Any, Any]], Any]] = {"dict": dict, "Counter": Counter, "OrderedDict": OrderedDict}
