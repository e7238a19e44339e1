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
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

HEADER_BYTES = 4
MAX_DEPTH = 160
"""Containers within containers. The codec nests a value 40 deep with up to three containers a level."""
MAX_DIGITS = 10_000
"""Of an integer: converting text takes time that grows with the square."""
MAX_NODES = 2_000_000
"""Values in one frame: `[[],[],…` takes twenty times its bytes in memory."""

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ONE_KIND_OF_BRACKET = bytes.maketrans(b"{}", b"[]")
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


class ProtocolError(Exception):
    """The worker said what no honest worker says."""


class OversizeError(ProtocolError):
    """The worker said too much."""


def new_nonce() -> str:
    """128 random bits: a reply written before its call was made cannot carry them."""
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


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_float)
_BOUNDED_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_float, parse_int=_bounded_int)


def check_shape(data: bytes) -> None:
    """Bound depth and size before a recursive parser sees them; linear, at the speed of `bytes` methods."""
    # Escapes first (pairs of backslashes, then quotes); what stays between quotes is text.
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data
    outside = b"".join(unescaped.split(b'"')[::2])
    brackets = outside.translate(_ONE_KIND_OF_BRACKET, _NOT_BRACKETS)
    if len(brackets) + outside.count(b",") > MAX_NODES:
        raise ProtocolError(f"the reply holds more than {MAX_NODES} values")
    for _ in range(MAX_DEPTH):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"")  # peels the innermost level
    if brackets:
        raise ProtocolError(f"the reply is nested deeper than {MAX_DEPTH}, or its brackets do not match")


def decode(data: bytes) -> Any:
    """One frame's JSON, or ProtocolError."""
    check_shape(data)
    try:
        # The interpreter's own limit is the faster guard, but a user may have lifted it.
        guarded = 0 < sys.get_int_max_str_digits() <= MAX_DIGITS
        value = (_DECODER if guarded else _BOUNDED_DECODER).decode(data.decode("utf-8"))
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


def parse_frame(data: bytes, nonce: str) -> Frame:
    """A reply frame of the call with this nonce."""
    message = decode(data)
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


class ReplyReader:
    """Collects one call's bytes into frames; keeps count of bytes and results."""

    def __init__(self, nonce: str, expected: int, max_bytes: int) -> None:
        self.results: list[Any] = []
        self.error: tuple[str, str] | None = None
        self.done = False
        self._nonce = nonce
        self._expected = expected
        self._room = max_bytes
        self._max_bytes = max_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Take what has arrived; raises ProtocolError at the first byte that should not be there."""
        buffer = self._buffer
        buffer += data
        while len(buffer) >= HEADER_BYTES:
            size = int.from_bytes(buffer[:HEADER_BYTES], "big")
            if self.done:
                break
            if size > self._room:
                raise OversizeError(f"the worker announced {size} bytes; {self._room} of {self._max_bytes} were left")
            if len(buffer) < HEADER_BYTES + size:
                return
            frame = parse_frame(bytes(buffer[HEADER_BYTES : HEADER_BYTES + size]), self._nonce)
            del buffer[: HEADER_BYTES + size]
            self._room -= size
            self._accept(frame)
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
