"""Environment sets: one grammar for curricula, evaluations, audits and imports, and one loader behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evoenv.config import load_config
from evoenv.corpus import HELD_OUT, families, read_environment
from evoenv.environment.seeds import SEED_NAMES, seed_source
from evoenv.environment.sets import (
    CorpusPart,
    Datasets,
    EnvironmentSet,
    RunPool,
    Seeds,
    SourceFiles,
    check_environments,
    load_environments,
    load_set,
    modules_needed,
    parse_set,
)
from evoenv.errors import EvoEnvError, InputError
from evoenv.run import create
from evoenv.store.store import EnvironmentRecord

SORTING, FIBONACCI = seed_source("Sorting"), seed_source("Fibonacci")
USES_NUMPY = "import random\nimport numpy.linalg\n\nclass Totals:\n    pass\n"


def make_run(directory: Path, modules: str = "[]") -> Path:
    """Make a run that has taken no step, with two active environments and a retired one."""
    store, _ = create(directory, load_config(overrides=[f"validation.modules={modules}"]))
    with store, store.transaction():
        sources = {"Sorting": SORTING, "Totals": USES_NUMPY, "Gone": FIBONACCI}
        store.add_environments(
            EnvironmentRecord(store.add_source(source), name, original=True, active=name != "Gone")
            for name, source in sources.items()
        )
    return directory


def make_gym(directory: Path) -> Path:
    """Make the layout of RLVE-Gym, with a base class that is no environment."""
    for kind, file, text in (
        ("environments", "environment.py", "class Maze:\n    pass\n"),
        ("parameter_controllers", "parameter_controller.py", "class MazeController:\n    pass\n"),
    ):
        folder = directory / kind / "maze"
        folder.mkdir(parents=True)
        (folder / file).write_text(text)
    (directory / "environment.py").write_text("class VerifiableEnvironment:\n    pass\n")
    return directory


# --------------------------------------------------------------------------- the grammar


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("seeds", Seeds()),
        ("corpus", CorpusPart("all")),
        ("corpus:held-out", CorpusPart("held-out")),
        ("corpus:train:40", CorpusPart("train", 40)),
        ("reasoning-gym:chain_sum,leg_counting", Datasets(("chain_sum", "leg_counting"))),
        ("reasoning-gym:", Datasets(())),
        ("run:somewhere/mine", RunPool(Path("somewhere/mine"))),
        ("some/folder", SourceFiles(Path("some/folder"))),
        ("a.py", SourceFiles(Path("a.py"))),
        ("run:", SourceFiles(Path("run:"))),
        ("reasoning-gym", SourceFiles(Path("reasoning-gym"))),
    ],
)
def test_a_text_is_a_typed_value(text: str, named: EnvironmentSet) -> None:
    assert parse_set(text, where="here") == named


def test_the_path_of_a_run_is_that_run(tmp_path: Path) -> None:
    directory = make_run(tmp_path / "run")
    assert parse_set(str(directory), where="here") == RunPool(directory)


def test_a_path_goes_before_a_name_only_if_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seeds").mkdir()
    assert parse_set("seeds", where="here") == Seeds()
    assert parse_set("seeds", where="here", paths_first=True) == SourceFiles(Path("seeds"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("corpus:test", "here: the corpus has no split 'test'; expected train, basic, paired, held-out or near"),
        ("corpus:", "the corpus has no split ''"),
        ("corpus:train:0", "expected 1 to 99999 of them, as in corpus:train:40"),
        ("corpus:train:many", "expected 1 to 99999"),
        ("run:{tmp}", "there is no run in"),
        ("{tmp}/none", "here: there is no '{tmp}/none'; expected `seeds`, `corpus:SPLIT`"),
        ("{tmp}", "the folder {tmp} holds no environment file; expected"),
        ("{tmp}/image.bin", "image.bin: byte 0 is not UTF-8"),
        ("x" * 5000, "File name too long"),
    ],
)
def test_what_names_nothing_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "image.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EvoEnvError) as caught:
        load_set(parse_set(text.format(tmp=tmp_path), where="here"), where="here")
    assert words.format(tmp=tmp_path) in str(caught.value)


# --------------------------------------------------------------------------- the loader


def test_the_seeds_are_the_ten() -> None:
    assert [entry.name for entry in load_set(Seeds(), where="here")] == list(SEED_NAMES)


def test_a_split_of_the_corpus_is_one_sound_program_of_each_of_its_families() -> None:
    entries = load_set(CorpusPart("held-out"), where="here")
    assert sorted(entry.family for entry in entries) == sorted(HELD_OUT)
    assert all(read_environment(entry.source).consistent for entry in entries)
    assert load_set(CorpusPart("held-out"), where="here") == entries
    assert len(load_set(CorpusPart("near"), where="here")) == len(families("near"))


def test_a_number_of_programs_is_the_first_ones_or_that_many_different_ones() -> None:
    entries = load_set(CorpusPart("train", 12), where="here")
    assert 10 <= len(entries) <= 12  # equal programs are one
    assert load_set(CorpusPart("train", 3), where="here") == entries[:3]
    assert len(load_set(CorpusPart("basic", 60, distinct=True), where="here")) == 60


def test_a_folder_is_its_python_files_each_content_once(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.py").write_text(SORTING)
    (tmp_path / "a.py").write_text(SORTING)
    (tmp_path / "sub" / "c.py").write_text(FIBONACCI)
    for other in ("__init__.py", "_helper.py", ".hidden.py", "setup.py", "conftest.py", "sub/notes.txt"):
        (tmp_path / other).write_text("x = 1\n")
    entries = load_set(SourceFiles(tmp_path), where="here")
    assert [(entry.name, entry.path) for entry in entries] == [("a", "a.py"), ("c", "sub/c.py")]
    (one,) = load_set(SourceFiles(tmp_path / "_helper.py"), where="here")
    assert (one.name, one.source) == ("_helper", "x = 1\n")


def test_an_unreadable_file_is_refused_or_kept_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SORTING)
    (tmp_path / "b.py").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"b\.py: byte 0 is not UTF-8"):
        load_set(SourceFiles(tmp_path), where="here")
    sound, broken = load_set(SourceFiles(tmp_path), where="here", keep_unreadable=True)
    assert sound.problem is None
    assert broken.problem is not None
    assert broken.problem.code == "L1.not-text"


def test_environments_of_rlve_gym_come_with_their_controllers(tmp_path: Path) -> None:
    (entry,) = load_set(SourceFiles(make_gym(tmp_path / "Gym")), where="here")
    assert (entry.name, entry.path) == ("maze", "environments/maze/environment.py")
    assert entry.controller == "class MazeController:\n    pass\n"
    (tmp_path / "Gym/parameter_controllers/maze/parameter_controller.py").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"its controller .*parameter_controller\.py: byte 0 is not UTF-8"):
        load_set(SourceFiles(tmp_path / "Gym"), where="here")


def test_the_pool_of_a_run_is_its_active_environments_with_the_modules_that_the_run_allows(tmp_path: Path) -> None:
    entries = load_set(RunPool(make_run(tmp_path / "run", '["numpy", "sympy"]')), where="here")
    assert [(entry.name, entry.modules) for entry in entries] == [("Sorting", ()), ("Totals", ("numpy",))]
    assert modules_needed(entries) == ("numpy",)
    assert modules_needed(load_set(RunPool(make_run(tmp_path / "strict")), where="here")) == ()


def test_files_get_only_modules_that_they_import_and_the_user_allows(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(USES_NUMPY)
    (tmp_path / "b.py").write_text(SORTING)
    entries = load_set(SourceFiles(tmp_path), where="here", modules=("numpy", "sympy"))
    assert [entry.modules for entry in entries] == [("numpy",), ()]
    assert modules_needed(load_set(SourceFiles(tmp_path), where="here")) == ()


# --------------------------------------------------------------------------- what a curriculum starts from


def test_a_curriculum_gets_one_source_under_each_name(tmp_path: Path) -> None:
    assert tuple(load_environments("seeds")) == SEED_NAMES
    for folder, source in (("x", SORTING), ("y", FIBONACCI)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.py").write_text(source)
    assert load_environments(str(tmp_path)) == {"same": SORTING, "same2": FIBONACCI}
    joined = load_environments(str(make_gym(tmp_path / "Gym")))
    assert list(joined) == ["maze"]
    assert "class Maze:" in joined["maze"]
    assert "class MazeController:" in joined["maze"]


def test_a_curriculum_that_cannot_start_is_refused_before_any_work(tmp_path: Path) -> None:
    check_environments("corpus:train:40")
    with pytest.raises(InputError, match=r"curriculum\.environments: there is no 'nowhere'; expected `seeds`"):
        check_environments("nowhere")
    directory = str(make_run(tmp_path / "run", '["numpy"]'))
    check_environments(directory, ("numpy",))
    with pytest.raises(InputError, match=r"needs the module numpy.*--set 'validation\.modules=\[\"numpy\"\]'"):
        check_environments(directory)
