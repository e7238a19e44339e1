"""Environment sets by name: seeds, corpus, files, folders, runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from loop_support import ORIGINALS, configuration, open_run

from evoenv.corpus import HELD_OUT, families, read_environment
from evoenv.environment.seeds import SEED_NAMES
from evoenv.environment.sets import load_environments
from evoenv.sandbox.host import Sandbox


def test_the_seeds_are_the_ten() -> None:
    assert tuple(load_environments("seeds")) == SEED_NAMES


def test_a_split_of_the_corpus_is_one_sound_program_of_each_of_its_families() -> None:
    found = load_environments("corpus:held-out")
    assert len(found) == len(families("held-out")) == len(HELD_OUT)
    assert all(read_environment(source).consistent for source in found.values())
    assert load_environments("corpus:held-out") == found
    assert len(load_environments("corpus:near")) == len(families("near"))


def test_so_many_programs_of_the_corpus() -> None:
    found = load_environments("corpus:train:12")
    assert 10 <= len(found) <= 12  # equal programs are one
    assert list(load_environments("corpus:train:3").values()) == list(found.values())[:3]


def test_a_folder_and_a_file(tmp_path: Path) -> None:
    for name, source in ORIGINALS.items():
        (tmp_path / f"{name}.py").write_text(source)
    (tmp_path / "Twice.py").write_text(ORIGINALS["FirstSeed"])
    (tmp_path / "__init__.py").write_text("")
    assert load_environments(str(tmp_path)) == ORIGINALS
    assert list(load_environments(str(tmp_path / "Twice.py"))) == ["Twice"]


@pytest.mark.sandbox
def test_the_pool_of_a_run(tmp_path: Path, sandbox: Sandbox) -> None:
    run, _ = open_run(tmp_path / "run", sandbox, configuration())
    run.close()
    assert load_environments(str(tmp_path / "run")) == ORIGINALS
