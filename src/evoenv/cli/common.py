"""What several commands share: reading sources, printing JSON, consoles, opening the sandbox."""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.errors import InputError
from evoenv.records import Finding

if TYPE_CHECKING:
    from rich.console import Console

    from evoenv.sandbox.host import Sandbox

_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What JSON does not escape by itself and a terminal obeys, or an encoder cannot say."""
_OBEYED_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")

READ_AT_MOST = 1024 * 1024
"""Bytes read of an environment file: past the limit of L1 nothing more needs to be seen."""
MAX_PARAMETER_DEPTH = 40


def print_json(document: Any) -> None:
    """One document on stdout, and nothing else there: valid in any encoding, and safe to look at on a terminal."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=not unicode)
    sys.stdout.write(_UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    sys.stdout.flush()


def visible(text: str) -> str:
    """Text from a candidate or a file name, safe on a terminal: control characters are shown, not obeyed."""
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode()
        if char not in "\n\t" and unicodedata.category(char) in _OBEYED_CATEGORIES
        else char
        for char in text
    )


def short(path: object) -> str:
    """A path for a message: a name of thousands of characters is cut in the middle."""
    text = str(path)
    return text if len(text) <= 200 else f"{text[:90]}…{text[-90:]}"


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
            raise InputError(f"{short(path)} is a folder; give a file")
        if not path.is_file() and path.exists():
            raise InputError(f"{short(path)} is not a regular file; give a Python file")
        size = path.stat().st_size
        with path.open("rb") as stream:
            raw = stream.read(READ_AT_MOST)
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {short(path)}: {reason}; give the path of a Python file") from error
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
        if nesting(levels) > MAX_PARAMETER_DEPTH:
            raise RecursionError
    except ValueError as error:
        raise InputError(f"--parameters is not JSON ({error}); expected a list of dicts, one per level") from error
    except RecursionError:
        raise InputError(
            f"--parameters is nested deeper than {MAX_PARAMETER_DEPTH}; expected a list of dicts, one per level"
        ) from None
    if not isinstance(levels, list) or not levels or not all(isinstance(level, dict) for level in levels):
        raise InputError("--parameters must be a non-empty JSON list of objects, one per difficulty level")
    return levels


def nesting(value: Any) -> int:
    """Containers within containers, of a JSON value."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, (dict, list))]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


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
        raise InputError(f"the controller {short(path)}: {problem.message}")
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
