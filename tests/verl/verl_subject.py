"""The verl engine on a CPU, opened for tests and for the conformance suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import cpu_platform

cpu_platform.prepare()

from conformance import Subject  # noqa: E402  (the platform comes first)

from evoenv.assembly import open_policy  # noqa: E402
from evoenv.config import Config, load_config  # noqa: E402
from evoenv.models.tiny import build_tiny_policy  # noqa: E402
from evoenv.ports import Policy  # noqa: E402
from evoenv.presets import preset  # noqa: E402

CONTEXT = 600


def tiny_config(model: Path, *overrides: str) -> Config:
    """The random model of the suite, with its learning rate and a context of 600 tokens."""
    lengths = [
        f"{role}.{name}={CONTEXT // 2}"
        for role in ("generator", "solver", "review")
        for name in ("max_prompt_tokens", "max_tokens")
    ]
    training = ["training.learning_rate=1e-2", "training.warmup_steps=0", "training.kl=0.0"]
    model_settings = [f"model.name='{model}'", "model.dtype=float32"]
    return load_config(overrides=[*cpu_platform.OVERRIDES, *lengths, *training, *model_settings, *overrides])


def nano_config(*overrides: str) -> Config:
    return load_config(preset("nano"), overrides=[*cpu_platform.OVERRIDES, *overrides])


@contextmanager
def opened(config: Config, directory: Path) -> Iterator[Policy]:
    policy = open_policy(config, learns=True, run_directory=directory, progress=False)
    try:
        yield policy
    finally:
        policy.close()


@contextmanager
def open_tiny(directory: Path, overrides: Sequence[str] = ()) -> Iterator[Policy]:
    model = directory / "model"
    if not model.is_dir():
        build_tiny_policy(model, initializer_range=0.2)
    with opened(tiny_config(model, *overrides), directory) as policy:
        yield policy


# Which requests share a batch is a matter of when they arrive, and sums in another order differ in the last digits.
VERL = Subject("verl_subject:VERL", open_tiny, context=CONTEXT, exact=False)
