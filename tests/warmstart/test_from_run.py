"""A weak model's start from a run: environments, verified answers, the run's own right responses and reviews."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from loop_support import configuration, open_run

from evoenv.admission.review import parse_verdict
from evoenv.cli import main
from evoenv.corpus import Author
from evoenv.environment.answers import extract_answer, extract_source
from evoenv.errors import InputError
from evoenv.exchange.bundle import modules_of
from evoenv.records import Request, Sample
from evoenv.run import advance
from evoenv.sandbox.host import Sandbox
from evoenv.store.store import Store
from evoenv.warmstart.abilities import Abilities
from evoenv.warmstart.from_run import RunPairs, entries_of, still_valid
from evoenv.warmstart.recipe import DataRecipe, load_recipe

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
        "evoenv.exchange.checking.validate", lambda source, box, **_: kept(source, box, allowed_imports=("math",))
    )
    with pytest.raises(InputError, match="reaches L5 any more"):
        RunPairs(finished, DATA, 0, sandbox)


def test_too_few_environments_for_the_examples_are_refused(finished: Path, sandbox: Sandbox) -> None:
    with pytest.raises(InputError, match=r"data\.few_shot"):
        RunPairs(finished, DataRecipe(few_shot=50, difficulties=(0,)), 0, sandbox)


def test_modules_allowed_by_name_are_allowed_here_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    author = Author(3, "basic")
    for index in range(3):
        source = author.compose(index).source.replace(
            "import random", "import random\nfrom colorsys import rgb_to_hsv", 1
        )
        source = source.replace("rng = random.Random(seed)", "rng = random.Random(seed + int(rgb_to_hsv(0, 0, 0)[2]))")
        (tmp_path / f"one{index}.py").write_text(source)
    entries = entries_of(tmp_path, ("colorsys",))
    with Sandbox(modules=modules_of(entries)) as allowing:
        assert len(still_valid(tmp_path, entries, allowing)) == 3
    output = tmp_path / "warm"
    assert main(["warm-start", "--model", "tiny-test", "--from-run", str(tmp_path), "-o", str(output)]) == 2
    assert "L1.import" in capsys.readouterr().err
    assert not output.exists()


def test_the_solver_is_measured_on_environments_of_the_run(finished: Path, sandbox: Sandbox) -> None:
    pairs = RunPairs(finished, DATA, 0, sandbox)
    recipe = load_recipe("laptop", ["checks.candidates=0", "checks.problems=8"])
    told: list[str] = []

    class Mute:
        def sample(self, requests: Sequence[Request]) -> Iterator[Sample]:
            return (Sample(request.id, 0, "I do not know") for request in requests)

    found = Abilities(recipe, pairs, sandbox).measure(Mute(), told.append)  # type: ignore[arg-type]
    assert list(found["solver"]) == ["environments shown"]
    assert found["solver"]["environments shown"]["problems"] == 8
    assert found["solver"]["environments shown"]["format_failures"] == 1.0
    assert told == ["solver: environments shown"]
    assert pairs.describe()["kept_for_measuring"] == 0
