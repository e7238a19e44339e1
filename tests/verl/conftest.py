"""Tests of the verl engine: they need an environment of its own, which `./test verl` makes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
GROUPS = {"test_verl_engine": "engine", "test_verl_faults": "faults", "test_verl_sandboxes": "nodes"}
"""Tests that share a cluster stay in one process; all others may run beside them."""
sys.path[:0] = [str(HERE), str(HERE.parent / "engines")]

if importlib.util.find_spec("ray") is not None:
    import cpu_platform

    cpu_platform.prepare()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.peer)
            item.add_marker(pytest.mark.timeout(1200))
            if group := GROUPS.get(item.path.stem):
                item.add_marker(pytest.mark.xdist_group(group))
