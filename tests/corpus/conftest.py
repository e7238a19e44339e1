"""One sandbox for the whole area; hypothesis without deadlines, because the machine may be busy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from evoenv.sandbox.host import Sandbox

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox
