"""Model-written programs on tests, inside a sandbox worker. A runtime for `Sandbox(runtime=…)`.

The program sees the input of a test and nothing else: what it printed or returned goes to the host, which alone knows
what was expected. Every test starts the program anew. There is no file system and no second thread or process here:
`open(0)` is standard input, a started thread runs at once, and only the standard library can be imported.
"""

from __future__ import annotations

import array
import ast
import bisect
import builtins
import calendar
import cmath
import collections
import contextlib
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import heapq
import io
import itertools
import json
import math
import operator
import os
import queue
import random
import re
import statistics
import string
import sys
import textwrap
import threading
import time
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

PROGRAM = "<program>"
RECURSION_LIMIT = 50_000
MAX_OUTPUT = 6 << 20
"""Bytes of printed text; more is a failed test, not a large reply."""

AT_HAND = (
    *(bisect, collections, copy, datetime, decimal, functools, heapq, io, itertools, json, math, operator, os, random),
    *(re, statistics, string, sys, time, typing),
)
ALSO_LOADED = (array, calendar, cmath, contextlib, dataclasses, enum, fractions, queue, textwrap, threading)
"""There is nothing to import from once the worker is locked down."""
STARRED = (typing, collections, itertools, functools, heapq, bisect, math, operator, string)
"""Solutions to function tasks rely on the judge's own imports: `List`, `deque`, `inf` without a word."""


class TooMuchOutputError(Exception):
    pass


class Output(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() + len(data) > MAX_OUTPUT:
            raise TooMuchOutputError(f"the program printed more than {MAX_OUTPUT:,} bytes")
        return super().write(data)

    def close(self) -> None:
        """Do nothing: programs close standard output, and what they wrote must stay."""


def names_at_hand() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for module in STARRED:
        public = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        names |= {name: getattr(module, name) for name in public if not hasattr(builtins, name)}
    return names | {module.__name__: module for module in AT_HAND}


def start_at_once(thread: threading.Thread) -> None:
    thread.run()


def failure(error: BaseException) -> list[Any]:
    """Turn an error into a result: its type, one line of text, the program's line it came from."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == PROGRAM:
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        text = str(error)[:400].encode("utf-8", "replace").decode()
    except BaseException:
        text = ""
    name = type(error).__name__
    return ["err", name, f"{name}: {text}", line]


class Runtime:
    def __init__(self) -> None:
        self._code: types.CodeType | None = None

    def handle(self, op: str, args: dict[str, Any], items: list[Any]) -> Iterator[Any]:
        if op == "load":
            try:
                tree = ast.parse(args["source"], PROGRAM)
                self._code = compile(tree, PROGRAM, "exec", dont_inherit=True)
                yield ["ok", {}]
            except BaseException as error:
                yield failure(error)
            return
        operation: Callable[[Any], Any] = self._stdin if op == "stdin" else self._function
        for item in items:
            try:
                result = ["ok", operation(item)]
            except BaseException as error:
                result = failure(error)
            yield result

    def _stdin(self, text: str) -> str:
        """Return what the program prints when it is given the text."""
        printed = Output()
        sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogatepass")), encoding="utf-8")
        sys.stdout = sys.stderr = io.TextIOWrapper(printed, encoding="utf-8", errors="replace", write_through=True)
        sys.stderr = io.StringIO()
        try:
            self._execute("__main__", sys.stdin)
        except SystemExit as ending:
            if ending.code not in (None, 0):
                raise
        sys.stdout.flush()
        return printed.getvalue().decode("utf-8", "replace")

    def _function(self, item: list[Any]) -> Any:
        """Return what the function (a method of Solution, or a plain one) returns for the arguments."""
        name, arguments = item
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(), io.StringIO(), io.StringIO()
        scope = self._execute("solution", sys.stdin)
        holder = scope.get("Solution")
        function = getattr(holder(), name, None) if isinstance(holder, type) else None
        function = function or scope.get(name)
        if not callable(function):
            raise NameError(f"the program defines neither a function {name} nor a class Solution with it")
        return json.loads(json.dumps(function(*arguments)))

    def _execute(self, name: str, stdin: io.IOBase) -> dict[str, Any]:
        assert self._code is not None, "load comes first"
        sys.argv = [PROGRAM]
        sys.setrecursionlimit(RECURSION_LIMIT)
        scope = {**names_at_hand(), "__name__": name, "__builtins__": _builtins(stdin)}
        exec(self._code, scope)
        return scope


def _builtins(stdin: io.IOBase) -> dict[str, Any]:
    def open_input(file: Any, mode: str = "r", *_: Any, **__: Any) -> Any:
        if file in (0, "/dev/stdin"):
            return getattr(stdin, "buffer", stdin) if "b" in mode else stdin
        raise FileNotFoundError(f"there are no files here: {str(file)[:100]!r}")

    # `exit` and `quit` come with site-packages, which a worker starts without.
    return {**vars(builtins), "open": open_input, "exit": sys.exit, "quit": sys.exit}


_threads: Any = threading
_threads.Thread.start = start_at_once
_threads.Thread.join = lambda thread, timeout=None: None
_threads.stack_size = lambda size=0: 0
