"""The rules of the architecture, read off the imports: what thinks does not block, what is light stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import evoenv

PACKAGE = Path(evoenv.__file__).parent
HEAVY = {"torch", "transformers", "peft", "safetensors", "tokenizers"}
BLOCKING = {"socket", "subprocess", "sqlite3", "urllib", "http", "httpx", "requests", "shutil", "tempfile", "open"}


def imported(path: Path) -> Iterator[str]:
    """Top-level names of every import in a file, those inside functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]


def files(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in PACKAGE.glob(pattern))


@pytest.mark.parametrize(
    "path",
    files("validation/*.py", "admission/*.py", "pool/state.py", "pool/tags.py", "objective.py"),
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_what_thinks_imports_neither_torch_nor_io(path: Path) -> None:
    assert not set(imported(path)) & (HEAVY | BLOCKING)


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in files("**/*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("models", "training", "engines", "warmstart")
    ],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_torch_is_imported_only_where_models_live(path: Path) -> None:
    assert not set(imported(path)) & HEAVY


def calls(path: Path) -> Iterator[str]:
    """What a file calls by name: `Sandbox(…)`, `LocalPolicy.open(…)`, `host.Sandbox(…)`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


OPENED = ("Sandbox", "LocalPolicy", "EndpointPolicy", "ScriptedPolicy", "MiniLMEmbedder", "HashingEmbedder")


def opens(name: str) -> bool:
    """Whether a call makes a sandbox, a policy or an embedder, also by a method of the class or from its module."""
    return any(part in OPENED for part in name.split("."))


def test_only_the_assembly_opens_policies_sandboxes_and_embedders() -> None:
    found = {str(path.relative_to(PACKAGE)): name for path in files("**/*.py") for name in calls(path) if opens(name)}
    # The scorer that an export carries runs where EvoEnv is not installed, so it opens its own sandbox.
    assert sorted(found) == ["assembly.py", "exchange/scorer/api.py"]


@pytest.mark.parametrize("path", files("sandbox/guest/*.py"), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_guest_needs_the_standard_library_alone(path: Path) -> None:
    assert set(imported(path)) <= {*sys.stdlib_module_names, "evoenv"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evoenv"):
            assert (node.module or "").startswith("evoenv.sandbox.guest")


def test_help_starts_without_the_heavy_parts() -> None:
    probe = (
        "import sys\nfrom evoenv.cli import main\n"
        "try:\n    main(['validate', '--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'torch', 'transformers', 'numpy', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "--json" in done.stdout


def test_files_fit_in_one_sitting() -> None:
    long = {str(path.relative_to(PACKAGE)): count for path in files("**/*.py") if (count := _lines(path)) > 500}
    assert not long


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())
