"""Fixtures: runs for the tests of the report and of the live view, written straight into a store once per session."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three steps of twenty candidates, every fate among them; nothing was executed."""
    from report_support import large_run  # here: only the folders that use it have it on their path

    directory = tmp_path_factory.mktemp("written") / "small"
    large_run(directory, 3, 20)
    return directory


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a run whose candidates attack whoever looks at them."""
    from report_support import hostile_run  # here: only the folders that use it have it on their path

    directory = tmp_path_factory.mktemp("hostile") / "run"
    hostile_run(directory)
    return directory
