"""A real server in front of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

if find_spec("starlette") is None or find_spec("uvicorn") is None:  # the extra `watch`: there is nothing to test
    collect_ignore_glob = ["test_*.py"]
else:
    from watch_support import Served, serving


@pytest.fixture
def serve() -> Callable[..., Any]:
    return serving


@pytest.fixture(scope="module")
def small(small_run: Path) -> Iterator[Served]:
    with serving(small_run) as served:
        yield served
