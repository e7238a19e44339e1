"""What exports that are Python packages share: their name, the environments they hold, and the files they copy."""

from __future__ import annotations

import json
import keyword
import re
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import evoenv
from evoenv.errors import InputError
from evoenv.exchange.bundle import PoolEntry
from evoenv.exchange.export import Export
from evoenv.exchange.items import Item

PACKAGE = Path(evoenv.__file__).parent
TEMPLATES = PACKAGE / "exchange" / "templates"


def module_name(export: Export, *taken: str) -> str:
    """Return the package's name for `import`; refuse it if something else is already imported by that name."""
    name = export.name.replace("-", "_")
    if name in taken or name in sys.stdlib_module_names or keyword.iskeyword(name) or name == "evoenv":
        raise InputError(
            f"a package cannot be called {export.name!r}: Python or its consumer has one of that name; choose another "
            "with --name"
        )
    return name


def requirements(entries: Iterable[PoolEntry], *own: str) -> list[str]:
    """List what a package depends on: its consumer, and what environments were allowed to import."""
    modules = sorted({module for entry in entries for module in entry.modules} - set(sys.stdlib_module_names))
    distributions = metadata.packages_distributions() if modules else {}
    named = {canonical(re.split(r"[<>=]", requirement)[0]) for requirement in own}
    needed = dict.fromkeys(canonical(distributions.get(module, [module])[0]) for module in modules)
    return [*own, *(f"{name}{_at_least(name)}" for name in needed if name not in named)]


def pyproject(export: Export, package: str, form: str, *own: str) -> str:
    """Write the package's metadata; `form` says what it is to its consumer."""
    return f"""\
[project]
name = "{export.name}"
version = "0.1.0"
description = "Verified environments from EvoEnv, {form}"
readme = "README.md"
requires-python = ">=3.11"
dependencies = {json.dumps(requirements(export.entries, *own))}

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["{package}"]
"""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _at_least(name: str) -> str:
    """Return the version that validation has seen; an empty text if it is not installed here."""
    try:
        return f">={metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return ""


def copy_template(path: str, destination: Path) -> None:
    """Copy a file of `templates/` as it is."""
    copy_file(TEMPLATES / path, destination)


def copy_file(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_bytes(source.read_bytes())


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def item_key(item: Item) -> str:
    """Return the durable name of an instance; what the templates call `key`, too."""
    return f"{item.environment_id}-{item.seed}-{item.difficulty}"


def instance_row(item: Item) -> dict[str, object]:
    """Return what a package keeps of an instance: its name and what the solver sees, and no answer."""
    return {
        "environment_id": item.environment_id,
        "environment": item.name,
        "seed": item.seed,
        "difficulty": item.difficulty,
        "prompt": item.prompt,
    }


def environment_table(entries: Iterable[PoolEntry]) -> str:
    """Tabulate name, hash, origin, licence and verdict of each, in Markdown; the scorer's manifest has it all."""
    lines = ["| environment | id (hash of its source) | origin | licence | validation |", "|---|---|---|---|---|"]
    for entry in entries:
        cells = (
            entry.name,
            f"`{entry.id}`",
            entry.origin,
            entry.licence or "not stated",
            f"L{entry.report.layer}, {entry.report.family or 'scorer family unknown'}",
        )
        lines.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def stamp() -> str:
    return (
        f"Written by EvoEnv {evoenv.__version__}. `scorer/manifest.json` holds, for every environment, the SHA-256 of "
        "its source (checked before it is run), its origin, licence and validation report.\n"
    )


CONFINEMENT = (
    "The environments were written by language models or taken from elsewhere. They run in processes of their own "
    "without files, network or other processes (Linux: seccomp, Landlock, namespaces), with limits on time and memory. "
    "Where the kernel lacks the system call filter nothing runs unless `EVOENV_ALLOW_DEGRADED=1` is set.\n"
)
