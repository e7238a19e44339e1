"""What several commands share: reading sources, printing JSON, consoles, opening the sandbox."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.errors import InputError
from evoenv.records import Finding

if TYPE_CHECKING:
    from rich.console import Console

    from evoenv.sandbox.host import Sandbox

READ_AT_MOST = 1024 * 1024
"""Bytes read of an environment file: past the limit of L1 nothing more needs to be seen."""


def print_json(document: Any) -> None:
    """One document on stdout, and nothing else there."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
    sys.stdout.flush()


def console(stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def read_source(path: Path) -> tuple[str, Finding | None]:
    """The text of an environment file, or the finding that says why it has none.

    What the user can mend by naming another file is an InputError; what is wrong inside is a finding.
    """
    from evoenv.admission.generator_prompt import extract_source
    from evoenv.validation.codes import finding
    from evoenv.validation.l1_source import MAX_SOURCE_BYTES

    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder; give a file")
        if not path.is_file() and path.exists():
            raise InputError(f"{path} is not a regular file; give a Python file")
        size = path.stat().st_size
        with path.open("rb") as stream:
            raw = stream.read(READ_AT_MOST)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; give the path of a Python file") from error
    if size > MAX_SOURCE_BYTES:
        return "", finding("L1.too-large", f"the file has {size:,} bytes; the limit is {MAX_SOURCE_BYTES:,}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return "", finding("L1.not-text", f"byte {error.start} is not UTF-8 ({error.reason})")
    if "\x00" in text:
        return "", finding("L1.not-text", "the file contains NUL bytes: it is binary, not source")
    if path.suffix.lower() in (".md", ".txt"):
        return extract_source(text) or "", None
    return text, None


def parse_parameters(text: str | None) -> list[dict[str, Any]] | None:
    """`--parameters '[{"N": 3}, {"N": 5}]'`: one dict of knobs per difficulty level."""
    if text is None:
        return None
    try:
        levels = json.loads(text)
    except ValueError as error:
        raise InputError(f"--parameters is not JSON ({error}); expected a list of dicts, one per level") from error
    if not isinstance(levels, list) or not levels or not all(isinstance(level, dict) for level in levels):
        raise InputError("--parameters must be a non-empty JSON list of objects, one per difficulty level")
    return levels


def find_controller(path: Path) -> Path | None:
    """RLVE-Gym keeps `environments/X/environment.py` beside `parameter_controllers/X/parameter_controller.py`."""
    if path.name != "environment.py" or path.parent.parent.name != "environments":
        return None
    gym = path.parent.parent.parent
    candidate = gym / "parameter_controllers" / path.parent.name / "parameter_controller.py"
    return candidate if candidate.is_file() else None


def read_controller(path: Path | None) -> str | None:
    if path is None:
        return None
    text, problem = read_source(path)
    if problem is not None:
        raise InputError(f"the controller {path}: {problem.message}")
    return text


def add_environment_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--controller", type=Path, metavar="FILE", help="RLVE-Gym parameter controller of the environment"
    )
    parser.add_argument("--parameters", metavar="JSON", help="knobs of an RLVE-Gym environment: one dict per level")
    parser.add_argument(
        "--allow-degraded",
        action="store_true",
        help="run even where the kernel's isolation is incomplete (trusted code only)",
    )


def open_sandbox(arguments: argparse.Namespace) -> Sandbox:
    from evoenv.sandbox.host import Sandbox

    return Sandbox(allow_degraded=arguments.allow_degraded)
