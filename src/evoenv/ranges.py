"""What numbers the settings of a run may have; sections of `config.py` refuse what depends on more than one of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evoenv.errors import ConfigError

Range = tuple[float, float]
COUNT: Range = (1, math.inf)
AMOUNT: Range = (0, math.inf)
SHARE: Range = (0, 1)

RANGES: dict[str, Range] = {
    "generator.prompts": AMOUNT,
    "generator.candidates_per_prompt": COUNT,
    "generator.few_shot": AMOUNT,
    "solver.prompts": AMOUNT,
    "solver.responses_per_prompt": COUNT,
    "solver.difficulty": AMOUNT,
    "review.max_prompt_tokens": COUNT,
    "review.max_tokens": COUNT,
    "calibration.instances": COUNT,
    "novelty.mix": SHARE,
    "pool.original_floor": SHARE,
    "training.learning_rate": AMOUNT,
    "endpoint.concurrency": COUNT,
    "endpoint.timeout_seconds": AMOUNT,
    "endpoint.retries": AMOUNT,
    "generator.top_p": SHARE,
    "solver.top_p": SHARE,
    **{f"{role}.{name}": COUNT for role in ("generator", "solver") for name in ("max_prompt_tokens", "max_tokens")},
    **{f"{role}.temperature": AMOUNT for role in ("generator", "solver", "review")},
}
ABOVE_ZERO = frozenset({"generator.top_p", "solver.top_p", "endpoint.timeout_seconds"})
"""Those that must be more than nothing."""


def check_ranges(tree: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise ConfigError if a setting of these sections has a value that makes no sense."""
    for key, (least, most) in RANGES.items():
        section, name = key.split(".")
        if section not in tree:
            continue
        value = tree[section][name]
        # not below infinity: infinitely many tokens or an infinite temperature cannot be asked for
        if not least <= value <= most or value == math.inf or (key in ABOVE_ZERO and value == 0):
            upper = "" if most == math.inf else f" and at most {most:g}"
            lower = "more than 0" if key in ABOVE_ZERO else f"{least:g} or more"
            lower = f"a finite number, {lower}" if value == math.inf else lower
            raise ConfigError(f"{key} is {value}; expected {lower}{upper}")
