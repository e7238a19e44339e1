"""Files and directories that outlive a kill: whole ones, and ledgers that grow line by line."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evoenv.durable import (
    Ledger,
    recover_directory,
    replace_file,
    whole_directory,
    write_bytes,
    write_document,
    write_lines,
)
from evoenv.errors import InputError, StoreError

IDENTITY = {"model": {"name": "one", "levels": (1, 2)}, "seed": 3}
HEADER = {"kind": "tallies", "format": 2, "model": {"name": "one", "levels": [1, 2]}, "seed": 3}


class Tallies(Ledger):
    KIND, FORMAT, WORK, ELSEWHERE = "tallies", 2, "count", "choose another --tallies"

    def __init__(self, path: Path | None, identity: Mapping[str, Any] = IDENTITY) -> None:
        self.counts: dict[str, int] = {}
        super().__init__(path, identity)

    def add(self, name: str, count: int, note: str = "") -> None:
        self._add({"name": name, "count": count, "note": note})

    def _take(self, entry: Any) -> None:
        self.counts[entry["name"]] = int(entry["count"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with two lines, in a folder that was not there."""
    path = tmp_path / "deep" / "tallies.jsonl"
    with Tallies(path) as kept:
        kept.add("a", 1)
        kept.add("b", 2, "…\n\udc80")
    return path


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let no file grow past `size` bytes, as on a full disk: what fits is written, the rest is an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# --------------------------------------------------------------------------- ledgers


def test_a_ledger_is_a_header_and_a_line_for_everything_added(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == [
        HEADER,
        {"name": "a", "count": 1, "note": ""},
        {"name": "b", "count": 2, "note": "…\n\udc80"},
    ]


def test_the_next_sitting_knows_what_the_last_one_added_and_goes_on(path: Path) -> None:
    with Tallies(path) as kept:
        assert kept.counts == {"a": 1, "b": 2}
        kept.add("c", 3)
    with Tallies(path) as kept:
        assert kept.counts == {"a": 1, "b": 2, "c": 3}


def test_a_ledger_without_a_path_remembers_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Tallies(None) as kept:
        kept.add("a", 1)
        assert kept.counts == {"a": 1}
    assert not list(tmp_path.iterdir())


@given(cut=st.integers(0, 400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
def test_a_ledger_cut_anywhere_keeps_its_whole_lines_and_grows_again(path: Path, cut: int) -> None:
    whole = path.read_bytes()
    torn = path.with_name("torn.jsonl")
    torn.write_bytes(whole[:cut])
    kept_lines = whole[:cut].count(b"\n")
    with Tallies(torn) as kept:
        assert list(kept.counts) == ["a", "b"][: max(0, kept_lines - 1)]
        kept.add("c", 3)
    lines = torn.read_bytes().splitlines(keepends=True)
    assert lines[:-1] == whole.splitlines(keepends=True)[: max(1, kept_lines)]
    assert json.loads(lines[-1])["name"] == "c"


def test_a_second_writer_is_refused_until_the_first_is_done(path: Path) -> None:
    with Tallies(path), pytest.raises(StoreError, match="in use by another count; wait for it, or choose another --ta"):
        Tallies(path)
    Tallies(path).close()


def test_a_refused_file_is_not_kept_locked(path: Path) -> None:
    with pytest.raises(InputError):
        Tallies(path, {"seed": 4})
    Tallies(path).close()


@pytest.mark.parametrize(
    "content",
    [
        b"my notes\n",
        b"my notes without a last newline",
        b'{"my": "data"}\n',
        b'{"my": "data"}',
        b"[1, 2]\n",
        b'{"kind": "other", "format": 2}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "precious"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a file of count results; choose another --tallies"):
        Tallies(path)
    assert path.read_bytes() == content


def test_another_format_is_refused(path: Path) -> None:
    path.write_text(path.read_text().replace('"format": 2', '"format": 1'))
    with pytest.raises(InputError, match="has the format 1, expected 2; choose another --tallies"):
        Tallies(path)


@pytest.mark.parametrize(
    ("identity", "words"),
    [
        ({**IDENTITY, "seed": 4}, "another count: seed was 3 and is 4. Repeat the count as it was"),
        (
            {**IDENTITY, "model": {"name": "two", "levels": [1, 2]}},
            "another count: model.name was 'one' and is 'two'. ",
        ),
        ({**IDENTITY, "model": None}, "model.name was 'one' and is None, model.levels was"),
        ({**IDENTITY, "new": {"a": 1}}, "another count: new.a was None and is 1. "),
    ],
)
def test_the_ledger_of_another_experiment_is_refused_by_what_differs(path: Path, identity: dict, words: str) -> None:
    before = path.read_bytes()
    with pytest.raises(InputError) as caught:
        Tallies(path, identity)
    assert words in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("line", ["garbage", "3", "{}", '{"name": "c", "count": "many"}', '{"name": "c", "count": []}'])
def test_a_damaged_line_is_named(path: Path, line: str) -> None:
    with path.open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(StoreError, match=r"tallies\.jsonl:4 is damaged \(\w+: .*remove that line"):
        Tallies(path)


@pytest.mark.parametrize("place", [".", "file/below", "file/below/more", "x" * 300])
def test_a_place_that_cannot_be_written_is_the_users_to_mend(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write the results to .*; choose another --tallies"):
        Tallies(tmp_path / place)


def test_a_full_disk_loses_only_the_line_that_did_not_fit(path: Path) -> None:
    before = path.read_bytes()
    with Tallies(path) as kept:
        with room_for(len(before) + 10), pytest.raises(StoreError, match="make room and repeat the count"):
            kept.add("c", 3)
        assert path.read_bytes() == before
        assert "c" not in kept.counts
        kept.add("d", 4)
    with Tallies(path) as kept:
        assert kept.counts == {"a": 1, "b": 2, "d": 4}


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "tallies.jsonl"
    with Tallies(path) as kept:
        threads = [threading.Thread(target=kept.add, args=(str(n), n, "long" * 5000)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with Tallies(path) as kept:
        assert kept.counts == {str(n): n for n in range(8)}


# --------------------------------------------------------------------------- whole files


def test_documents_and_lines_are_json_and_make_their_folder(tmp_path: Path) -> None:
    write_document(tmp_path / "new" / "one.json", {"a": ["ä", 1]})
    assert (tmp_path / "new" / "one.json").read_text() == '{\n "a": [\n  "\\u00e4",\n  1\n ]\n}\n'
    assert write_lines(tmp_path / "many.jsonl", ({"n": n} for n in range(3))) == 3
    assert (tmp_path / "many.jsonl").read_text() == '{"n": 0}\n{"n": 1}\n{"n": 2}\n'
    assert write_lines(tmp_path / "none.jsonl", []) == 0
    assert (tmp_path / "none.jsonl").read_bytes() == b""


def test_a_file_is_replaced_for_those_who_open_it_next(tmp_path: Path) -> None:
    path = tmp_path / "page"
    write_bytes(path, b"old")
    with path.open("rb") as reader:
        write_bytes(path, b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["page"]


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "page"
    write_bytes(path, b"old")
    with room_for(1000), pytest.raises(StoreError, match=r"cannot write .*page: File too large; check space"):
        write_bytes(path, b"x" * 5000)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["page"]


def test_what_fails_on_the_way_leaves_the_old_file_and_is_raised_as_it_is(tmp_path: Path) -> None:
    def rows() -> Iterator[int]:
        yield 1
        raise InputError("row 2 is bad")

    path = tmp_path / "rows.jsonl"
    write_bytes(path, b"old")
    with pytest.raises(InputError, match="row 2 is bad"):
        write_lines(path, rows())
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["rows.jsonl"]


@pytest.mark.parametrize("place", ["folder", "file/below", "file/below/more"])
def test_a_place_that_cannot_be_replaced_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder" / "full").mkdir(parents=True)
    with pytest.raises(StoreError, match=rf"cannot write .*{place}: .*; check space and permissions"):
        write_bytes(tmp_path / place, b"x")
    with pytest.raises(OSError, match=place.split("/")[0]):
        replace_file(tmp_path / place, [b"x"])
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


# --------------------------------------------------------------------------- whole directories


def fill(path: Path, text: str, **options: Any) -> None:
    with whole_directory(path, **options) as aside:
        (aside / "deep").mkdir()
        (aside / "deep" / "file").write_text(text)


def test_a_directory_takes_the_place_of_what_was_there_once_it_is_whole(tmp_path: Path) -> None:
    fill(tmp_path / "new" / "place", "one")
    with whole_directory(tmp_path / "new" / "place") as aside:
        (aside / "other").write_text("two")
        assert (tmp_path / "new" / "place" / "deep" / "file").read_text() == "one"
    assert os.listdir(tmp_path / "new" / "place") == ["other"]
    assert os.listdir(tmp_path / "new") == ["place"]


def test_its_files_may_be_read_by_whom_the_users_other_files_may(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    with whole_directory(tmp_path / "place") as aside:
        (aside / "file").touch(mode=0o600)
        (aside / "program").touch(mode=0o700)
    usual = (tmp_path / "plain").stat().st_mode & 0o777
    assert (tmp_path / "place" / "file").stat().st_mode & 0o777 == usual
    assert (tmp_path / "place" / "program").stat().st_mode & 0o100


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt()])
def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path, error: BaseException) -> None:
    fill(tmp_path / "place", "one")

    def fail_half_way() -> None:
        with whole_directory(tmp_path / "place") as aside:
            (aside / "half").write_text("")
            raise error

    with pytest.raises(type(error)):
        fail_half_way()
    assert (tmp_path / "place" / "deep" / "file").read_text() == "one"
    assert os.listdir(tmp_path) == ["place"]


def test_a_full_disk_is_explained_by_the_caller(tmp_path: Path) -> None:
    fill(tmp_path / "place", "one")
    with room_for(1000), pytest.raises(StoreError, match=r"cannot write .*place: File too large; check space"):
        fill(tmp_path / "place", "x" * 5000)
    with room_for(1000), pytest.raises(InputError, match="place: 27"):
        fill(tmp_path / "place", "x" * 5000, explain=lambda path, error: InputError(f"{path.name}: {error.errno}"))
    assert (tmp_path / "place" / "deep" / "file").read_text() == "one"
    assert os.listdir(tmp_path) == ["place"]


def test_without_replacing_only_an_empty_place_is_taken(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    fill(tmp_path / "place", "one", replace=False)
    with pytest.raises(StoreError, match="not empty"):
        fill(tmp_path / "place", "two", replace=False)
    assert (tmp_path / "place" / "deep" / "file").read_text() == "one"
    assert os.listdir(tmp_path) == ["place"]


KILLED = """
import os, sys
from pathlib import Path
from evoenv.durable import whole_directory

function, after, path = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
real, calls = getattr(os, function), 0

def killed(*arguments):
    global calls
    calls += 1
    return real(*arguments) if calls <= after else os._exit(9)

setattr(os, function, killed)
with whole_directory(path) as aside:
    (aside / "deep").mkdir()
    (aside / "deep" / "file").write_text("two")
"""


@pytest.mark.parametrize("moment", ["fsync 0", "fsync 1", "fsync 2", "rename 0", "rename 1", "fsync 3", "fsync 4"])
def test_a_kill_at_any_moment_leaves_one_whole_directory(tmp_path: Path, moment: str) -> None:
    fill(tmp_path / "place", "one")
    done = subprocess.run([sys.executable, "-c", KILLED, *moment.split(), str(tmp_path / "place")])
    assert done.returncode == (0 if moment == "fsync 4" else 9)  # the last moment is after all is done
    recover_directory(tmp_path / "place")
    expected = "two" if moment in ("fsync 3", "fsync 4") else "one"
    assert (tmp_path / "place" / "deep" / "file").read_text() == expected
    assert os.listdir(tmp_path) == ["place"]


def test_what_a_running_process_is_filling_is_left_alone(tmp_path: Path) -> None:
    own = tmp_path / f".place.part-{os.getpid()}"
    for left in (own, tmp_path / ".place.part-4194305", tmp_path / ".place.part", tmp_path / ".place.new"):
        left.mkdir()
    recover_directory(tmp_path / "place")
    assert list(tmp_path.iterdir()) == [own]
