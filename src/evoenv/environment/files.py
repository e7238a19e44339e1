"""Read environment files: which files of a folder they are, what a file may hold, and the controllers of RLVE-Gym."""

from __future__ import annotations

import ast
from pathlib import Path

from evoenv.environment.answers import extract_source
from evoenv.errors import InputError
from evoenv.records import Finding
from evoenv.validation.codes import finding
from evoenv.validation.l1_source import MAX_SOURCE_BYTES

READ_AT_MOST = 1024 * 1024
"""Bytes read of an environment file: past the limit of L1 nothing more needs to be seen."""
NOT_ENVIRONMENTS = ("parameter_controller.py", "setup.py", "conftest.py")


def short(path: object) -> str:
    """Shorten a path for a message: a name of thousands of characters is cut in the middle."""
    text = str(path)
    return text if len(text) <= 200 else f"{text[:90]}…{text[-90:]}"


# --------------------------------------------------------------------------- one file


def read_source(path: Path) -> tuple[str, Finding | None]:
    """Return the text of an environment file, or the finding that says why it has none.

    What the user can mend by naming another file is an InputError; what is wrong inside is a finding.
    """
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


def imported_modules(source: str) -> set[str]:
    """Return the names of the top-level modules that a source imports; none if it cannot be parsed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names}


# --------------------------------------------------------------------------- folders


def environment_files(folder: Path) -> list[Path]:
    """List the environment files of a folder and its subfolders, in order.

    They are Python files, without hidden ones, those whose name begins with an underscore, controllers and files of
    packaging and tests. Of a checkout of RLVE-Gym they are those with a controller, which leaves out its base classes.
    """
    files = sorted(file for file in folder.rglob("*.py") if _may_be_environment(file.relative_to(folder)))
    if (folder / "environments").is_dir() and (folder / "parameter_controllers").is_dir():
        files = [file for file in files if find_controller(file) is not None]
    return [file for file in files if file.is_file()]


def _may_be_environment(path: Path) -> bool:
    hidden = any(part.startswith((".", "__")) for part in path.parts) or path.name.startswith("_")
    return not hidden and path.name not in NOT_ENVIRONMENTS


# --------------------------------------------------------------------------- controllers of RLVE-Gym


def find_controller(path: Path) -> Path | None:
    """Find an environment's controller in a checkout of RLVE-Gym, or None.

    RLVE-Gym keeps `environments/X/environment.py` beside `parameter_controllers/X/parameter_controller.py`.
    """
    if path.name != "environment.py" or path.parent.parent.name != "environments":
        return None
    gym = path.parent.parent.parent
    candidate = gym / "parameter_controllers" / path.parent.name / "parameter_controller.py"
    return candidate if candidate.is_file() else None


def read_controller(path: Path | None) -> str | None:
    """Return the text of a controller; None without a path, InputError if the file cannot be used."""
    if path is None:
        return None
    text, problem = read_source(path)
    if problem is not None:
        raise InputError(f"the controller {short(path)}: {problem.message}")
    return text


def join_controller(source: str, controller: str) -> tuple[str, Finding | None]:
    """Join environment and controller in one text, or return the finding that says why they cannot share one.

    A pool keeps one source under one id, so nothing downstream needs to know of controllers.
    """
    try:
        first, second = _defined_names(source), _defined_names(controller)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source, None  # validation says what is wrong with it; the controller would only add to it
    if both := sorted(first & second):
        message = f"environment and controller both define {', '.join(both[:5])}; rename one of the two"
        return source, finding("L1.several-classes", message)
    lines = [line for line in controller.splitlines() if not line.startswith("from __future__ ")]
    return f"{source.rstrip()}\n\n\n# The controller: difficulty to knobs.\n\n" + "\n".join(lines).strip() + "\n", None


def _defined_names(source: str) -> set[str]:
    """Return the names that a module defines at the top, without imports: those may repeat."""
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return names
