"""Taking environments in: through validation, with origin and licence, and modules only by name."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from exchange_support import (
    GYM_CONTROLLER,
    GYM_ENVIRONMENT,
    MIT,
    USES_CMATH,
    USES_NUMPY,
    contents,
    evoenv,
    lines,
    make_gym,
    one_line,
)

from evoenv.engines.scripted import ScriptedPolicy
from evoenv.environment.files import join_controller
from evoenv.environment.seeds import seed_source
from evoenv.environment.sets import SourceFiles
from evoenv.exchange.folder import read_pool
from evoenv.exchange.licences import recognise
from evoenv.exchange.scorer.loading import load_scorer
from evoenv.exchange.sources import read_sources
from evoenv.records import environment_id
from evoenv.sandbox.host import Sandbox

pytestmark = pytest.mark.sandbox


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sound environments, one of them twice, one that needs numpy, and one that is broken."""
    directory = tmp_path / "mine"
    (directory / "deep").mkdir(parents=True)
    (directory / "sorting.py").write_text(seed_source("Sorting"))
    (directory / "deep" / "sorting_again.py").write_text(seed_source("Sorting"))
    (directory / "fibonacci.py").write_text(seed_source("Fibonacci"))
    (directory / "numeric.py").write_text(USES_NUMPY)
    (directory / "broken.py").write_text("class Broken:\n    pass\n")
    (directory / "binary.py").write_bytes(b"\xff\xfe\x00")
    return directory


def test_a_folder_is_judged_and_what_passes_is_kept_with_its_origin(folder: Path, tmp_path: Path) -> None:
    said = json.loads(evoenv("import", folder, "--pool", tmp_path / "pool", "--licence", "CC0-1.0", "--json"))
    entries = read_pool(tmp_path / "pool")
    assert [(entry.name, entry.origin, entry.licence) for entry in entries] == [
        ("Sorting", "mine/deep/sorting_again", "CC0-1.0"),
        ("Fibonacci", "mine/fibonacci", "CC0-1.0"),
    ]
    assert all(entry.report.passed and entry.original and entry.tags for entry in entries)
    refused = {one["name"]: one["findings"][0] for one in said["refused"]}
    assert {name: finding["code"] for name, finding in refused.items()} == {
        "Totals": "L1.import",
        "broken": "L1.no-class",
        "binary": "L1.not-text",
    }
    assert refused["Totals"]["hint"] == "if you trust the code, allow it by name: --allow-module numpy"


@pytest.mark.slow
def test_a_module_allowed_by_name_goes_all_the_way(folder: Path, tmp_path: Path) -> None:
    """Import, pool, export, scorer: the module is recorded where it is needed, and nowhere else."""
    allow = ("--allow-module", "numpy")
    evoenv("import", folder, "--pool", tmp_path / "pool", *allow)
    modules = {entry.name: entry.modules for entry in read_pool(tmp_path / "pool")}
    assert modules == {"Sorting": (), "Fibonacci": (), "Totals": ("numpy",)}
    out = tmp_path / "out"
    export = ("export", tmp_path / "pool", "--to", "jsonl", "-o", out, "--instances", "4", "--only", "Totals")
    # A pool that comes from elsewhere cannot allow itself anything, whether its verdicts are believed or not.
    assert "--allow-module numpy" in one_line(evoenv(*export, expect=2))
    assert "--allow-module numpy" in one_line(evoenv(*export, "--trust", expect=2))
    evoenv(*export, *allow)
    scorer = load_scorer(out / "scorer")
    row = lines(out / "train.jsonl")[0]
    where = (row["environment_id"], row["seed"], row["difficulty"])
    assert scorer.score(*where, f"<answer>{row['answer']}</answer>") == 1.0
    assert scorer.score(*where, f"<answer>{int(row['answer']) + 1}</answer>") == 0.0
    scorer.close()


def test_a_run_keeps_the_modules_that_its_environments_were_allowed(tmp_path: Path, folder: Path) -> None:
    from evoenv.store.store import Store

    evoenv(
        "import", folder / "numeric.py", "--run", tmp_path / "run", "--allow-module", "numpy", "--preset", "tiny-test"
    )
    with Store.read(tmp_path / "run") as store:
        config = store.meta("config")
    assert config["validation"]["modules"] == ["numpy"]
    evoenv("pool", "pack", tmp_path / "run", tmp_path / "packed")  # the run was told already
    assert [entry.modules for entry in read_pool(tmp_path / "packed")] == [("numpy",)]


@pytest.fixture
def numeric_run(folder: Path, tmp_path: Path) -> Path:
    """A run whose only environment imports numpy, which was allowed by name."""
    directory = tmp_path / "numeric"
    evoenv("import", folder / "numeric.py", "--run", directory, "--allow-module", "numpy", "--preset", "tiny-test")
    return directory


def test_what_was_allowed_at_import_is_allowed_in_an_evaluation(
    numeric_run: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = ScriptedPolicy({"solver": "<answer>1</answer>"}, trainable=False)
    monkeypatch.setattr("evoenv.evaluation.subject.open_policy", lambda config: scripted)
    suites = "--suite", f"run:{numeric_run}", "--suite", folder / "numeric.py"
    few = "--difficulties", "0", "--instances", "2", "-o", tmp_path / "results", "--json"
    said = json.loads(evoenv("eval", "--model", "m", *suites, *few))
    of_run, of_file = said["suites"]
    assert (of_run["accuracy"]["n"], of_run["bad"]) == (2, [])
    # Beside it, what nobody allowed is still refused.
    assert (of_file["accuracy"], len(of_file["bad"])) == (None, 2)


def test_what_was_allowed_at_import_is_allowed_in_a_comparison(numeric_run: Path, tmp_path: Path) -> None:
    few = "--difficulties", "0", "--instances", "2", "--samples", "1", "--max-tokens", "8"
    of_what = "--curricula", "untrained", "--preset", "tiny-test", "--steps", "1", "--seeds", "0"
    evoenv("compare", *of_what, "--suite", f"run:{numeric_run}", *few, "--plain", "-o", tmp_path / "out")
    (accuracies,) = (tmp_path / "out").glob("runs/*/evaluations/step-00000-suite0.json")
    assert json.loads(accuracies.read_text())["problems"] == 2


def test_modules_of_the_standard_library_are_allowed_by_name_too(tmp_path: Path) -> None:
    (tmp_path / "exact.py").write_text(USES_CMATH)
    said = evoenv("import", tmp_path / "exact.py", "--pool", tmp_path / "pool", expect=1)
    assert "--allow-module cmath" in said
    assert not (tmp_path / "pool").exists()
    evoenv("import", tmp_path / "exact.py", "--pool", tmp_path / "pool", "--allow-module", "cmath")
    assert [entry.modules for entry in read_pool(tmp_path / "pool")] == [("cmath",)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--allow-module", "numpy.linalg"), "expected the name of a top-level module"),
        (("--allow-module", "no_such_module"), "there is no such module here; install it first"),
        (("--preset", "nano"), "--preset configures a new run"),
        (("--trust",), "bare sources, which carry no verdict to trust"),
    ],
)
def test_misuse_is_one_line(folder: Path, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    assert said in one_line(evoenv("import", folder, "--pool", tmp_path / "pool", *arguments, expect=2))


def test_nothing_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    place = ("--pool", tmp_path / "pool")
    assert "there is no" in one_line(evoenv("import", tmp_path / "nowhere", *place, expect=2))
    assert "holds no environment" in one_line(evoenv("import", tmp_path / "empty", *place, expect=2))


@pytest.mark.slow
def test_importing_again_changes_nothing(folder: Path, tmp_path: Path) -> None:
    evoenv("import", folder, "--pool", tmp_path / "pool")
    before = contents(tmp_path / "pool")
    said = json.loads(evoenv("import", folder, "--pool", tmp_path / "pool", "--json"))
    assert (said["imported"], said["present"]) == ([], 2)
    assert contents(tmp_path / "pool") == before
    evoenv("import", "seeds", "--pool", tmp_path / "pool")
    after = contents(tmp_path / "pool")
    assert {name: after[name] for name in before} == before
    assert len(read_pool(tmp_path / "pool")) == 10


# --------------------------------------------------------------------------- RLVE-Gym


def test_rlve_gym_pairs_become_one_source(tmp_path: Path, sandbox: Sandbox) -> None:
    gym = make_gym(tmp_path)
    evoenv("import", gym, "--pool", tmp_path / "pool", "--origin", "RLVE-Gym")
    (entry,) = read_pool(tmp_path / "pool")
    assert (entry.name, entry.dialect, entry.licence) == ("MaxProduct_Environment", "rlve", "MIT")
    assert entry.origin == "RLVE-Gym/max_product"
    # The joined source behaves as the pair does: same instances, same scores, at every level.
    with sandbox.open(entry.source) as joined, sandbox.open(GYM_ENVIRONMENT, controller=GYM_CONTROLLER) as pair:
        seeds = [random.Random(7).randrange(2**53) for _ in range(5)]
        for level in (0, 1, 5):
            assert joined.instances(seeds, level) == pair.instances(seeds, level)
            items = [
                (one.seed, level, text)
                for one in pair.instances(seeds, level)
                if one is not None
                for text in (str(one.reference), str(one.reference + 1), "none")
            ]
            scores = joined.score(items)
            assert scores == pair.score(items)
            assert [score.value for score in scores] == [1.0, 0.0, 0.0] * 5


def test_a_controller_that_clashes_is_refused_with_the_names() -> None:
    _, problem = join_controller("LIMIT = 3\nclass A: pass\n", "LIMIT = 4\nclass B: pass\n")
    assert problem is not None
    assert "both define LIMIT" in problem.message
    joined, problem = join_controller(
        "import random\nclass A: pass\n", "from __future__ import annotations\nimport random\n"
    )
    assert problem is None
    assert "__future__" not in joined


def test_a_gym_without_controllers_still_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "environment.py").write_text(GYM_ENVIRONMENT)
    said = evoenv("import", tmp_path / "environment.py", "--pool", tmp_path / "pool", expect=1)
    assert "MaxProduct_Environment" in said


# --------------------------------------------------------------------------- round trips and licences


@pytest.mark.slow
def test_import_pool_export_import_keeps_ids_instances_and_scores(tmp_path: Path, folder: Path) -> None:
    make_gym(tmp_path)
    evoenv("import", tmp_path / "rlve" / "Gym", "--pool", tmp_path / "pool")
    evoenv("import", folder, "--pool", tmp_path / "pool")
    wanted = ("--instances", "6", "--difficulties", "0,2")
    evoenv("export", tmp_path / "pool", "--to", "jsonl", "-o", tmp_path / "first", *wanted)
    evoenv("import", tmp_path / "first", "--run", tmp_path / "run")
    evoenv("export", tmp_path / "run", "--to", "jsonl", "-o", tmp_path / "second", *wanted)
    evoenv("import", tmp_path / "second", "--pool", tmp_path / "again")
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    assert contents(tmp_path / "pool") == contents(tmp_path / "again")
    ids = {environment_id(source) for source in (seed_source("Sorting"), seed_source("Fibonacci"))}
    assert ids < {entry.id for entry in read_pool(tmp_path / "again")}
    rows = lines(tmp_path / "first" / "train.jsonl")
    scorers = [load_scorer(tmp_path / name / "scorer") for name in ("first", "second")]
    items = [
        (row["environment_id"], row["seed"], row["difficulty"], f"<answer>{text}</answer>")
        for row in rows
        for text in (row["answer"], "7")
    ]
    first, second = (scorer.score_many(items) for scorer in scorers)
    assert first == second
    assert first[::2] == [1.0] * len(rows)
    for scorer in scorers:
        scorer.close()


def test_licences_are_told_by_their_text(tmp_path: Path) -> None:
    path = tmp_path / "LICENSE"
    for text, name in (
        (MIT, "MIT"),
        ("                 Apache License\n           Version 2.0, January 2004\n", "Apache-2.0"),
        ("GNU GENERAL PUBLIC LICENSE\n   Version 3, 29 June 2007", "GPL-3.0"),
        ("Redistribution and use in source and binary forms … Neither the name of the", "BSD-3-Clause"),
        ("All rights reserved.", "see LICENSE"),
    ):
        path.write_text(text)
        assert recognise(path) == name, name
    (tmp_path / "a.py").write_text("x = 1\n")
    assert read_sources(SourceFiles(tmp_path / "a.py"))[0].licence == "see LICENSE"
    assert read_sources(SourceFiles(tmp_path / "a.py"), licence="MIT")[0].licence == "MIT"
