"""Typed sections of settings, and the dotted keys and values by which people name them."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

import msgspec


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every section: frozen, keyword only, unknown keys refused."""


def known_keys(section: type[Section], prefix: str = "") -> list[str]:
    """List the dotted keys of a section and of the sections in it."""
    keys: list[str] = []
    for name, kind in get_type_hints(section).items():
        if isinstance(kind, type) and issubclass(kind, Section):
            keys += known_keys(kind, f"{prefix}{name}.")
        else:
            keys.append(prefix + name)
    return keys


def flatten(tree: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield dotted keys and values of a tree."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Build the tree of two levels that `section.name` keys describe."""
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        section, name = key.split(".", 1)
        tree.setdefault(section, {})[name] = value
    return tree


def parse_value(raw: str) -> Any:
    """Read a value as TOML, or a bare word as text."""
    try:
        return tomllib.loads(f"value = {raw}")["value"]
    except tomllib.TOMLDecodeError:
        return raw.strip()


def toml_value(value: Any) -> str:
    """Write a setting's value as TOML: as JSON, but for what JSON cannot say or writes otherwise."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # inf, -inf or nan, as TOML has it
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
