"""Reading environment files: what a file may be, and what is said where it is not that."""

from __future__ import annotations

from pathlib import Path

from evoenv.errors import InputError
from evoenv.records import Finding

READ_AT_MOST = 1024 * 1024
"""Bytes read of an environment file: past the limit of L1 nothing more needs to be seen."""


def short(path: object) -> str:
    """A path for a message: a name of thousands of characters is cut in the middle."""
    text = str(path)
    return text if len(text) <= 200 else f"{text[:90]}…{text[-90:]}"


def read_source(path: Path) -> tuple[str, Finding | None]:
    """The text of an environment file, or the finding that says why it has none.

    What the user can mend by naming another file is an InputError; what is wrong inside is a finding.
    """
    from evoenv.prompts.generator import extract_source
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
