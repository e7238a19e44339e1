"""`evoenv watch`: what it prints, how it ends, and one clear line for what cannot be shown."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from itertools import pairwise
from pathlib import Path

import pytest

from evoenv.cli import main
from evoenv.cli.watch import reachable
from evoenv.errors import InputError
from evoenv.store.database import RunLock
from evoenv.watch.folder import RunFolder, is_running, stamp
from evoenv.watch.server import PORT, listen


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing"], "there is no directory"),
        (["."], "there is no run in"),
        ([".", "--port", "99999"], "expected 0 to 65535"),
        (["a\0b"], "there is no directory"),
        (["a" * 5000], "cannot be a path"),
    ],
)
def test_what_cannot_be_shown_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["watch", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_a_port_in_use_is_said(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["watch", str(small_run), "--port", str(port)]) == 2
    error = capsys.readouterr().err
    assert f"port {port}" in error
    assert "--port 0" in error


def test_without_a_port_the_first_free_one_is_taken() -> None:
    with listen("127.0.0.1", None) as first, listen("127.0.0.1", None) as second:
        ports = first.getsockname()[1], second.getsockname()[1]
    assert PORT <= ports[0] < ports[1]


def test_an_address_that_is_no_address_is_said() -> None:
    with pytest.raises(InputError, match="cannot listen on no such host"):
        listen("no such host", None)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--host", "0.0.0.0"]])
def test_the_command_prints_its_address_answers_and_ends_by_ctrl_c(small_run: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "evoenv", "watch", str(small_run), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://\S+", line)
        assert address is not None, line
        assert ("?token=" in address[0]) is bool(options)
        url = re.sub(r"//[^:/]+:", "//127.0.0.1:", address[0])
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert b"<div id=" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_a_folder_names_its_runs_by_their_paths(tmp_path: Path, small_run: Path) -> None:
    for name in ("b", "a/x", "a/y/z", "too/deep/to/find", ".hidden"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.sqlite").touch()
    (tmp_path / "b" / "inner").mkdir()
    (tmp_path / "b" / "inner" / "run.sqlite").touch()
    assert list(RunFolder(tmp_path).runs()) == ["a/x", "a/y/z", "b"]
    assert list(RunFolder(small_run).runs()) == ["small"]


def test_a_folder_may_wait_for_its_first_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "later", wait=True)
    assert folder.runs() == {}
    with pytest.raises(InputError, match="no run yet"):
        folder.find(None)


def test_the_stamp_of_a_run_changes_with_its_files(tmp_path: Path) -> None:
    stamps = [stamp(tmp_path)]
    for name, text in (("run.sqlite", "a"), ("run.sqlite-wal", "b"), ("run.sqlite-wal", "bc")):
        (tmp_path / name).write_text(text)
        stamps.append(stamp(tmp_path))
    (tmp_path / "run.sqlite-wal").unlink()
    stamps.append(stamp(tmp_path))
    assert all(before != after for before, after in pairwise(stamps))


def test_a_run_is_running_while_a_process_holds_it(tmp_path: Path) -> None:
    assert not is_running(tmp_path / "elsewhere")
    lock = RunLock(tmp_path)
    assert is_running(tmp_path)
    lock.release()
    assert not is_running(tmp_path)
    # a killed process leaves its number, which another process has by now
    (tmp_path / "run.lock").write_text(str(os.getpid()))
    assert not is_running(tmp_path)
    RunLock(tmp_path).release()


def test_who_looks_at_a_run_does_not_stand_in_its_way(tmp_path: Path) -> None:
    (tmp_path / "run.lock").write_text("1")
    with (tmp_path / "run.lock").open() as look:
        fcntl.flock(look, fcntl.LOCK_SH)
        ended = threading.Timer(0.02, lambda: fcntl.flock(look, fcntl.LOCK_UN))
        ended.start()
        RunLock(tmp_path).release()
        ended.join()


@pytest.mark.parametrize(
    ("host", "written"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("0.0.0.0", socket.gethostname())]
)
def test_addresses_are_printed_as_a_browser_takes_them(host: str, written: str) -> None:
    assert reachable(host) == written
