"""The configuration of a new run, and every setting in words."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from pathlib import Path

from evoenv import config as config_module
from evoenv.config import Config, load_config, to_mapping
from evoenv.curricula.recipes import recipe
from evoenv.presets import preset as preset_settings
from evoenv.sections import toml_value


def run_config(preset: str | None = None, file: Path | None = None, overrides: Iterable[str] = ()) -> Config:
    """Build the configuration of a new run: defaults < preset < the curriculum's recipe < file < overrides."""
    overrides = list(overrides)
    below = [preset_settings(preset)] if preset else []
    above = [file] if file else []
    chosen = load_config(*below, *above, overrides=overrides).curriculum.name
    return load_config(*below, recipe(chosen), *above, overrides=overrides)


def config_help(config: Config) -> str:
    """Write every setting with its value and the words under it in `config.py`: a file that --config takes as it is."""
    words = _meanings()
    lines: list[str] = []
    for section, values in to_mapping(config).items():
        kind = type(getattr(config, section)).__name__
        lines.append(f"[{section}]")
        for key, value in values.items():
            meaning = words.get((kind, key))
            lines += [f"# {meaning}"] if meaning else []
            lines.append(f"{key} = {toml_value(value)}")
        lines.append("")
    return "\n".join(lines)


def _meanings() -> dict[tuple[str, str], str]:
    """Return the text under each field of a section, by class and field."""
    words: dict[tuple[str, str], str] = {}
    for node in ast.parse(inspect.getsource(config_module)).body:
        if isinstance(node, ast.ClassDef):
            for field, after in zip(node.body, [*node.body[1:], None], strict=True):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and isinstance(after, ast.Expr)
                    and isinstance(after.value, ast.Constant)
                ):
                    words[node.name, field.target.id] = " ".join(str(after.value.value).split())
    return words
