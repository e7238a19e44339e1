"""Tests of the verl engine: they need an environment of its own, which `./test verl` makes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "engines")]

if importlib.util.find_spec("ray") is not None:
    import cpu_platform

    cpu_platform.prepare()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.peer)
            item.add_marker(pytest.mark.timeout(1200))
