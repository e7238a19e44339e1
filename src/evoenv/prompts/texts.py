"""The texts that the model reads, one file per version: a change of wording is a new file, never an edit.

A run records which versions it used, so that two runs can be told apart by their prompts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from evoenv.errors import InputError

_SLOT = re.compile(r"\{\{(\w+)\}\}")


@cache
def load_prompt(name: str) -> str:
    """Return the packaged text `name` (for example `generator_v1`)."""
    file = resources.files("evoenv.prompts") / f"{name}.txt"
    if not file.is_file():
        known = sorted(
            item.name[:-4] for item in resources.files("evoenv.prompts").iterdir() if item.name.endswith(".txt")
        )
        raise InputError(f"there is no prompt text '{name}'; expected one of: {', '.join(known)}")
    return file.read_text(encoding="utf-8")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into `{{slots}}` in one pass: a slot inside a value (a candidate's source) stays text."""
    return _SLOT.sub(lambda match: values[match[1]], template).strip()


def fenced(text: str, language: str = "") -> str:
    """Make a fenced block that its own content cannot close: the fence outgrows every run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
