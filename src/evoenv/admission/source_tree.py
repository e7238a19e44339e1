"""Reading candidate sources as syntax trees, without trusting that they are any."""

from __future__ import annotations

import ast
import threading
import warnings

_ONE_AT_A_TIME = threading.Lock()
_TRIES = 5


def parse_source(source: str) -> ast.Module:
    """Parse a candidate's source; raises what `ast.parse` raises.

    Older Pythons count the parser's depth for all threads together and raise SystemError if two parse at the same
    moment: here it is one at a time, and once more if somebody else's parsing came between.
    """
    with _ONE_AT_A_TIME:
        for _ in range(_TRIES - 1):
            try:
                return ast.parse(source)
            except SystemError:
                continue
        return ast.parse(source)


def parse_quietly(source: str) -> ast.Module | None:
    """Return the tree, or None if the source does not parse, without warnings about a candidate's invalid escapes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse_source(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
