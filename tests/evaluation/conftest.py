from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evoenv.sandbox.host import Sandbox

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))


@pytest.fixture(scope="session")
def sandbox():
    with Sandbox() as sandbox:
        yield sandbox
