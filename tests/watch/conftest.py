"""Runs to look at, and a real server in front of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from report_support import hostile_run, large_run

if find_spec("starlette") is None or find_spec("uvicorn") is None:  # the extra `watch`: there is nothing to test
    collect_ignore_glob = ["test_*.py"]
else:
    from watch_support import Served, serving


@pytest.fixture
def serve() -> Callable[..., Any]:
    return serving


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps of twenty candidates, every fate among them; nothing was executed."""
    directory = tmp_path_factory.mktemp("watched") / "small"
    large_run(directory, 3, 20)
    return directory


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("hostile") / "run"
    hostile_run(directory)
    return directory


@pytest.fixture(scope="module")
def small(small_run: Path) -> Iterator[Served]:
    with serving(small_run) as served:
        yield served
