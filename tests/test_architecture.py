"""docs/architecture.md says where things are: its links resolve, its tree is the package, it follows evolve.py."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PACKAGE = ROOT / "src" / "evoenv"
LINKS = re.findall(r"\]\(([^)\s#]+\.py)#([^)\s]+)\)", PAGE.read_text(encoding="utf-8"))


def defined(path: Path) -> set[str]:
    """Return the names of a file's functions and classes, methods as Class.method."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names.update(f"{node.name}.{item.name}" for item in node.body if isinstance(item, ast.FunctionDef))
    return names


@pytest.mark.parametrize(("file", "name"), LINKS, ids=[f"{Path(file).stem}-{name}" for file, name in LINKS])
def test_every_link_leads_to_a_function_or_class(file: str, name: str) -> None:
    path = (PAGE.parent / file).resolve()
    assert path.is_file(), f"{file} is gone; link to the file that has {name} now"
    assert name in defined(path), f"{file} has no {name}"


def test_every_stage_of_the_iteration_has_its_link() -> None:
    tree = ast.parse((PACKAGE / "evolve.py").read_text(encoding="utf-8"))
    stages = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evoenv.stages")
        for alias in node.names
        if alias.name.islower()
    }
    linked = {(file, name) for file, name in LINKS}
    assert len(stages) >= 8
    missing = [
        name for name, module in stages.items() if (f"../src/{(module or '').replace('.', '/')}.py", name) not in linked
    ]
    assert missing == []


def test_the_tree_is_the_package() -> None:
    block = re.search(r"```\nsrc/evoenv/\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    listed = {line.split()[0].rstrip("/") for line in block[1].splitlines()}
    there = {path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert listed == there
