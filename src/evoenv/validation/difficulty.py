"""Does difficulty do anything? Part of L4.

Many features of an instance (sizes, counts, magnitudes, single numbers) are compared over the levels by two
tests: a trend with the level (rank correlation over all instances, which sees gentle growth) and a change of
distribution between low and high levels (Kolmogorov–Smirnov, which sees what is no trend). Both thresholds
allow for the number of features: forty looks at pure chance must find nothing.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from evoenv.records import Finding
from evoenv.sandbox.outcomes import Ok
from evoenv.validation.codes import finding
from evoenv.validation.evidence import NUMBER, READ, Drawn, Evidence, canonical, seed_for

POSITIONS = 10
"""Numbers of the prompt that are compared one by one, from either end."""
WORDS = 200
RARE = 0.04
"""Share of the instances that a word or a key must be in to be looked at."""
MOST_KEYS = 300
"""Keys of one latent instance that are looked at."""
END_INSTANCES = 120
CHANCE = 1e-2
"""How often a difficulty that does nothing may be taken for one that does, over all features together."""

_WORD = re.compile(r"[A-Za-z]{2,}|[^\sA-Za-z0-9]")


def check_difficulty_matters(evidence: Evidence) -> list[Finding]:
    """Check that some feature, or the vocabulary of the prompts, follows the level."""
    levels = [level for level in evidence.levels if evidence.at_level(level)]
    if len(levels) < 2:
        return []
    # Most follow the level in plain sight; gentle growth needs more instances, at the ends.
    if _follows_level(evidence.drawn[::3]) or _follows_level(evidence.drawn) or _follows_level(_ends(evidence, levels)):
        return []
    views = [View.of(instance) for instance in evidence.drawn]
    if label_slots(views) and _answers_differ(evidence, levels):
        return []  # the level is shown as it is, and counts
    if _shapes_same_draws(evidence, levels):
        return []
    seen = f"levels {levels[0]}–{levels[-1]} have the same sizes, values and words over {len(views)} instances"
    return [finding("L4.difficulty-ignored", seen)]


def _ends(evidence: Evidence, levels: Sequence[int]) -> list[Drawn]:
    """Draw further instances of the lowest and the highest level, as many as about a second allows."""
    ends = (levels[0], levels[-1])
    slowest = max(evidence.cost.get(level, 0.0) for level in ends)
    count = min(END_INSTANCES, int(1.0 / max(slowest, 1e-4)))
    keys = [(seed_for("ends", index), level) for level in ends for index in range(2, 2 + count)]
    outcomes = evidence.call("instances", [list(key) for key in keys])
    return [Drawn(*key, *outcome.value) for key, outcome in zip(keys, outcomes, strict=True) if isinstance(outcome, Ok)]


def _follows_level(drawn: Sequence[Drawn]) -> bool:
    """Return whether some feature or word of these instances follows the level."""
    if len({instance.difficulty for instance in drawn}) < 2:
        return False
    views = [View.of(instance) for instance in drawn]
    labels = label_slots(views)
    common = Counter(word for view in views for word in view.words)
    words = [word for word, count in common.most_common(WORDS) if RARE * len(views) <= count]
    rows = [{**view.features(labels), **{f"word {word}": float(view.words[word]) for word in words}} for view in views]
    return _some_feature_follows(rows, [view.level for view in views])


# --------------------------------------------------------------------------- features


def _bounded(value: float) -> float:
    """Convert a number to a float; integers beyond the float's range become ±1e300."""
    return float(value) if abs(value) < 1e300 else (1e300 if value > 0 else -1e300)


def _magnitude(value: float) -> float:
    return math.copysign(math.log1p(abs(value)), value)


def _numbers(value: Any) -> Iterable[float]:
    """Yield every number inside an encoded value, and the length of its texts."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, int | float):
            yield _bounded(part)
        elif isinstance(part, str):
            yield float(len(part))
        elif isinstance(part, list):
            stack += part
        elif isinstance(part, dict):
            stack += part.values()


@dataclass(frozen=True)
class View:
    """What can be measured of one instance."""

    level: int
    shown: list[float]
    words: Counter[str]
    length: int
    latent: dict[str, Any]
    answer: list[float]

    @classmethod
    def of(cls, instance: Drawn) -> View:
        return cls(
            instance.difficulty,
            [float(text) for text in instance.numbers if len(text) < 300],
            Counter(_WORD.findall(instance.prompt[:READ])),
            len(instance.prompt) - sum(map(len, NUMBER.findall(instance.prompt))),
            instance.latent if isinstance(instance.latent, dict) else {"": instance.latent},
            list(_numbers(instance.reference)),
        )

    def features(self, skipped: frozenset[str] = frozenset()) -> dict[str, float]:
        """Compute sizes, counts and magnitudes of prompt, latent and answer; words of the prompt; single numbers."""
        prompt_numbers = [value for position, value in enumerate(self.shown) if f"shown {position}" not in skipped]
        kept = {key: value for key, value in self.latent.items() if f"latent {key}" not in skipped}
        latent = list(_numbers(list(kept.values())))
        values = {
            "prompt length": float(self.length),
            "numbers in the prompt": float(len(prompt_numbers)),
            "words in the prompt": float(self.words.total()),
            "values in the instance": float(len(latent)),
            "values in the answer": float(len(self.answer)),
        }
        for name, numbers in (("shown", prompt_numbers), ("latent", latent), ("answer", self.answer)):
            if numbers:
                values[f"largest {name}"] = _magnitude(max(numbers))
                values[f"smallest {name}"] = _magnitude(min(numbers))
                values[f"sum {name}"] = _magnitude(sum(numbers))
        # One number among many: the fifth of the prompt, the latent called "steps".
        values |= {f"shown {position}": number for position, number in enumerate(prompt_numbers[:POSITIONS])}
        values |= {
            f"shown {position} from the end": number for position, number in enumerate(prompt_numbers[::-1][:POSITIONS])
        }
        for key, value in itertools.islice(kept.items(), MOST_KEYS):
            if type(value) in (int, float):
                values[f"latent {key}"] = _bounded(value)
            elif isinstance(value, list | str):
                values[f"size of {key}"] = float(len(value))
        return values


def label_slots(views: Sequence[View]) -> frozenset[str]:
    """Find the slots that always repeat the level ("[Difficulty 3]", z["level"]): they show it, they do not use it."""
    slots: set[str] = set()
    for offset in (0, 1):
        for position in range(POSITIONS):
            if all(len(view.shown) > position and view.shown[position] == view.level + offset for view in views):
                slots.add(f"shown {position}")
        for key in views[0].latent:
            if all(type(view.latent.get(key)) is int and view.latent[key] == view.level + offset for view in views):
                slots.add(f"latent {key}")
    return frozenset(slots)


# --------------------------------------------------------------------------- tests


def ranks(values: Sequence[float]) -> list[float]:
    """Rank values from 1; ties share their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and values[order[stop]] == values[order[start]]:
            stop += 1
        for index in order[start:stop]:
            result[index] = (start + stop + 1) / 2
        start = stop
    return result


def correlation(left: Sequence[float], right: Sequence[float]) -> float:
    """Compute Pearson's correlation; 0 if one side is constant. On ranks it is Spearman's."""
    mean_left, mean_right = math.fsum(left) / len(left), math.fsum(right) / len(right)
    product = math.fsum((x - mean_left) * (y - mean_right) for x, y in zip(left, right, strict=True))
    scale = math.fsum((x - mean_left) ** 2 for x in left) * math.fsum((y - mean_right) ** 2 for y in right)
    return product / math.sqrt(scale) if scale > 0 else 0.0


def ks_distance(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the greatest gap between two empirical distribution functions."""
    a, b, i, j, gap = sorted(left), sorted(right), 0, 0, 0.0
    for point in sorted({*left, *right}):
        while i < len(a) and a[i] <= point:
            i += 1
        while j < len(b) and b[j] <= point:
            j += 1
        gap = max(gap, abs(i / len(a) - j / len(b)))
    return gap


def _some_feature_follows(rows: Sequence[dict[str, float]], levels: Sequence[int]) -> bool:
    # What hardly any instance has follows nothing, and keys may be names that are drawn anew each time.
    present = Counter(name for row in rows for name in row)
    names = sorted(name for name, count in present.items() if count >= RARE * len(rows))
    columns = [[row.get(name, 0.0) for row in rows] for name in names]
    columns = [column for column in columns if min(column) < max(column)]
    if not columns:
        return False
    chance = CHANCE / (2 * len(columns))
    tail = NormalDist().inv_cdf(1 - chance / 2)
    by_level = ranks([float(level) for level in levels])
    middle = sorted(set(levels))[len(set(levels)) // 2]
    low = [index for index, level in enumerate(levels) if level < middle]
    high = [index for index, level in enumerate(levels) if level >= middle]
    if not low or not high:
        return False
    spread = math.sqrt((len(low) + len(high)) / (len(low) * len(high)))
    for column in columns:
        if abs(correlation(ranks(column), by_level)) * math.sqrt(len(column) - 1) >= tail:
            return True
        gap = ks_distance([column[index] for index in low], [column[index] for index in high])
        if gap >= math.sqrt(-math.log(chance / 2) / 2) * spread:
            return True
    return False


def _shapes_same_draws(evidence: Evidence, levels: Sequence[int]) -> bool:
    """Return whether the same random numbers make another prompt at another level.

    If they do, the level works in a hidden way, such as bringing two numbers closer together. A level that only stirs
    the random numbers changes the draws.
    """
    seeds = [instance.seed for instance in evidence.drawn[:8]]
    keys = [(seed, level) for level in (levels[0], levels[-1]) for seed in seeds]
    worker = evidence.open_worker(instrument=True)
    try:
        draws = evidence.call("draws", [list(key) for key in keys], worker=worker)
        instances = evidence.call("instances", [list(key) for key in keys], worker=worker)
    finally:
        worker.close()
    if any(not isinstance(outcome, Ok) for outcome in (*draws, *instances)):
        return False
    # A prompt that only names its level must not count as another prompt.
    named = {level + offset for level in (levels[0], levels[-1]) for offset in (0, 1)}
    label = re.compile(rf"\b(?:{'|'.join(map(str, sorted(named)))})\b")
    rows = [
        (drawn.value[2], label.sub("#", outcome.value[0]))
        for drawn, outcome in zip(draws, instances, strict=True)
        if isinstance(drawn, Ok) and isinstance(outcome, Ok)
    ]
    pairs = list(zip(rows[: len(seeds)], rows[len(seeds) :], strict=True))
    return all(low[0] == high[0] for low, high in pairs) and sum(
        low[1] != high[1] for low, high in pairs
    ) * 4 >= 3 * len(pairs)


def _answers_differ(evidence: Evidence, levels: Sequence[int]) -> bool:
    """Return whether one seed has another answer at another level: a level that is only announced changes none."""
    seeds = [instance.seed for instance in evidence.drawn[:8]]
    items = [[seed, level] for level in (levels[0], levels[-1]) for seed in seeds]
    outcomes = evidence.call("instances", items)
    answers = [canonical(outcome.value[2]) if isinstance(outcome, Ok) else None for outcome in outcomes]
    pairs = zip(answers[: len(seeds)], answers[len(seeds) :], strict=True)
    return sum(first != second for first, second in pairs) * 2 >= len(seeds)
