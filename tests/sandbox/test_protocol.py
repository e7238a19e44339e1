"""Bytes from a worker: whatever arrives, the host gets plain values or a ProtocolError, quickly."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.sandbox import protocol
from evoenv.sandbox.protocol import Budget, OversizeError, ProtocolError, ReplyReader
from tests.effort import assert_linear

NONCE = "c0ffee" * 5 + "ab"

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def reply(results: list[Any], *, end: bool = True, nonce: str = NONCE, **extra: Any) -> bytes:
    message: dict[str, Any] = {"n": nonce, "r": results, **({"end": True} if end else {}), **extra}
    return frame(json.dumps(message).encode())


def read(data: bytes, expected: int = 1, limit: int = 1 << 20) -> ReplyReader:
    reader = ReplyReader(NONCE, expected, Budget(limit))
    reader.feed(data)
    return reader


@given(st.lists(plain, max_size=5), st.integers(1, 7))
def test_results_survive_any_cutting_into_chunks(values: list[Any], size: int) -> None:
    reader = ReplyReader(NONCE, len(values), Budget(1 << 20))
    data = reply(values)
    size = max(size, len(data) // 2000)  # a reply in more pieces than that is refused
    for start in range(0, len(data), size):
        reader.feed(data[start : start + size])
    assert reader.done
    assert reader.results == values


@given(st.binary(max_size=300))
def test_random_bytes_never_raise_anything_but_a_protocol_error(data: bytes) -> None:
    reader = ReplyReader(NONCE, 3, Budget(4096))
    try:
        reader.feed(data)
    except ProtocolError:
        return
    assert not reader.results


@given(st.lists(plain, min_size=1, max_size=4), st.data())
def test_a_damaged_frame_is_refused_or_still_plain(values: list[Any], data: st.DataObject) -> None:
    good = bytearray(reply(values))
    position = data.draw(st.integers(0, len(good) - 1))
    good[position] = data.draw(st.integers(0, 255))
    reader = ReplyReader(NONCE, len(values), Budget(4096))
    try:
        reader.feed(bytes(good))
    except ProtocolError:
        return
    json.dumps(reader.results, allow_nan=False, ensure_ascii=False).encode()


@given(st.lists(plain, min_size=1, max_size=4), st.integers(1, 60))
def test_a_truncated_frame_is_only_unfinished(values: list[Any], missing: int) -> None:
    reader = read(reply(values)[:-missing], len(values))
    assert not reader.done
    assert reader.results == []


@given(st.binary(max_size=200))
def test_the_body_of_a_frame_may_be_anything(body: bytes) -> None:
    try:
        read(frame(body))
    except ProtocolError:
        return
    pytest.fail("random bytes carried the nonce")


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "[[1e400]]", "9" * 310 + ".0", "[1E309]"]
)
def test_numbers_that_are_not_finite_are_refused(text: str) -> None:
    with pytest.raises(ProtocolError, match=r"not JSON|not finite"):
        protocol.decode(text.encode())


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20)), st.booleans())
def test_numbers_are_the_same_in_the_fast_and_in_the_careful_parser(values: list[float], careful: bool) -> None:
    data = json.dumps([*values, *([1e300] if careful else [])]).encode()
    assert protocol.check_shape(data).plain is ("e" not in data.decode())
    assert protocol.decode(data)[: len(values)] == values


@pytest.mark.parametrize("text", ["1e5", "1E5", "1.e5", "9" * 310 + ".5", "9" * 310, "0.1e+7"])
def test_numbers_that_might_be_infinite_are_parsed_with_care(text: str) -> None:
    assert not protocol.check_shape(f'["e",true,{text}]'.encode()).plain
    assert protocol.check_shape(f'["{text}",true,false,null,1.5]'.encode()).plain


def test_a_lone_surrogate_is_refused_and_a_pair_is_not() -> None:
    with pytest.raises(ProtocolError, match="surrogate"):
        protocol.decode(rb'["\ud83d"]')
    assert protocol.decode(rb'["\ud83d\ude00"]') == ["😀"]
    assert protocol.decode(rb'["\\ud83d"]') == ["\\ud83d"]


def test_nesting_is_bounded_before_the_recursive_parser() -> None:
    deep = b"[" * protocol.MAX_DEPTH + b"]" * protocol.MAX_DEPTH
    protocol.decode(deep)
    with pytest.raises(ProtocolError, match="nested deeper"):
        protocol.decode(b"[" + deep + b"]")
    with pytest.raises(ProtocolError, match="nested deeper"):
        protocol.decode(b'{"a":' * 161 + b"1" + b"}" * 161)


def test_brackets_and_quotes_inside_text_do_not_count_as_nesting() -> None:
    value = ["[" * 500, '"{[' * 300, "\\", '\\"', "]" * 7]
    assert protocol.decode(json.dumps(value).encode()) == value


@given(plain)
def test_the_shape_check_accepts_all_shallow_json(value: Any) -> None:
    protocol.check_shape(json.dumps(value).encode())
    protocol.check_shape(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def test_integers_beyond_the_interpreters_limit_are_refused() -> None:
    assert protocol.decode(b"9" * 4000) == int("9" * 4000)
    with pytest.raises(ProtocolError, match="digits"):
        protocol.decode(b"9" * 10_001)


def test_integers_stay_bounded_where_the_interpreters_limit_is_lifted() -> None:
    kept = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(0)
        assert protocol.decode(b"9" * 9000) == int("9" * 9000)
        with pytest.raises(ProtocolError, match="integer of 1000000 digits"):
            protocol.decode(b"9" * 1_000_000)
    finally:
        sys.set_int_max_str_digits(kept)


def test_too_many_values_are_refused_for_the_memory_they_would_take() -> None:
    with pytest.raises(ProtocolError, match="more than"):
        protocol.decode(b"[" + b"[]," * 1_000_000 + b"[]]")


@pytest.mark.parametrize("size", [protocol.MAX_VALUES - 64, 1 << 20])
@pytest.mark.parametrize("unit", [b"\\", b'"', b"[", b"{", b'\\"', b"[]", b",", b"\\u", b"1", b"e"])
def test_hostile_bytes_are_judged_in_linear_time(unit: bytes, size: int) -> None:
    def judge(data: bytes) -> None:
        with pytest.raises(ProtocolError):
            protocol.decode(data)

    assert_linear(judge, (unit * size)[:size])


def test_the_wrong_nonce_is_refused() -> None:
    with pytest.raises(ProtocolError, match="wrong nonce"):
        read(reply([1], nonce="0" * 32))


def test_more_results_than_items_are_refused() -> None:
    with pytest.raises(ProtocolError, match="2 results to 1 items"):
        read(reply([1, 2]))


def test_fewer_results_than_items_are_refused_at_the_end() -> None:
    with pytest.raises(ProtocolError, match="ended after 1 results to 2 items"):
        read(reply([1]), expected=2)


def test_bytes_after_the_final_frame_are_refused() -> None:
    with pytest.raises(ProtocolError, match="after its final frame"):
        read(reply([1]) + b"x")


def test_an_empty_frame_that_ends_nothing_is_refused() -> None:
    with pytest.raises(ProtocolError, match="empty frame"):
        read(reply([], end=False))


def test_the_byte_budget_is_for_all_frames_of_a_call() -> None:
    part = reply(["x" * 400], end=False)
    reader = ReplyReader(NONCE, 9, Budget(1000))
    reader.feed(part)
    reader.feed(part)
    with pytest.raises(OversizeError):
        reader.feed(part)


def test_a_giant_announcement_is_refused_by_its_header_alone() -> None:
    with pytest.raises(OversizeError, match="announced 4294967295 bytes"):
        read(b"\xff\xff\xff\xff")


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b"{}",
        b'{"n":"%s","r":{}}' % NONCE.encode(),
        b'{"n":"%s","r":[],"end":1}' % NONCE.encode(),
        b'{"n":"%s","r":[1],"end":true,"more":1}' % NONCE.encode(),
        b'{"n":"%s","error":["a"],"end":true}' % NONCE.encode(),
        b'{"n":"%s","error":["a","b"]}' % NONCE.encode(),
        b'{"n":"%s","error":[1,2],"end":true}' % NONCE.encode(),
    ],
)
def test_frames_of_another_shape_are_refused(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        read(frame(body))


def test_an_error_frame_keeps_the_results_before_it() -> None:
    reader = read(reply([1], error=["SystemExit", "0"]), expected=3)
    assert reader.done
    assert reader.results == [1]
    assert reader.error == ("SystemExit", "0")


def test_nonces_are_long_and_never_repeat() -> None:
    nonces = {protocol.new_nonce() for _ in range(1000)}
    assert len(nonces) == 1000
    assert {len(nonce) for nonce in nonces} == {32}


def test_exact_floats_come_back() -> None:
    for value in (0.1, 1e-320, 5e-324, 1.7976931348623157e308, -0.0):
        assert protocol.decode(repr(value).encode()) == value
    assert math.copysign(1, protocol.decode(b"-0.0")) == -1
