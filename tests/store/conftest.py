"""A fresh store for every test that asks for one."""

from __future__ import annotations

import pytest

from evoenv.store.store import Store


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "run", {"run": {"seed": 3}}, {"evoenv": "0"}) as store:
        yield store
