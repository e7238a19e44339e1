"""How thorough a run is: the inner loop (`pytest`) takes fewer examples than the whole (`./test`, `pytest -m slow`).

Hypothesis has no deadlines: on a busy machine a slow example is no failure.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import settings

settings.register_profile("thorough", deadline=None)
settings.register_profile("inner-loop", deadline=None, max_examples=25)


def is_thorough(config: pytest.Config) -> bool:
    return re.search(r"(^|\band )\s*not slow\b", config.getoption("markexpr")) is None


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("thorough" if is_thorough(config) else "inner-loop")


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    """Whether slow tests run too: then counts may be large."""
    return is_thorough(pytestconfig)
