"""A weak model's start from a run: environments, verified answers, the run's own right responses and reviews."""

from __future__ import annotations

from pathlib import Path

import pytest
from loop_support import configuration, open_run

from evoenv.admission.generator_prompt import extract_source
from evoenv.admission.review import parse_verdict
from evoenv.environment.answers import extract_answer
from evoenv.errors import InputError
from evoenv.pool.store import Store
from evoenv.run import advance
from evoenv.sandbox.host import Sandbox
from evoenv.warmstart.from_run import RunPairs
from evoenv.warmstart.recipe import DataRecipe

DATA = DataRecipe(few_shot=1, difficulties=(0,), generator=0.4, solver=0.4, reviewer=0.2)


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Path:
    directory = tmp_path_factory.mktemp("run") / "run"
    run, _ = open_run(directory, sandbox, configuration())
    with run:
        advance(run, 3)
    return directory


def test_pairs_come_from_what_was_admitted_and_are_right(finished: Path, sandbox: Sandbox) -> None:
    pairs = RunPairs(finished, DATA, 0, sandbox)
    with Store.read(finished) as store:
        admitted = {store.source(record.id) for record in store.environments() if not record.original}
    assert {source.strip() for source in pairs.sources()} == {str(source).strip() for source in admitted}
    assert pairs.describe()["reviews"] > 0
    target = extract_source(pairs.pair_of("generator", 3).response)
    assert str(target).strip() in {str(source).strip() for source in admitted}
    assert parse_verdict(pairs.pair_of("reviewer", 1).response) in ("accept", "reject")
    for index in range(5):
        assert extract_answer(pairs.pair_of("solver", index).response) is not None
    assert pairs.pair(4) == RunPairs(finished, DATA, 0, sandbox).pair(4)


def test_a_run_without_admissions_is_refused(tmp_path: Path, sandbox: Sandbox) -> None:
    run, _ = open_run(tmp_path / "run", sandbox, configuration())
    with run:
        pass
    with pytest.raises(InputError, match="nothing to learn from"):
        RunPairs(tmp_path / "run", DATA, 0, sandbox)


def test_environments_that_no_longer_validate_are_refused(
    finished: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The allow-list shrinks under the run: nothing in it passes any more."""
    from evoenv.validation import validate as module

    kept = module.validate
    monkeypatch.setattr(
        "evoenv.warmstart.from_run.validate", lambda source, box: kept(source, box, allowed_imports=("math",))
    )
    with pytest.raises(InputError, match="reaches L5 any more"):
        RunPairs(finished, DATA, 0, sandbox)


def test_too_few_environments_for_the_examples_are_refused(finished: Path, sandbox: Sandbox) -> None:
    with pytest.raises(InputError, match=r"data\.few_shot"):
        RunPairs(finished, DataRecipe(few_shot=50, difficulties=(0,)), 0, sandbox)
