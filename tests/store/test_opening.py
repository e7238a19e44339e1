"""Opening a run: locks, older versions, and what is damaged or full."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from evoenv.errors import StoreError
from evoenv.store.database import Database
from evoenv.store.packing import pack_text, unpack_text
from evoenv.store.schema import MIGRATIONS, SCHEMA_VERSION
from evoenv.store.store import EnvironmentRecord, RequestRecord, Store
from tests.store.entries import request, sample

# --------------------------------------------------------------------------- opening, locking, migrating


def test_a_run_is_created_once_and_opened_only_where_there_is_one(tmp_path):
    Store.create(tmp_path / "run", {"a": 1}, {"evoenv": "1"}).close()
    with pytest.raises(StoreError, match="already holds a run"):
        Store.create(tmp_path / "run", {}, {})
    with pytest.raises(StoreError, match="there is no run"):
        Store.open(tmp_path / "nothing")
    with pytest.raises(StoreError, match="there is no run"):
        Store.read(tmp_path / "nothing")
    with Store.open(tmp_path / "run") as store:
        assert store.meta("config") == {"a": 1}
        assert store.meta("versions") == {"evoenv": "1"}
        assert store.meta("nothing") is None


def test_a_creation_cut_short_can_be_done_again(tmp_path):
    assert not Store.begun(tmp_path)
    (tmp_path / "run.sqlite").touch()
    assert not Store.begun(tmp_path)
    Database(tmp_path / "run.sqlite").migrate(unpack_text)
    assert not Store.begun(tmp_path)
    with pytest.raises(StoreError, match="never started"):
        Store.open(tmp_path)
    Store.create(tmp_path, {}, {}).close()
    assert Store.begun(tmp_path)


def test_a_second_writer_is_refused_by_name_and_a_reader_is_not(store):
    with pytest.raises(StoreError, match=rf"in use by process {os.getpid()}"):
        Store.open(store.directory)
    with Store.read(store.directory) as reader:
        assert reader.last_step() == 0
    script = "import sys; from pathlib import Path; from evoenv.store.store import Store; Store.open(Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", script, str(store.directory)], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert f"in use by process {os.getpid()}" in done.stderr


def test_the_lock_goes_with_its_holder(tmp_path):
    directory = tmp_path / "run"
    script = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from evoenv.store.store import Store
        store = Store.create(Path(sys.argv[1]), {}, {})
        store.add_metrics(1, {"m": 1.0})
        print("ready", flush=True)
        time.sleep(60)
    """)
    child = subprocess.Popen([sys.executable, "-c", script, str(directory)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    with pytest.raises(StoreError, match=f"in use by process {child.pid}"):
        Store.open(directory)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with Store.open(directory) as store:
        assert store.metrics(1) == {"m": 1.0}


def write_version(directory: Path, version: int) -> None:
    """Write a run as an older EvoEnv left it."""
    database = sqlite3.connect(directory / "run.sqlite")
    database.create_function("unpack_text", 1, unpack_text)
    for statements in MIGRATIONS[:version]:
        for statement in statements:
            database.execute(statement)
    database.execute("INSERT INTO meta VALUES ('config', '{}')")
    database.execute(
        "INSERT INTO environments (id, name, original, active, epochs, level, level_right, level_total, admitted_step) "
        "VALUES ('a', 'A', 1, 1, 3, 0, 0, 0, 0)"
    )
    database.execute(f"PRAGMA user_version = {version}")
    database.commit()
    database.close()


@pytest.mark.parametrize("opener", [Store.open, Store.read])
def test_a_run_of_the_first_version_is_brought_up_to_date(tmp_path, opener):
    write_version(tmp_path, 1)
    with opener(tmp_path) as store:
        assert store.environments() == [EnvironmentRecord("a", "A", True, epochs=3)]
    with Store.open(tmp_path) as store:
        store.add_environments([EnvironmentRecord("b", "B", False, tags=frozenset({"graph"}))])
        assert store.environments()[1].tags == {"graph"}


def test_a_run_of_a_newer_version_is_refused(tmp_path):
    Store.create(tmp_path, {}, {}).close()
    database = sqlite3.connect(tmp_path / "run.sqlite")
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    for opener in (Store.open, Store.read):
        with pytest.raises(StoreError, match="newer EvoEnv"):
            opener(tmp_path)


# --------------------------------------------------------------------------- faults


def test_a_full_disk_is_said_clearly_and_leaves_the_run_readable(store):
    store.add_metrics(1, {"m": 1.0})
    pages = store._database.query("PRAGMA page_count")[0][0]
    store._database.execute(f"PRAGMA max_page_count = {pages + 2}")

    def fill_the_disk():
        with store.stage(1, "generated"):
            store.add_requests(1, [RequestRecord(request(), "generate")])
            for number in range(100):
                store.add_sample(1, sample(index=number, text=os.urandom(4000).hex()))

    with pytest.raises(StoreError, match=r"disk is full.*--resume"):
        fill_the_disk()
    with Store.read(store.directory) as reader:
        assert reader.metrics(1) == {"m": 1.0}
        assert not reader.stage_done(1, "generated")
        assert reader.samples(1, "generate") == {}
    store._database.execute("PRAGMA max_page_count = 1000000")
    with store.stage(1, "generated"):
        store.add_sample(1, sample())


def test_a_damaged_database_is_said_clearly(tmp_path):
    (tmp_path / "run.sqlite").write_bytes(b"this is not a database at all" * 100)
    for opener in (Store.open, Store.read):
        with pytest.raises(StoreError, match=r"damaged.*\.recover"):
            opener(tmp_path)


def test_damage_in_the_middle_is_said_clearly_when_it_is_met(tmp_path):
    with Store.create(tmp_path, {}, {}) as store:
        store.add_requests(1, [RequestRecord(request(), "generate")])
        for number in range(200):
            store.add_sample(1, sample(index=number, text=os.urandom(1000).hex()))
    path = tmp_path / "run.sqlite"
    content = bytearray(path.read_bytes())
    content[40 * 4096 : 120 * 4096] = b"\xff" * (80 * 4096)
    path.write_bytes(content)
    with Store.read(tmp_path) as store:
        assert store.meta("config") == {}
        with pytest.raises(StoreError, match="damaged"):
            store.samples(1, "generate")


def test_an_unwritable_place_is_said_clearly(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot make the run directory"):
        Store.create(tmp_path / "file" / "run", {}, {})


# --------------------------------------------------------------------------- what migrations add


def test_a_run_from_before_the_codes_gets_them(tmp_path):
    write_version(tmp_path, 4)
    findings = pack_text(json.dumps([["L5.b", "long " * 100, ""], ["L5.a", "", ""], ["L5.b", "", ""]]))
    database = sqlite3.connect(tmp_path / "run.sqlite")
    database.execute("INSERT INTO reports VALUES ('c', 7, 4, NULL, NULL, NULL, 0, 0, '[]', '', ?)", (findings,))
    database.execute("INSERT INTO reports VALUES ('d', 7, 5, NULL, NULL, NULL, 0, 0, '[]', '', '[]')")
    database.commit()
    database.close()
    with Store.read(tmp_path) as store:
        rows = store.query("SELECT * FROM finding_codes ORDER BY position")
        assert [finding.code for finding in store.reports(7)["c"].findings] == ["L5.b", "L5.a", "L5.b"]
    assert rows == [("c", "L5.b", 7, 0), ("c", "L5.a", 7, 1)]


def test_a_run_from_before_the_asymmetries_gets_those_of_candidates_with_programs(tmp_path):
    write_version(tmp_path, 8)
    database = sqlite3.connect(tmp_path / "run.sqlite")
    for name, share, shares in (("c", 0.75, [1.0, 0.5]), ("d", 0.0, []), ("e", 1.0, [1.0])):
        data = json.dumps({"verdict": "unconfirmed", "instances": 2, "shares": shares, "witness": None})
        database.execute("INSERT INTO recomputations VALUES (?, 7, 'unconfirmed', ?, ?)", (name, share, data))
    for name in ("c", "d"):
        database.execute("INSERT INTO calibrations VALUES (?, 7, 0.25, '[0.25]')", (name,))
    database.commit()
    database.close()
    with Store.read(tmp_path) as store:
        assert store.asymmetries(7) == {"c": 0.5}
