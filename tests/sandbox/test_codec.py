"""Values survive the trip through JSON, types included, or are refused with the path of the offender."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.sandbox.guest import codec

keys = st.one_of(st.integers(-5, 5), st.text(max_size=3), st.booleans(), st.tuples(st.integers(0, 3)))
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8), st.binary(max_size=6)
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.sets(keys, max_size=4),
        st.frozensets(keys, max_size=3),
        st.lists(inner, max_size=3).map(deque),
    ),
    max_leaves=20,
)


def same(left: Any, right: Any) -> bool:
    """Equal, and of equal types all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return len(left) == len(right) and all(
            same(a, c) and same(b, d) for (a, b), (c, d) in zip(left.items(), right.items(), strict=True)
        )
    if isinstance(left, list | tuple | deque):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


@given(values)
def test_a_round_trip_through_json_text_keeps_values_and_types(value: Any) -> None:
    text = json.dumps(codec.encode(value), allow_nan=False)
    assert same(codec.decode(json.loads(text)), value)


@pytest.mark.parametrize(
    "value",
    [
        Counter("abca"), OrderedDict(b=1, a=2), defaultdict(list, {1: [2]}), defaultdict(None, {1: 2}), range(2, 9, 3),
        {"~": 1}, complex(1, -2), math.inf, {1: {2: (3, {4})}}, bytearray(b"x"),
    ],
)  # fmt: skip
def test_the_rarer_types_survive_too(value: Any) -> None:
    assert same(codec.decode(json.loads(json.dumps(codec.encode(value)))), value)


def test_not_a_number_survives() -> None:
    assert math.isnan(codec.decode(codec.encode(math.nan)))


def test_equal_sets_have_equal_encodings() -> None:
    assert codec.encode({"b", "a", "c"}) == codec.encode({"c", "b", "a"})


Point = namedtuple("Point", "x y")


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"points": [Point(1, 2)]}, "value['points'][0] is a Point"),
        ([lambda: 1], "value[0] is a function"),
        ([10**5000], "bits"),
        ("\ud800", "lone surrogate"),
        (_nested(60), "nested deeper"),
        (defaultdict(lambda: 3), "factory of its own"),
        ([0] * 70_000, "parts"),
        (True.__class__, "is a type"),
    ],
)
def test_what_would_not_come_back_is_refused_with_its_path(value: Any, part: str) -> None:
    with pytest.raises(codec.NotSerialisable) as caught:
        codec.encode(value)
    assert part in str(caught.value)


def test_a_subclass_cannot_smuggle_its_own_equality() -> None:
    class Liar(int):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    with pytest.raises(codec.NotSerialisable):
        codec.encode(Liar(3))
