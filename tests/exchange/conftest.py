from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evoenv.cli import main
from evoenv.exchange.bundle import PoolEntry, load_entries
from evoenv.sandbox.host import Sandbox

sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def seeds(sandbox: Sandbox) -> list[PoolEntry]:
    return load_entries("seeds", sandbox=sandbox)


@pytest.fixture(scope="session")
def run_directory(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Path:
    """A run that was really run: originals, admissions, retirements."""
    from loop_support import configuration, open_run

    from evoenv.run import advance

    directory = tmp_path_factory.mktemp("run") / "run"
    run, _ = open_run(directory, sandbox, configuration(run={"steps": 2}))
    advance(run)
    run.close()
    return directory


@pytest.fixture(scope="session")
def jsonl_export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("export") / "seeds-export"
    assert main(["export", "seeds", "--to", "jsonl", "-o", str(directory), "--instances", "8"]) == 0
    return directory
