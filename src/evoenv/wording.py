"""Counts and durations in words, the same on the screen and in a report."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Write a count with its noun: `1 step`, `1,200 steps`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Write a duration: `4.2 s`, `42 s`, `7 min 05 s`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
