"""What one call can cost the host, whatever its worker sends: work, memory and patience all have an end."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable

import pytest

from evoenv.sandbox import protocol
from evoenv.sandbox.guest import shape
from evoenv.sandbox.host import Failed, Limits, Ok, Sandbox
from evoenv.sandbox.outcomes import checked_instance
from evoenv.sandbox.protocol import Budget, ProtocolError, ReplyReader
from tests.effort import assert_costs_at_most

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
def test_a_hostile_call_of_the_largest_size_costs_a_few_honest_ones_at_most(name: str) -> None:
    data = (ACCEPTED | REFUSED)[name]()
    honest = array(b'[0.5,"some text"]', 4)

    def take() -> None:
        if name in ACCEPTED:
            protocol.decode(data)
        else:
            with pytest.raises(ProtocolError, match=r"more than 500,000 values|nested deeper|not acceptable"):
                protocol.decode(data)

    # Beside the standard library's parser, not our own: that would become slow together with what is measured.
    # Usual are 4 times for floats, and less for all others.
    assert_costs_at_most(20, take, lambda: json.loads(honest))


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


def test_forged_frames_share_one_budget(raw: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[bytes] = []
    parsed: list[bytes] = []
    check_shape, parse_frame = protocol.check_shape, protocol.parse_frame

    def check(data: bytes, max_values: int) -> protocol.Shape:
        checked.append(data)
        return check_shape(data, max_values)

    def parse(data: bytes, nonce: str, *, plain: bool) -> protocol.Frame:
        parsed.append(data)
        return parse_frame(data, nonce, plain=plain)

    third = "[" + "[]," * (VALUES // 9) + "0]"
    with raw.open(FORGER) as worker:
        monkeypatch.setattr(protocol, "check_shape", check)
        monkeypatch.setattr(protocol, "parse_frame", parse)
        outcomes = worker.call("x", [third] * 4, cpu_s=5.0, stop_on_death=False)
        monkeypatch.undo()
    # The third result finds the budget used up, in the first worker and in the one that takes its place (and that
    # says in a small frame that it has loaded the source).
    assert [sum(len(data) > len(third) for data in seen) for seen in (checked, parsed)] == [4, 2]
    assert sum(map(len, checked)) <= REPLY_BYTES
    assert sum(map(shape.values_in, parsed)) <= VALUES
    assert [type(outcome) for outcome in outcomes] == [Ok, Ok, Failed, Failed]
    assert all(outcome.kind == "protocol" for outcome in outcomes if isinstance(outcome, Failed))


def test_an_honest_result_of_too_many_values_is_an_error_of_its_own(raw: Sandbox) -> None:
    with raw.open("def many(count): return [0] * count") as worker:
        small, large, after = worker.call("many", [10, VALUES + 10, 20], cpu_s=5.0)
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


@pytest.mark.parametrize(
    "instance",
    [
        ["p", {}, {"~": "x"}],
        ["p", {}, {"~": "set", "v": [i * (2**61 - 1) for i in range(600)]}],
        ["p" * 300_000, {}, 1],
        ["p", {}, [0] * 6000],
    ],
)
def test_an_instance_that_would_hurt_to_decode_is_a_failure(instance: list[object]) -> None:
    found = checked_instance(Ok(instance))
    assert isinstance(found, Failed)
    assert found.kind == "protocol"
