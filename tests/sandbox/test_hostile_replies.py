"""What one call can cost the host, whatever its worker sends: time, memory and patience all have an end."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import pytest

from evoenv.sandbox import protocol
from evoenv.sandbox.guest import shape
from evoenv.sandbox.host import Failed, Limits, Ok, Sandbox
from evoenv.sandbox.protocol import Budget, ProtocolError, ReplyReader

NONCE = "c0ffee" * 5 + "ab"
REPLY_BYTES = Limits().reply_mb << 20
VALUES = shape.MAX_VALUES


def array(item: bytes, structure: int) -> bytes:
    """As many of an item as one call may send; `structure` of brackets, commas and colons each."""
    return b"[" + b",".join([item] * min(REPLY_BYTES // (len(item) + 1) - 64, VALUES // structure - 64)) + b"]"


def text(body: bytes) -> bytes:
    return b'["' + body * (REPLY_BYTES // len(body) - 64) + b'"]'


ACCEPTED: dict[str, Callable[[], bytes]] = {
    "lists 140 deep": lambda: array(b"[" * 140 + b"]" * 140, 281),
    "objects": lambda: array(b'{"":0}', 4),
    "one large object": lambda: b"{" + b",".join(b'"%06x":0' % i for i in range(VALUES // 2 - 64)) + b"}",
    "floats that round": lambda: array(b"2.4703282292062327208e-324", 1),
    "integers of 4,000 digits": lambda: array(b"9" * 4000, 1),
    "texts": lambda: array('"ŀŀŀŀ"'.encode(), 1),
    "one wide character": lambda: text(b"a")[:-2] + '😀"]'.encode(),
    "escaped surrogates": lambda: text(b"\\ud83d\\ude00"),
    "escaped backslashes": lambda: text(b"\\\\"),
}
REFUSED: dict[str, Callable[[], bytes]] = {
    "a tower": lambda: b"[" * (REPLY_BYTES // 2) + b"]" * (REPLY_BYTES // 2),
    "a small tower": lambda: b"[" * (VALUES // 2) + b"]" * (VALUES // 2),
    "a saw": lambda: array(b"[" * 170 + b"]" * 170, 341),
    "commas": lambda: b"," * REPLY_BYTES,
    "quotes": lambda: b'"' * REPLY_BYTES,
    "texts without anything between": lambda: b"[" + b'""' * (REPLY_BYTES // 2) + b"]",
}


@pytest.mark.parametrize("name", [*ACCEPTED, *REFUSED])
def test_a_call_of_the_largest_size_costs_well_under_a_second(name: str) -> None:
    data = (ACCEPTED | REFUSED)[name]()
    start = time.process_time()
    if name in ACCEPTED:
        protocol.decode(data)
    else:
        with pytest.raises(ProtocolError, match=r"more than 500,000 values|nested deeper|not acceptable"):
            protocol.decode(data)
    assert time.process_time() - start < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lists 140 deep", "one wide character", "a tower", "quotes"])
def test_a_call_of_the_largest_size_takes_little_memory(name: str) -> None:
    data = (ACCEPTED | REFUSED)[name]()
    tracemalloc.start()
    try:
        if name in ACCEPTED:
            protocol.decode(data)
        else:
            with pytest.raises(ProtocolError):
                protocol.decode(data)
        assert tracemalloc.get_traced_memory()[1] < 120 << 20
    finally:
        tracemalloc.stop()


def frame(results: bytes, end: bytes = b"") -> bytes:
    body = b'{"n":"%s","r":%s%s}' % (NONCE.encode(), results, end)
    return len(body).to_bytes(4, "big") + body


def test_the_budget_of_values_is_for_all_frames_and_all_workers_of_a_call() -> None:
    budget = Budget(REPLY_BYTES)
    third = frame(b"[[" + b"0," * (VALUES // 3) + b"0]]")
    first = ReplyReader(NONCE, 9, budget)
    first.feed(third)
    first.feed(third)
    with pytest.raises(ProtocolError, match="more than 500,000 values"):
        ReplyReader(NONCE, 9, budget).feed(third)


def test_a_reply_that_trickles_in_is_refused() -> None:
    reader = ReplyReader(NONCE, 1, Budget(REPLY_BYTES))
    data = frame(b'["' + b"x" * 10_000 + b'"]')
    for index in range(4098):  # two for the result, the rest to spare
        reader.feed(data[index : index + 1])
    with pytest.raises(ProtocolError, match="trickles"):
        reader.feed(data[4098:])


def test_a_bracket_in_text_is_no_structure() -> None:
    outside = shape.outside_text(rb'{"a[":["\"]",1],"\\":{}}')
    assert outside == b"{:[,1],:{}}"
    assert shape.structure_of(outside) == b"{:[,],:{}}"
    assert shape.values_in(b"[" + b"0," * VALUES + b"0]") == VALUES + 1


FORGER = """
import sys
serve = sys.modules["evoenv.sandbox.guest.serve"]
honest = serve.Server._answer

def answer(self, request):
    if request["op"] == "load":
        return honest(self, request)
    count = len(request["items"])
    for index in range(count):
        end = ', "end": true' if index == count - 1 else ""
        body = ('{"n": "%s", "r": [["ok", %s]]%s}' % (request["n"], request["items"][index], end)).encode()
        self._write(len(body).to_bytes(4, "big") + body)

serve.Server._answer = answer
"""


def test_forged_frames_share_one_budget(raw: Sandbox) -> None:
    third = "[" + "[]," * (VALUES // 9) + "0]"
    with raw.open(FORGER) as worker:
        start = time.process_time()
        outcomes = worker.call("x", [third] * 4, stop_on_death=False)
        assert time.process_time() - start < 0.9
    assert [type(outcome) for outcome in outcomes] == [Ok, Ok, Failed, Failed]
    assert all(outcome.kind == "protocol" for outcome in outcomes if isinstance(outcome, Failed))


def test_an_honest_result_of_too_many_values_is_an_error_of_its_own(raw: Sandbox) -> None:
    with raw.open("def many(count): return [0] * count") as worker:
        small, large, after = worker.call("many", [10, VALUES + 10, 20])
        assert (small, after) == (Ok([0] * 10), Ok([0] * 20))
        assert isinstance(large, Failed)
        assert large.kind == "oversize"
        assert f"may send {VALUES} in all" in large.message
        assert worker.restarts == 0


def test_many_honest_results_after_a_full_reply_are_still_answered(raw: Sandbox) -> None:
    with raw.open("def text(size): return 'x' * size") as worker:
        outcomes = worker.call("text", [3 << 20] + [1 << 15] * 300, cpu_s=2.0)
        assert isinstance(outcomes[0], Ok)
        assert isinstance(outcomes[1], Ok)
        failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
        assert len(failed) > 200
        assert {outcome.kind for outcome in failed} == {"oversize"}
        assert worker.restarts == 0
