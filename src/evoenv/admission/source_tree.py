"""Reading candidate sources as syntax trees, without trusting that they are any."""

from __future__ import annotations

import ast
import warnings


def parse_quietly(source: str) -> ast.Module | None:
    """The tree, or None where the source does not parse; a candidate's invalid escapes are not the user's news."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
