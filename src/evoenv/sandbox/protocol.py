"""Bytes from a worker, distrusted.

Everything after the wall is hostile until it has passed through here: frame by frame, against the nonce of
the call, a byte budget and a count of expected results. What passes is plain JSON: finite numbers, text
that encodes, bounded depth and size. Nothing here evaluates, unpickles or compares objects of the worker's making.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn

from evoenv.sandbox.guest import shape

HEADER_BYTES = 4
MAX_DEPTH = 160
"""Containers within containers. The codec nests a value 40 deep with up to three containers a level."""
MAX_DIGITS = 10_000
"""Of an integer: converting text takes time that grows with the square."""
MAX_VALUES = shape.MAX_VALUES
"""In all frames of one call."""
MAX_SPARE_PIECES = 4096
"""Arrivals of one call beyond two per result: a reply that trickles in byte by byte costs more to take than to send."""

_NUMBERS = bytes.maketrans(b"123456789.E", b"0000000000e")
_LONG_NUMBER = b"0" * 300
_UP_AND_DOWN = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


class ProtocolError(Exception):
    """The worker said what no honest worker says."""


class OversizeError(ProtocolError):
    """The worker said too much."""


def new_nonce() -> str:
    """Draw 128 random bits: a reply written before its call was made cannot carry them."""
    return secrets.token_hex(16)


def encode_request(nonce: str, op: str, args: dict[str, Any], items: Sequence[Any]) -> bytes:
    data = _ENCODE({"n": nonce, "op": op, "args": args, "items": items}).encode()
    return len(data).to_bytes(HEADER_BYTES, "big") + data


def _refuse_constant(name: str) -> NoReturn:
    raise ProtocolError(f"the reply contains {name}, which is not JSON")


def _finite_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ProtocolError(f"the reply contains the number {text[:40]}, which is not finite")
    return value


def _bounded_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ProtocolError(f"the reply contains an integer of {len(text)} digits, more than {MAX_DIGITS}")
    return int(text)


_PLAIN_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_float, parse_int=_bounded_int)


class Shape(NamedTuple):
    values: int
    plain: bool
    """No number has an exponent or hundreds of digits: none can be infinite or take long; the fast parser will do."""


def check_shape(data: bytes, max_values: int = MAX_VALUES) -> Shape:
    """Bound depth and size before a recursive parser sees them, in time linear in the bytes."""
    try:
        outside = shape.outside_text(data, max_values)
        structure = shape.structure_of(outside, max_values)
    except shape.TooManyValuesError:
        raise ProtocolError(f"the reply holds more than {MAX_VALUES:,} values") from None
    if structure.count(b"[") + structure.count(b"{") > MAX_DEPTH:
        steps = memoryview(structure.translate(_UP_AND_DOWN, shape.SEPARATORS)).cast("b")
        # If brackets do not match the parser stops before the depth could be wrong.
        if max(accumulate(steps)) > MAX_DEPTH:
            raise ProtocolError(f"the reply is nested deeper than {MAX_DEPTH}")
    numbers = outside.translate(_NUMBERS)
    return Shape(len(structure), b"0e" not in numbers and _LONG_NUMBER not in numbers)


def decode(data: bytes) -> Any:
    """Parse one frame's JSON; raise ProtocolError if it is not fit."""
    return _parse(data, plain=check_shape(data).plain)


def _parse(data: bytes, *, plain: bool) -> Any:
    try:
        value = (_PLAIN_DECODER if plain else _DECODER).decode(data.decode("utf-8"))
        if _SURROGATE_ESCAPE.search(data):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        raise ProtocolError("the reply is not valid UTF-8, or contains a lone surrogate") from None
    except (ValueError, RecursionError) as error:
        # An integer beyond the interpreter's limit for text is a ValueError too.
        raise ProtocolError(f"the reply is not acceptable JSON: {str(error)[:120]}") from None
    return value


@dataclass(slots=True)
class Frame:
    results: list[Any]
    end: bool
    error: tuple[str, str] | None


def parse_frame(data: bytes, nonce: str, *, plain: bool) -> Frame:
    """Parse a reply frame of the call with this nonce; its shape has been checked."""
    message = _parse(data, plain=plain)
    if type(message) is not dict or not message.keys() <= {"n", "r", "end", "error"}:
        raise ProtocolError("the reply is not an object with the keys n, r, end and error")
    if message.get("n") != nonce:
        raise ProtocolError("the reply carries the wrong nonce: it was forged, or written before the call")
    results, end, error = message.get("r", []), message.get("end", False), message.get("error")
    if type(results) is not list or type(end) is not bool:
        raise ProtocolError("the reply's results are not a list, or its end is not a truth value")
    if error is None:
        if not results and not end:
            raise ProtocolError("the reply is an empty frame that ends nothing")
        return Frame(results, end, None)
    if type(error) is not list or len(error) != 2 or any(type(part) is not str for part in error) or not end:
        raise ProtocolError("the reply's error is not a final [type, message]")
    return Frame(results, end, (error[0], error[1][:1000]))


@dataclass(slots=True)
class Budget:
    """What one call may send, in all its frames and from all the workers that it takes.

    It bounds what a hostile call costs us: about 0.3 s of CPU and 100 MB at 8 MiB.
    """

    max_bytes: int
    bytes_left: int = field(init=False)
    values_left: int = field(default=MAX_VALUES, init=False)

    def __post_init__(self) -> None:
        self.bytes_left = self.max_bytes


class ReplyReader:
    """Collects one reply's bytes into frames; keeps count of bytes, values, arrivals and results."""

    def __init__(self, nonce: str, expected: int, budget: Budget) -> None:
        self.results: list[Any] = []
        self.error: tuple[str, str] | None = None
        self.done = False
        self._nonce = nonce
        self._expected = expected
        self._budget = budget
        self._pieces_left = MAX_SPARE_PIECES + 2 * expected
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Take what has arrived; raises ProtocolError at the first byte that should not be there."""
        buffer, budget = self._buffer, self._budget
        buffer += data
        self._pieces_left -= 1
        if self._pieces_left < 0:
            raise ProtocolError("the reply trickles in: an honest worker writes whole frames")
        while len(buffer) >= HEADER_BYTES:
            size = int.from_bytes(buffer[:HEADER_BYTES], "big")
            if self.done:
                break
            if size > budget.bytes_left:
                left = f"{budget.bytes_left} of {budget.max_bytes}"
                raise OversizeError(f"the worker announced {size} bytes; {left} were left")
            if len(buffer) < HEADER_BYTES + size:
                return
            body = bytes(buffer[HEADER_BYTES : HEADER_BYTES + size])
            del buffer[: HEADER_BYTES + size]
            budget.bytes_left -= size
            shape = check_shape(body, budget.values_left)
            budget.values_left -= shape.values
            self._accept(parse_frame(body, self._nonce, plain=shape.plain))
        if self.done and buffer:
            raise ProtocolError(f"the worker wrote {len(buffer)} bytes after its final frame")

    def _accept(self, frame: Frame) -> None:
        self.results += frame.results
        self.error = frame.error
        self.done = frame.end
        if len(self.results) > self._expected:
            raise ProtocolError(f"the worker sent {len(self.results)} results to {self._expected} items")
        if self.done and self.error is None and len(self.results) < self._expected:
            raise ProtocolError(f"the worker ended after {len(self.results)} results to {self._expected} items")
