"""What the documents show is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evoenv.cli import COMMANDS
from evoenv.sandbox.host import Sandbox
from evoenv.validation.validate import validate

ROOT = Path(__file__).parents[1]
# Of a page that a script makes, what is made is looked at: a part of README.md has its links from there.
MADE = (path for path in sorted((ROOT / "docs").rglob("*.md")) if not path.name.endswith(".in.md"))
PAGES = [ROOT / "README.md", *MADE]


@pytest.mark.sandbox
def test_the_example_environment_reaches_the_top_layer() -> None:
    page = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    source = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert source is not None
    with Sandbox() as sandbox:
        report = validate(source.group(1), sandbox)
    assert (report.layer, report.class_name) == (5, "Digits")


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"evoenv {name}" not in readme] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)#\s]+)\)", text) if "://" not in link]
    named = re.findall(r"python ((?:benchmarks|docs)/\w+\.py)", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing + [name for name in named if not (ROOT / name).exists()] == []
