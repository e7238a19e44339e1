"""Asking for what is missing: nothing twice, nothing lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from evoenv.asking import ask_for_missing, keys_of, missing_request
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.errors import PolicyError
from evoenv.records import Message, Request, Sample


def request(request_id: str, count: int) -> Request:
    return Request(request_id, "solver", (Message("user", "?"),), count=count)


def test_a_request_is_cut_down_to_what_is_missing() -> None:
    whole = request("a", 3)
    assert missing_request(whole, ()) is whole
    assert missing_request(whole, {("a", 0), ("a", 1), ("a", 2)}) is None
    rest = missing_request(whole, {("a", 1), ("b", 0)})
    assert rest is not None
    assert (rest.count, rest.wanted) == (3, (0, 2))
    assert keys_of(rest) == [("a", 0), ("a", 2)]
    assert keys_of(whole) == [("a", 0), ("a", 1), ("a", 2)]


def test_a_policy_gives_what_is_missing_once() -> None:
    policy = ScriptedPolicy({"solver": "yes"})
    kept = {("a", 0), ("b", 0), ("b", 1)}
    samples = ask_for_missing(policy.sample, [request("a", 2), request("b", 2), request("c", 1)], kept, "again")
    assert [(sample.request_id, sample.index) for sample in samples] == [("a", 1), ("c", 0)]


def test_nobody_is_asked_for_nothing() -> None:
    def ask(requests: Sequence[Request]) -> Iterator[Sample]:
        raise AssertionError(requests)

    assert list(ask_for_missing(ask, [request("a", 1)], {("a", 0)}, "again")) == []


def test_what_is_drawn_again_or_twice_is_passed_over() -> None:
    drawn = [("a", 0), ("a", 1), ("a", 1), ("other", 0), ("a", 2)]

    def ask(requests: Sequence[Request]) -> Iterator[Sample]:
        return iter([Sample(name, index, f"{name}{index}") for name, index in drawn])

    samples = ask_for_missing(ask, [request("a", 3)], {("a", 0)}, "again")
    assert [sample.text for sample in samples] == ["a1", "a2"]


def test_what_a_policy_leaves_out_is_named_after_all_else_is_given() -> None:
    def ask(requests: Sequence[Request]) -> Iterator[Sample]:
        return iter([Sample("a", 1, "yes")])

    samples = ask_for_missing(ask, [request("a", 2), request("b", 1)], (), "try again")
    assert next(samples).text == "yes"
    with pytest.raises(PolicyError, match="left 2 samples out, the first is number 0 of a; try again"):
        next(samples)
