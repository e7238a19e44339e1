"""What scores of k samples per problem come to: pass@1, unbiased pass@k, and how sure one can be.

Intervals are percentile bootstraps over problems *and* samples: problems are drawn with replacement, and within each
drawn problem its samples are. If nothing varies (all right, or all wrong) resampling would claim certainty; the
exact binomial bound over the problems takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evoenv.records import derive_seed

Floats: TypeAlias = NDArray[np.float64]

DRAWS = 2000
CONFIDENCE = 0.95
BLOCK = 2_000_000
"""Numbers drawn at once: bounds memory if problems and samples are many."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its confidence interval, over `n` problems."""

    mean: float
    low: float
    high: float
    n: int

    def to_json(self) -> dict[str, float | int]:
        return {"mean": self.mean, "low": self.low, "high": self.high, "n": self.n}


def pass_at_k(samples: int, right: int, k: int) -> float:
    """Return the chance that at least one of k answers, drawn without replacement from these samples, is right."""
    if not 0 <= right <= samples or not 1 <= k <= samples:
        raise ValueError(
            f"pass@{k} of {right} right in {samples} samples; expected 0 ≤ right ≤ samples, 1 ≤ k ≤ samples"
        )
    return 1.0 - comb(samples - right, k) / comb(samples, k)


def mean_pass_at(counts: Sequence[tuple[int, int]]) -> dict[int, float]:
    """Average pass@k over problems given as (samples, right): k = 1, 2, 4, … and the largest that all allow."""
    largest = min((samples for samples, _ in counts), default=0)
    ks = sorted({1 << power for power in range(largest.bit_length()) if 1 << power <= largest} | {largest} - {0})
    return {k: sum(pass_at_k(samples, right, k) for samples, right in counts) / len(counts) for k in ks}


def estimate(scores: Sequence[Sequence[float]], *, seed: int = 0, draws: int = DRAWS) -> Estimate:
    """Average each problem's mean score over problems, with a bootstrap interval.

    `scores` has one row per problem and one value in [0, 1] per sample; problems without a sample do not count.
    """
    rows = [np.asarray(row, dtype=np.float64) for row in scores if len(row)]
    if not rows:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    mean = float(np.mean([row.mean() for row in rows]))
    if all(value == rows[0][0] for row in rows for value in row):
        low, high = _without_variance(float(rows[0][0]), len(rows))
        return Estimate(mean, low, high, len(rows))
    means = _resampled_means(rows, np.random.default_rng(derive_seed("bootstrap", seed)), draws)
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(edge) for edge in np.quantile(means, (tail, 1 - tail)))
    return Estimate(mean, min(low, mean), max(high, mean), len(rows))


def average(estimates: Sequence[Estimate]) -> Estimate:
    """Average the means of several suites, each with the same weight; suites without a problem do not count.

    Suites are independent of each other: the distances from each mean to the ends of its interval are added as squares,
    above and below apart, which keeps lopsided intervals lopsided. `n` is the number of problems in all.
    """
    cells = [estimate for estimate in estimates if estimate.n]
    if not cells:
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    count = len(cells)
    mean = math.fsum(cell.mean for cell in cells) / count
    below = math.hypot(*(cell.mean - cell.low for cell in cells)) / count
    above = math.hypot(*(cell.high - cell.mean for cell in cells)) / count
    return Estimate(mean, mean - below, mean + above, sum(cell.n for cell in cells))


def _resampled_means(rows: Sequence[Floats], rng: np.random.Generator, draws: int) -> Floats:
    """Compute `draws` means, each over problems and samples drawn with replacement."""
    count = len(rows)
    lengths = np.array([len(row) for row in rows])
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    values = np.concatenate(rows)
    means = np.empty(draws)
    step = max(1, BLOCK // (count * int(lengths.max())))
    for first in range(0, draws, step):
        size = min(step, draws - first)
        chosen = rng.integers(count, size=(size, count))
        total = np.zeros((size, count))
        for sample in range(int(lengths.max())):
            drawn = starts[chosen] + (rng.random((size, count)) * lengths[chosen]).astype(np.int64)
            total += np.where(sample < lengths[chosen], values[drawn], 0.0)
        means[first : first + size] = (total / lengths[chosen]).mean(axis=1)
    return means


def _without_variance(value: float, count: int) -> tuple[float, float]:
    """Return the Clopper–Pearson bounds of 0 or `count` successes; the value itself in between."""
    margin = ((1 - CONFIDENCE) / 2) ** (1 / count)
    if value <= 0.0:
        return 0.0, 1.0 - margin
    if value >= 1.0:
        return margin, 1.0
    return value, value
