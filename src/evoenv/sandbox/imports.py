"""What an environment may import."""

from __future__ import annotations

TAUGHT_IMPORTS = ("random", "math", "collections", "itertools", "heapq", "bisect", "functools", "re", "typing")
"""What authors are told to use."""
HARMLESS_IMPORTS = (
    *("abc", "array", "copy", "dataclasses", "decimal", "enum"),
    *("fractions", "operator", "queue", "statistics", "string"),
)
"""Harmless too, and people's own environments use it."""
DEFAULT_IMPORTS = (*TAUGHT_IMPORTS, *HARMLESS_IMPORTS)
