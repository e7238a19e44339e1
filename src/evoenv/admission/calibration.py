"""Solver-relative difficulty: â, the share of fresh instances that one response each passes."""

from __future__ import annotations

from collections.abc import Sequence

from evoenv.config import CalibrationConfig
from evoenv.records import Calibration, derive_seed

FULLY_RIGHT = 1.0 - 1e-6
"""Scores from here on count as fully right: a ratio scorer may end a rounding error below 1."""


def calibration_seeds(run_seed: int, environment: str, step: int, count: int) -> tuple[int, ...]:
    """Derive the seeds of the m calibration instances: fresh for every step, even for a source proposed twice."""
    return tuple(derive_seed(run_seed, environment, "calibration", step, index) for index in range(count))


def passes(score: float, config: CalibrationConfig) -> bool:
    """Return whether S > pass_threshold, or whether the answer is fully right in the strict mode."""
    return score >= FULLY_RIGHT if config.strict else score > config.pass_threshold


def calibrate(scores: Sequence[float], config: CalibrationConfig) -> Calibration:
    """Compute â over the instances that count.

    One that could not be generated belongs in `scores` as 0: it is no easier for that. A response that a server refused
    or lost is left out. If nothing is left, nothing is known to be solvable: â is 0, and the candidate is not admitted.
    """
    if not scores:
        return Calibration(scores=(), pass_rate=0.0)
    passed = sum(passes(score, config) for score in scores)
    return Calibration(scores=tuple(scores), pass_rate=passed / len(scores))
