"""The scripted world of the loop's tests is a module of theirs; curricula are tested with it too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evoenv.sandbox.host import Sandbox

sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened
