"""The worker: lock the door behind us, then answer calls on descriptor 0 until the host hangs up.

A frame is four bytes of length, big endian, then JSON. A request is `{"n": nonce, "op": name, "args": {...},
"items": [...]}`. Results stream back as `{"n": nonce, "r": [...]}`, the last frame with `"end": true`; an
exception that escapes the runtime ends the call with `"error": [type, message]`.

Beside the stream there is one page of memory shared with the host, in which the worker counts finished
items. It costs no system call, so that the host knows which item was in flight when a worker dies; the
host uses it for blame only and believes nothing else it says.
"""

from __future__ import annotations

import gc
import io
import json
import mmap
import os
import random
import sys
import time
from collections.abc import Iterator
from typing import Any, NoReturn, Protocol

from evoenv.sandbox.guest import canary, lockdown, shape

FLUSH_AFTER_S = 0.05
FLUSH_ITEMS = 512
READ_BYTES = 1 << 16
NOT_LOCKED_DOWN = 70
BYTES_FOR_ERRORS = 1 << 17
VALUES_FOR_ERRORS = 1 << 13
"""Kept back of what a call may send: enough to say of a thousand results that there was no room for them."""
UNSENDABLE = (ValueError, TypeError, RecursionError, MemoryError)
PAGE_BYTES = mmap.PAGESIZE

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class Handler(Protocol):
    def handle(self, op: str, args: dict[str, Any], items: list[Any]) -> Iterator[Any]: ...


class Sink(io.TextIOBase):
    """What candidate code may print to and read from: nothing comes out, nothing goes in."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        return len(text)

    def read(self, size: int | None = -1) -> str:
        return ""

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        return ""

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True


def become_worker(
    runtime: type[Handler],
    settings: dict[str, Any],
    *,
    channel: int,
    page: int,
    parent: int,
    ruleset: int | None,
    program: bytes | None,
    base_bytes: int,
) -> NoReturn:
    """Give up everything but descriptor 0 and some memory, then serve. Runs in a fresh fork of the zygote."""
    status = NOT_LOCKED_DOWN
    page_map: mmap.mmap | None = None
    try:
        page_map = mmap.mmap(page, PAGE_BYTES)
        if settings["parent_death"]:
            lockdown.die_with_parent(parent)
        off = settings["off"]  # only ever for canaries, which are our own code
        if ruleset is not None:
            lockdown.landlock_restrict(ruleset)
        os.dup2(channel, 0)
        lockdown.close_descriptors(1)
        sys.stdin = sys.stdout = sys.stderr = sys.__stdin__ = sys.__stdout__ = sys.__stderr__ = Sink()  # type: ignore
        if settings["rlimits"] and "rlimits" not in off:
            lockdown.limit_resources(settings["memory_bytes"], settings["cpu_seconds"], base_bytes)
        # Forks share the parent's Mersenne state: without this every worker would draw the same numbers.
        random.seed(bytes.fromhex(settings["seed"]))
        gc.enable()
        if program is not None and "seccomp" not in off:
            lockdown.filter_system_calls(program)
        status = 0
        Server(runtime(), memoryview(page_map).cast("Q"), settings["reply_bytes"]).run()
    except BaseException as error:
        if status == NOT_LOCKED_DOWN and page_map is not None:
            page_map[8:PAGE_BYTES] = repr(error).encode()[: PAGE_BYTES - 8].ljust(PAGE_BYTES - 8, b"\0")
    finally:
        os._exit(status)


class Server:
    """Read a request, run it, stream the results."""

    def __init__(self, handler: Handler, progress: memoryview, reply_bytes: int) -> None:
        self._handler = handler
        self._progress = progress
        self._reply_bytes = reply_bytes
        self._bytes_left = self._values_left = 0

    def run(self) -> None:
        while (request := self._read_frame()) is not None:
            self._answer(_decode(request.decode()))

    def _answer(self, request: dict[str, Any]) -> None:
        nonce, op, progress = request["n"], request["op"], self._progress
        handler: Handler = canary if op == "canary" else self._handler
        self._bytes_left, self._values_left = self._reply_bytes, shape.MAX_VALUES
        finished = 0
        results: list[Any] = []
        error: list[str] | None = None
        flush_at = time.monotonic() + FLUSH_AFTER_S
        try:
            for result in handler.handle(op, request["args"], request["items"]):
                results.append(result)
                finished += 1
                if time.monotonic() >= flush_at or len(results) >= FLUSH_ITEMS:
                    self._send(nonce, results, False, None)
                    results = []
                    flush_at = time.monotonic() + FLUSH_AFTER_S
                progress[0] = finished  # after the sending, whose time is not the next item's
        except BaseException as escaped:
            error = [type(escaped).__name__, str(escaped)[:400]]
        self._send(nonce, results, True, error)

    def _send(self, nonce: str, results: list[Any], end: bool, error: list[str] | None) -> None:
        frame: dict[str, Any] = {"n": nonce, "r": results}
        if end:
            frame["end"] = True
        if error is not None:
            frame["error"] = error
        try:
            data = _encode(frame).encode()
            values = shape.values_in(data)
        except UNSENDABLE:
            data, values = b"", 0
        if not data or len(data) > self._bytes_left or values > self._values_left:
            # One result spoils the frame: find it and put its error in its place.
            frame["r"] = self._only_what_fits(results)
            data = _encode(frame).encode()
            values = shape.values_in(data)
        self._bytes_left -= len(data)
        self._values_left -= values
        self._write(len(data).to_bytes(4, "big") + data)

    def _only_what_fits(self, results: list[Any]) -> list[Any]:
        room, values_room = self._bytes_left - BYTES_FOR_ERRORS, self._values_left - VALUES_FOR_ERRORS
        kept: list[Any] = []
        for result in results:
            try:
                data = _encode(result).encode()
                size, values = len(data) + 1, shape.values_in(data) + 1
            except UNSENDABLE as error:
                result = ["err", type(error).__name__, f"the result cannot be sent: {error}"[:400], None]
                size, values = 600, 8
            if size > room or values > values_room:
                text = (
                    f"a result of {size} bytes; this call may send {self._reply_bytes} in all"
                    if size > room
                    else f"a result of {values} values; this call may send {shape.MAX_VALUES} in all"
                )
                result, size, values = ["err", "OversizeError", text, None], len(text) + 30, 8
            room -= size
            values_room -= values
            kept.append(result)
        return kept

    @staticmethod
    def _write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(0, view) :]

    @staticmethod
    def _read_frame() -> bytes | None:
        """Read the next request, or None if the host has hung up. The host sends one at a time, so one read may do."""
        chunk = os.read(0, READ_BYTES)
        frame = bytearray(chunk)
        while chunk:
            if len(frame) >= 4 and len(frame) == 4 + int.from_bytes(frame[:4], "big"):
                return bytes(frame[4:])
            chunk = os.read(0, READ_BYTES)
            frame += chunk
        return None
