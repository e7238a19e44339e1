"""Windows of steps and small arithmetic that several figures share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from evoenv.store.store import EnvironmentRecord

MOST_COLUMNS = 100


def windows(numbers: Sequence[int], at_most: int) -> list[tuple[int, int]]:
    """Consecutive ranges of steps, of equal round width, at most so many; every step has one."""
    if not numbers:
        return []
    last = max(numbers)
    width = next(n for n in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, last) if -(-last // n) <= at_most)
    return [(first, min(first + width - 1, last)) for first in range(1, last + 1, width)]


def window_words(window: tuple[int, int]) -> str:
    return str(window[0]) if window[0] == window[1] else f"{window[0]}–{window[1]}"


def inside(window: tuple[int, int], step: int) -> bool:
    return window[0] <= step <= window[1]


def quantile(values: Sequence[float], share: float) -> float:
    """By linear interpolation between the two nearest ranks."""
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (place - below)


def total(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def having(tag: str, records: Sequence[EnvironmentRecord]) -> int:
    return sum(tag in record.tags for record in records)


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def percent(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "–"
