"""Write the standalone scorer: `api.py`, the sandbox it needs, the environments and a manifest.

The sandbox is carried whole, not imitated: the same code gives the same scores, and model-written code is confined
wherever the export is used. It needs the standard library alone, and its imports are made relative, so that the
directory works under any name and inside any package, beside an installed EvoEnv or without one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import evoenv
from evoenv.exchange.bundle import PoolEntry, to_metadata
from evoenv.exchange.folder import write_json, write_pool
from evoenv.prompts.solver import SOLVER_PROMPT
from evoenv.prompts.texts import load_prompt

PACKAGE = Path(evoenv.__file__).parent
CARRIED = (
    "errors.py",
    "ids.py",
    "records.py",
    "thinking.py",
    "environment/__init__.py",
    "environment/answers.py",
    "sandbox/__init__.py",
    "sandbox/host.py",
    "sandbox/imports.py",
    "sandbox/launcher.py",
    "sandbox/layers.py",
    "sandbox/outcomes.py",
    "sandbox/pool.py",
    "sandbox/process.py",
    "sandbox/protocol.py",
)
GUEST = "sandbox/guest"
"""Copied to the byte: its files run in processes of their own, which know them under their real names."""
FORMAT, VERSION = "evoenv-scorer", 1
_IMPORT = re.compile(r"^(\s*)from evoenv\.", re.MULTILINE)

LOADER_IMPORT = "from evoenv.exchange.scorer.loading import load_scorer\n"


def write_scorer(entries: Sequence[PoolEntry], directory: Path) -> None:
    """Write a directory that scores answers to these environments with the standard library alone."""
    root = directory / "_evoenv"
    pool = directory / "environments"
    pool.mkdir(parents=True)
    write_pool(entries, pool)
    write_json(directory / "manifest.json", manifest(entries))
    _write(directory / "__init__.py", _relative((PACKAGE / "exchange/scorer/api.py").read_text("utf-8"), "._evoenv."))
    _write(directory / "__main__.py", template("scorer_main.py"))
    head = (
        f'"""Part of EvoEnv {evoenv.__version__} (Apache-2.0), carried along so that scoring needs nothing else."""\n'
    )
    _write(root / "__init__.py", head)
    for name in CARRIED:
        dots = "." * (name.count("/") + 1)
        _write(root / name, _relative((PACKAGE / name).read_text("utf-8"), dots))
    for path in sorted((PACKAGE / GUEST).glob("*.py")):
        _write(root / GUEST / path.name, path.read_text("utf-8"))


STAMPS = ("origin", "licence", "modules", "tags", "validation", "calibration", "asymmetry")
"""What a manifest says of each environment, of all that a pool keeps."""


def manifest(entries: Sequence[PoolEntry]) -> dict[str, object]:
    """Describe what the scorer offers, with the stamps by which each environment can be checked."""
    rows = []
    for entry in entries:
        metadata = to_metadata(entry)
        rows.append(
            {
                "id": entry.id,
                "name": entry.name,
                "file": f"{entry.stem}.py",
                "sha256": hashlib.sha256(entry.source.encode("utf-8", "surrogatepass")).hexdigest(),
                **{key: metadata[key] for key in STAMPS},
            }
        )
    return {
        "format": FORMAT,
        "version": VERSION,
        "evoenv": evoenv.__version__,
        "solver_prompt": load_prompt(SOLVER_PROMPT),
        "environments": rows,
    }


def template(name: str) -> str:
    """Return a file of `templates/` that needs nothing but the scorer beside it."""
    text = (PACKAGE / "exchange/templates" / name).read_text("utf-8")
    loader = (PACKAGE / "exchange/scorer/loading.py").read_text("utf-8").partition("import annotations\n")[2]
    imported = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    lines = [line for line in loader.strip().splitlines() if line not in imported]
    return text.replace(LOADER_IMPORT, "\n".join(lines) + "\n")


def _relative(text: str, prefix: str) -> str:
    return _IMPORT.sub(rf"\1from {prefix}", text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
