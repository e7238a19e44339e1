"""Settings that belong to a curriculum's rule. All others are shared, so that curricula differ in nothing else."""

from __future__ import annotations

from typing import Any

RECIPES: dict[str, dict[str, Any]] = {
    "fixed": {"solver": {"difficulty_rule": "fixed"}},
    "rlve": {"solver": {"difficulty_rule": "adaptive"}},
    "dapo": {"training": {"kl": 0.0, "aggregation": "token-mean", "clip_low": 0.2, "clip_high": 0.28}},
}


def recipe(curriculum: str) -> dict[str, Any]:
    """Return what is laid over a preset, and under a user's own file and flags, for a curriculum."""
    return RECIPES.get(curriculum, {})
