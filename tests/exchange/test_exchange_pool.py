"""A pool is a folder too, and comes back from it without loss; what is damaged is refused in one line."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from exchange_support import contents, evoenv, one_line
from hypothesis import given
from hypothesis import strategies as st

from evoenv.errors import InputError
from evoenv.exchange.bundle import PoolEntry, from_metadata, load_entries, to_metadata
from evoenv.exchange.folder import new_directory, read_pool, write_pool
from evoenv.exchange.runs import extend_run, read_run
from evoenv.records import Calibration, Finding, ValidationReport
from evoenv.sandbox.host import Sandbox
from evoenv.store.store import RequestRecord, Store
from tests.store.entries import request

texts = st.text(max_size=20)


@given(
    st.builds(
        PoolEntry,
        source=st.text(max_size=50),
        name=texts,
        origin=texts,
        licence=st.none() | texts,
        modules=st.lists(texts, max_size=2).map(tuple),
        report=st.builds(
            ValidationReport,
            layer=st.integers(0, 5),
            findings=st.lists(st.builds(Finding, texts, texts, texts), max_size=2).map(tuple),
            class_name=st.none() | texts,
            seconds=st.floats(0, 9),
            sandbox=st.lists(texts, max_size=2).map(tuple),
        ),
        calibration=st.none()
        | st.builds(Calibration, st.lists(st.floats(0, 1), max_size=3).map(tuple), st.floats(0, 1)),
        asymmetry=st.none() | st.floats(-1, 1),
        similarity=st.none() | st.floats(-1, 1),
        reviews=st.lists(texts, max_size=2).map(tuple),
        parents=st.lists(texts, max_size=2).map(tuple),
        tags=st.lists(texts, max_size=3).map(sorted).map(tuple),
        original=st.booleans(),
        active=st.booleans(),
        epochs=st.integers(0, 99),
        level=st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
        admitted_step=st.integers(0, 99),
        retired_step=st.none() | st.integers(0, 99),
    )
)
def test_metadata_keeps_everything_but_the_source(entry: PoolEntry) -> None:
    assert from_metadata(entry.source, json.loads(json.dumps(to_metadata(entry)))) == entry


def test_metadata_from_before_the_asymmetry_is_read() -> None:
    entry = PoolEntry("source", "name", "generated", asymmetry=0.5)
    before = {key: value for key, value in to_metadata(entry).items() if key != "asymmetry"}
    assert from_metadata("source", before) == replace(entry, asymmetry=None)


def test_sources_come_back_to_the_byte(tmp_path: Path) -> None:
    sources = ["x = 1", "x = 1\r\ny = '\u2028é\udc80'\n", "\n\n# only\tthis", "z = '''\r'''"]
    entries = [PoolEntry(source, f"Odd {index}/..", "here") for index, source in enumerate(sources)]
    write_pool(entries, tmp_path)
    assert read_pool(tmp_path) == entries
    assert {path.parent for path in tmp_path.rglob("*")} == {tmp_path}


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_run_survives_the_folder_and_packs_to_the_same_bytes(run_directory: Path, tmp_path: Path) -> None:
    evoenv("pool", "pack", run_directory, tmp_path / "packed")
    evoenv("pool", "unpack", tmp_path / "packed", tmp_path / "run")
    evoenv("pool", "pack", tmp_path / "run", tmp_path / "again")
    assert contents(tmp_path / "packed") == contents(tmp_path / "again")
    before, after = read_run(run_directory), read_run(tmp_path / "run")
    assert [entry.id for entry in before] == [entry.id for entry in after]
    states = {(entry.original, entry.active) for entry in after}
    assert states >= {(True, True), (False, False)}
    generated = [entry for entry in after if entry.origin == "generated"]
    assert generated
    for entry in generated:
        assert entry.report.passed
        assert entry.calibration is not None
        assert 0 < entry.calibration.pass_rate < 1
        assert entry.reviews == ("accept",) * 3
        assert set(entry.parents) <= {other.id for other in after}
        assert entry.similarity is not None
    with Store.read(run_directory) as old, Store.read(tmp_path / "run") as new:
        assert old.pool() == new.pool()
        assert old.environments() == [
            replace(record, candidate_id=old_record.candidate_id)
            for record, old_record in zip(new.environments(), old.environments(), strict=True)
        ]


@pytest.mark.slow
@pytest.mark.sandbox
def test_an_unpacked_run_goes_on(run_directory: Path, tmp_path: Path, sandbox: Sandbox) -> None:
    from loop_support import TableEmbedder, configuration, open_run, respond

    from evoenv.engines.scripted import ScriptedPolicy
    from evoenv.exchange.runs import create_run
    from evoenv.run import advance

    entries = load_entries(run_directory, sandbox=sandbox)
    create_run(tmp_path / "run", entries, configuration(run={"steps": 1}))
    run, _ = open_run(tmp_path / "run", sandbox, policy=ScriptedPolicy(respond))
    assert isinstance(run.embedder, TableEmbedder)
    assert len(run.cache) == len(entries)
    (summary,) = advance(run)
    assert summary.step == 1
    run.close()


@pytest.mark.slow
@pytest.mark.sandbox
def test_importing_into_a_run_adds_what_it_lacks_once(run_directory: Path, tmp_path: Path) -> None:
    evoenv("pool", "pack", run_directory, tmp_path / "packed")
    evoenv("pool", "unpack", tmp_path / "packed", tmp_path / "run", "--trust")
    before = read_run(tmp_path / "run")
    said = json.loads(evoenv("import", "seeds", "--run", tmp_path / "run", "--json"))
    assert (len(said["imported"]), said["present"], said["refused"]) == (10, 0, [])
    said = json.loads(evoenv("import", "seeds", "--run", tmp_path / "run", "--json"))
    assert (len(said["imported"]), said["present"]) == (0, 10)
    after = read_run(tmp_path / "run")
    assert after[: len(before)] == before
    assert {entry.licence for entry in after[len(before) :]} == {"Apache-2.0"}


def test_a_run_without_the_module_is_not_given_environments_that_need_it(tmp_path: Path) -> None:
    from evoenv.config import load_config
    from evoenv.exchange.runs import create_run

    create_run(tmp_path / "run", [PoolEntry("x = 1", "Plain", "test")], load_config())
    with pytest.raises(InputError, match="was begun without the module numpy"):
        extend_run(tmp_path / "run", [PoolEntry("x = 2", "Needs", "test", modules=("numpy",))])
    assert len(read_run(tmp_path / "run")) == 1


def test_a_run_that_stopped_within_a_step_is_given_nothing(tmp_path: Path) -> None:
    from evoenv.config import load_config
    from evoenv.exchange.runs import create_run

    create_run(tmp_path / "run", [PoolEntry("x = 1", "Plain", "test")], load_config())
    with Store.open(tmp_path / "run") as store:
        store.add_requests(1, [RequestRecord(request("s00001.solve.0000"), "solve")])
    with pytest.raises(InputError, match=r"stopped in the middle of step 1.*--resume"):
        extend_run(tmp_path / "run", [PoolEntry("x = 2", "More", "test")])
    assert len(read_run(tmp_path / "run")) == 1


# --------------------------------------------------------------------------- hostile cases


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    directory = tmp_path / "packed"
    directory.mkdir()
    report = ValidationReport(5, class_name="Sorting", dialect="functional")
    write_pool([PoolEntry("x = 1\n", "One", "test", report=report), PoolEntry("x = 2\n", "Two", "test")], directory)
    return directory


def test_an_edited_source_with_a_stale_hash_is_named(packed: Path, tmp_path: Path) -> None:
    source = next(packed.glob("One-*.py"))
    source.write_text("x = 3\n")
    before = contents(packed)
    said = one_line(evoenv("pool", "unpack", packed, tmp_path / "run", expect=2))
    assert f"{source} was changed after it was packed" in said
    assert "`evoenv import" in said
    assert contents(packed) == before
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "{", "is not JSON"),
        (lambda text: "[]", "is damaged"),
        (lambda text: text.replace('"validation"', '"other"'), "lacks 'validation'"),
        (lambda text: text.replace('"layer": 5', '"layer": 9'), "is damaged"),
        (lambda text: text.replace('"epochs": 0', '"epochs": "many"'), "is damaged"),
        (lambda text: text.replace('"position": 0', '"position": null'), "is damaged"),
    ],
)
def test_damaged_metadata_is_named(packed: Path, change, said: str) -> None:
    path = next(packed.glob("One-*.json"))
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError) as raised:
        read_pool(packed)
    assert str(path) in str(raised.value)
    assert said in str(raised.value)


def test_missing_and_stray_files_are_named(packed: Path) -> None:
    one = next(packed.glob("One-*.py"))
    text = one.read_text()
    one.unlink()
    with pytest.raises(InputError, match=r"cannot read .*One-"):
        read_pool(packed)
    one.write_text(text)
    (packed / "mine.py").write_text("x = 9\n")
    with pytest.raises(InputError, match=r"mine\.py has no metadata file; import it instead"):
        read_pool(packed)


def test_a_newer_or_foreign_pool_is_refused(packed: Path) -> None:
    head = packed / "pool.json"
    head.write_text('{"format": "evoenv-pool", "version": 99}')
    with pytest.raises(InputError, match="version 99; this EvoEnv reads 1"):
        read_pool(packed)
    head.write_text('{"name": "something else"}')
    with pytest.raises(InputError, match="not that of a packed pool"):
        read_pool(packed)


def test_removing_an_environment_means_removing_its_files(packed: Path) -> None:
    for path in packed.glob("One-*"):
        path.unlink()
    assert [entry.name for entry in read_pool(packed)] == ["Two"]


def test_an_empty_pool_is_said_to_be_empty(tmp_path: Path) -> None:
    from evoenv.config import load_config
    from evoenv.run import create

    store, _ = create(tmp_path / "run", load_config())
    store.close()
    assert "is empty" in one_line(evoenv("pool", "pack", tmp_path / "run", tmp_path / "out", expect=2))
    said = one_line(evoenv("export", tmp_path / "run", "--to", "jsonl", "-o", tmp_path / "out", expect=2))
    assert "has no environment to export" in said
    assert not (tmp_path / "out").exists()


def test_misuse_is_refused_before_any_work(packed: Path, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "precious.txt").write_text("keep me")
    for arguments in (
        ("pool", "pack", "seeds", full),
        ("pool", "unpack", packed, full),
        ("export", "seeds", "--to", "jsonl", "-o", full),
        ("import", "seeds", "--pool", full),
        ("import", "seeds", "--run", full),
    ):
        assert "is not empty, and nothing is overwritten" in one_line(evoenv(*arguments, expect=2))
    assert contents(full) == {"precious.txt": b"keep me"}
    assert "there is no run in" in one_line(evoenv("pool", "pack", tmp_path / "nowhere", tmp_path / "out", expect=2))
    assert "there is no packed pool" in one_line(evoenv("pool", "unpack", full, tmp_path / "out", expect=2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "packed"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere: run this test as an ordinary user")
def test_an_unwritable_place_is_named(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    said = one_line(evoenv("pool", "pack", "seeds", tmp_path / "locked" / "out", expect=2))
    assert "cannot write in" in said


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("keep me")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        said = one_line(evoenv("export", "seeds", "--to", "jsonl", "-o", place, expect=2))
        assert "choose another -o" in said
    assert (tmp_path / "file").read_text() == "keep me"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def fill_the_disk() -> None:
        with new_directory(tmp_path / "out") as staged:
            (staged / "part").write_text("x")
            raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space left on device; nothing was kept"):
        fill_the_disk()
    assert list(tmp_path.iterdir()) == []
