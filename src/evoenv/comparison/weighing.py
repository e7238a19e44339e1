"""Weigh a difference between evaluations of the same problems against its noise: that of problems and that of seeds.

Noise has two sizes. For other instances of *these* environments every problem counts by itself. For *other*
environments the environments count, since the instances of one rise and fall together: that noise is larger, and no
number of instances makes it smaller.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evoenv.comparison.plan import ComparisonPlan
from evoenv.comparison.table import student
from evoenv.errors import StoreError


@dataclass(frozen=True, slots=True)
class Measured:
    """One suite at one temperature, asked of one policy."""

    accuracy: float
    pass_at: float
    """pass@8."""
    right: tuple[float, ...]
    """The share of right samples of every problem."""
    levels: dict[str, tuple[float, float, int]]
    """Accuracy, pass@8 and the number of problems, by level."""
    samples: int
    """Of each problem."""
    environments: tuple[int, ...] = ()
    """Which environment each problem is of, by number; empty if that is not known."""

    @property
    def luck(self) -> float:
        """The variance of `accuracy` on these problems: other samples would give another share of right ones."""
        return math.fsum(share * (1 - share) for share in self.right) / (self.samples - 1) / len(self.right) ** 2


@dataclass(frozen=True, slots=True)
class Noise:
    """A standard error and its degrees of freedom: how well it is known itself."""

    error: float
    freedom: float = math.inf

    @property
    def half(self) -> float:
        """Half of the 95% interval, by Student's distribution."""
        return student(self.freedom) * self.error

    def shrunk(self, by: float) -> Noise:
        return Noise(self.error / by, self.freedom)


@dataclass(frozen=True, slots=True)
class Gain:
    """A difference to the untrained model, or between two curricula, with its noise."""

    gain: float
    here: Noise
    """For other instances of these environments, other samples and seeds."""
    elsewhere: Noise | None
    """For other environments as well; None if the suites do not have several, so that nobody knows."""

    @property
    def moved(self) -> bool:
        return self.gain > self.here.half

    @property
    def half_elsewhere(self) -> float | None:
        """Half of the interval for other environments: the other one at least.

        With more degrees of freedom the larger error can have the smaller interval, which would mean nothing.
        """
        return None if self.elsewhere is None else max(self.here.half, self.elsewhere.half)

    def to_json(self) -> dict[str, Any]:
        return {
            "gain": self.gain,
            "these_environments": {"standard_error": self.here.error, "half": self.here.half},
            "other_environments": None
            if self.elsewhere is None
            else {"standard_error": self.elsewhere.error, "half": self.half_elsewhere},
        }

    @property
    def words(self) -> str:
        other = "–" if self.half_elsewhere is None else f"{100 * self.half_elsewhere:.1f}"
        return f"{100 * self.gain:+.1f} ± {100 * self.here.half:.1f} ({other})"


HOW_WIDE = (
    "Behind ± stands half of the 95% interval for other instances of these environments, other samples and seeds; in "
    "brackets half of that for other environments, which is at least as wide"
)


def weigh(
    plan: ComparisonPlan, before: Sequence[Mapping[str, Measured]], after: Sequence[Mapping[str, Measured]]
) -> tuple[Gain, dict[str, Gain]]:
    """Weigh what some runs have over others, on the same problems, against its noise: on average, and by suite.

    A suite's gain is the mean over its problems of what all seeds and temperatures gained there. Two errors are added
    as squares: that of the problems (or of the environments), and that of the seeds on either side; nothing if there
    is one alone, about which nothing is known. Samples are luck in both, so that the sum is rather too large. Few
    environments and very few seeds know their own errors badly: the degrees of freedom of the sum are Welch's and
    Satterthwaite's.
    """
    columns = columns_by_suite(plan)
    by_suite: dict[str, Gain] = {}
    asked: list[tuple[Noise, Noise | None]] = []
    means_by_seed: list[tuple[list[float], list[float]]] = []
    for suite, names in columns.items():
        old, new = ([_average_lists([run[name].right for name in names]) for run in runs] for runs in (before, after))
        per_problem = _differences(_average_lists(old), _average_lists(new))
        seeds = [_mean(values) for values in old], [_mean(values) for values in new]
        asked.append((_of_problems(per_problem), _of_groups(per_problem, before[0][names[0]].environments)))
        means_by_seed.append(seeds)
        by_suite[suite] = _gain(_mean(per_problem), [asked[-1]], seeds)
    # suites share their seeds and nothing else
    seeds = _average_lists([old for old, _ in means_by_seed]), _average_lists([new for _, new in means_by_seed])
    count = len(by_suite)
    shares = [(here.shrunk(count), elsewhere and elsewhere.shrunk(count)) for here, elsewhere in asked]
    return _gain(_mean([gain.gain for gain in by_suite.values()]), shares, seeds), by_suite


def columns_by_suite(plan: ComparisonPlan) -> dict[str, list[str]]:
    """Name the columns of each suite: one for every temperature."""
    columns: dict[str, list[str]] = {}
    for asked in plan.evaluation.plans.suites:
        columns.setdefault(asked.suite, []).append(asked.name)
    return columns


def _gain(gain: float, asked: Sequence[tuple[Noise, Noise | None]], seeds: Iterable[Sequence[float]]) -> Gain:
    of_seeds = [_of_seeds(means) for means in seeds]
    known = [elsewhere for _, elsewhere in asked if elsewhere is not None]
    here = _together([*(here for here, _ in asked), *of_seeds])
    return Gain(gain, here, _together([*known, *of_seeds]) if len(known) == len(asked) else None)


def _together(parts: Iterable[Noise]) -> Noise:
    """Add errors as squares; how well the sum is known follows from how well its parts are (Welch, Satterthwaite)."""
    own = [part for part in parts if part.error]
    error = math.hypot(*(part.error for part in own))
    doubt = math.fsum(part.error**4 / part.freedom for part in own)
    return Noise(error, error**4 / doubt if doubt else math.inf)


def _of_problems(values: Sequence[float]) -> Noise:
    return _of_groups(values, range(len(values))) or Noise(0.0)


def _of_groups(values: Sequence[float], groups: Sequence[int]) -> Noise | None:
    """Compute the error of a mean whose values come in groups that rise and fall together; None without two groups."""
    count = len(set(groups))
    if count < 2:
        return None
    mean = _mean(values)
    sums = dict.fromkeys(groups, 0.0)
    for group, value in zip(groups, values, strict=True):
        sums[group] += value - mean
    square = math.fsum(total**2 for total in sums.values()) * count / (count - 1)
    return Noise(math.sqrt(square) / len(values), count - 1)


def _of_seeds(means: Sequence[float]) -> Noise:
    """Compute the error of a mean over seeds; 0 for one alone, about which nothing is known."""
    if len(means) < 2:
        return Noise(0.0)
    return Noise(statistics.stdev(means) / math.sqrt(len(means)), len(means) - 1)


def _average_lists(lists: Sequence[Sequence[float]]) -> list[float]:
    """Average several lists, place by place."""
    return [_mean(values) for values in _by_place(lists)]


def _differences(before: Sequence[float], after: Sequence[float]) -> list[float]:
    return [new - old for old, new in _by_place([before, after])]


def _by_place(lists: Sequence[Sequence[float]]) -> Iterator[tuple[float, ...]]:
    """Pair what several lists have at the same place: evaluations of the same problems."""
    sizes = sorted({len(values) for values in lists})
    if len(sizes) > 1:
        raise StoreError(
            f"evaluations have {' and '.join(map(str, sizes))} problems; expected the same ones: remove the run's "
            "directory to repeat it"
        )
    return zip(*lists, strict=True)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
