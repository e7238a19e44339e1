"""The work that `verl_step.py` and `verl_plain.py` both do: the same prompts, lengths and settings."""

from __future__ import annotations

import cpu_platform

from evoenv.config import Config, load_config
from evoenv.presets import preset
from evoenv.records import Message, Request

PROMPTS, COUNT, MAX_TOKENS, KL = 8, 8, 96, 1e-3


def config_of(world: int) -> Config:
    training = ["training.learning_rate=1e-6", f"training.kl={KL}"]
    settings = [*cpu_platform.OVERRIDES, f"engine.devices_per_node={world}", *training]
    return load_config(preset("nano"), overrides=settings)


def requests_of(seed: int) -> list[Request]:
    return [
        Request(
            f"r{number}",
            "solver" if number % 2 else "generator",
            (Message("user", f"Sort the numbers {number} 9 4 {number + 3} 7."),),
            count=COUNT,
            max_tokens=MAX_TOKENS,
            seed=seed + number,
            trains=True,
        )
        for number in range(PROMPTS)
    ]
