"""docs/library.md and examples/: what they show is what happens."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import evoenv

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.sandbox


def test_every_example_of_the_page_prints_what_stands_below_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)\n```\n(?:\n```text\n(.*?)```)?", PAGE, re.DOTALL)
    assert len(blocks) == PAGE.count("\n```python\n") >= 8
    names: dict[str, Any] = {"__name__": "page"}
    for source, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "docs/library.md", "exec"), names)
        assert printed.getvalue() == expected


def test_the_page_names_every_function_of_the_public_surface() -> None:
    functions = [name for name in evoenv.__all__ if name[0].islower() and name != "environment_id"]
    assert [name for name in functions if f"`{name}" not in PAGE and f".{name}" not in PAGE] == ["preset_names"]


def example(name: str, *arguments: object) -> list[str]:
    command = [sys.executable, ROOT / "examples" / name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_example_validates_an_environment_and_scores_answers() -> None:
    first, *instances = example("validate_and_score.py")
    assert first == "Digits: layer 5 of 5"
    assert len(instances) == 2
    assert all("scores 1, 0 scores 0" in line for line in instances)


def test_an_example_validates_a_broken_environment_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("class Broken:\n    pass\n")
    command = [sys.executable, ROOT / "examples" / "validate_and_score.py", tmp_path / "broken.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "L1.no-class" in done.stdout


def test_an_example_synthesises_a_pool(tmp_path: Path) -> None:
    first, *admitted = example("synthesise_a_pool.py", tmp_path / "run")
    assert first == "4 proposed, 4 admitted"
    assert all("layer 5" in line for line in admitted)


def test_an_example_trains_and_evaluates(tmp_path: Path) -> None:
    *steps, last = example("train_and_evaluate.py", tmp_path / "run")
    assert [line.partition(":")[0] for line in steps] == ["step 1", "step 2"]
    assert last.startswith("held-out accuracy: 0.")
