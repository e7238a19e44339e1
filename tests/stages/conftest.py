from __future__ import annotations

import pytest

from evoenv.sandbox.host import Sandbox


@pytest.fixture(scope="session")
def sandbox():
    with Sandbox() as sandbox:
        yield sandbox
