"""Shipped configurations by name, one commented TOML file each; `configs/` in the repository shows the same files."""

from __future__ import annotations

import difflib
import tomllib
from importlib import resources
from typing import Any

from evoenv.errors import ConfigError


def preset_names() -> tuple[str, ...]:
    files = resources.files(__name__).iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def preset(name: str) -> dict[str, Any]:
    """Return the settings of a preset, as `load_config` takes them."""
    names = preset_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        advice = f"did you mean '{near[0]}'?" if near else f"the presets are {', '.join(names)}."
        raise ConfigError(f"there is no preset '{name}'; {advice} A file of your own goes to --config")
    return tomllib.loads(resources.files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
