"""`evoenv audit-review`, as users call it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from shipped_set import BUGGY, SOUND, source

from evoenv.cli import main

SERVER = Path(__file__).parents[1] / "cli" / "synth_server.py"
STARTED = Path.cwd()
TASKS = ("vending_change", "warehouse_code")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two pairs; the server's model rejects what holds the words `kind_wrong`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set").mkdir()
    labels = []
    for task in TASKS:
        for label, entry in (("sound", SOUND[task]), ("buggy", BUGGY[task])):
            text = source(entry) + ("# kind_wrong\n" if label == "buggy" and task == TASKS[0] else "")
            (tmp_path / "set" / f"{label}_{task}.py").write_text(text)
            labels.append({"file": f"{label}_{task}.py", "label": label, "kind": entry["kind"]})
    (tmp_path / "set" / "labels.json").write_text(json.dumps(labels))
    return tmp_path / "set"


@pytest.fixture
def server() -> Iterator[str]:
    # PYTHONPATH may be relative to where the tests were started.
    process = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True, cwd=STARTED)
    assert process.stdout is not None
    yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shipped"], "needs --model M or --run DIR (who reviews?), or --mechanical-only"),
        (["shipped", "--mechanical-only", "--model", "m"], "--mechanical-only asks no reviewer"),
        (["shipped", "--model", "m", "--run", "r"], "exclude each other"),
        (["shipped", "--model", "m", "--checkpoint", "1"], "give --run DIR"),
        (["shipped", "--run", "nowhere"], "nowhere"),
        (["nowhere", "--mechanical-only"], "no folder 'nowhere'"),
        (["shipped", "--model", "m", "--reviews", "0"], "review.reviews is 0"),
        (["shipped", "--model", "m", "--set", "review.tokens=3"], "review.tokens"),
        (["shipped", "--mechanical-only", "--count", "0"], "expected 1 or more"),
    ],
)
def test_misuse_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["audit-review", *arguments]) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_reviewer_that_is_not_there_is_one_line_and_nothing_is_audited(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nobody = ["--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--set", "endpoint.retries=0"]
    assert main(["audit-review", str(folder), *nobody]) == 1
    error = capsys.readouterr().err
    assert error.startswith("evoenv: ")
    assert "127.0.0.1:9" in error
    assert error.count("\n") == 1
    assert not (folder.parent / "evaluations").exists()


@pytest.mark.slow
def test_a_reviewer_that_cannot_be_loaded_is_one_line_and_nothing_is_audited(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder.parent / "empty-model").mkdir()
    assert main(["audit-review", str(folder), "--model", str(folder.parent / "empty-model")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("evoenv: ")
    assert "no config.json" in error
    assert error.count("\n") == 1
    assert not (folder.parent / "evaluations").exists()


@pytest.mark.sandbox
def test_the_mechanical_table_needs_no_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audit-review", str(folder), "--mechanical-only"]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["model"], document["reviews"]) == (None, 0)
    (row,) = document["table"]
    assert (row["true_positives"], row["false_positives"], row["true_negatives"], row["false_negatives"]) == (
        1,
        0,
        2,
        1,
    )
    found = {item["name"]: item["layer"] for item in document["items"]}
    assert found == {
        "sound_vending_change.py": 5, "buggy_vending_change.py": 5, "sound_warehouse_code.py": 5,
        "buggy_warehouse_code.py": 4,
    }  # fmt: skip
    assert main(arguments) == 0  # from the file
    shown = capsys.readouterr().out
    assert "75.0%" in shown
    assert "(1, 0, 2, 1)" in shown
    assert "greedy-for-optimal" in shown


@pytest.mark.sandbox
def test_a_served_model_reviews_and_both_together_find_all(
    folder: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results = folder.parent / "kept.jsonl"
    arguments = ["audit-review", str(folder), "--base-url", server, "--model", "author-1", "--results", str(results)]
    assert main([*arguments, "--reviews", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    table = {(row["checks"], row["rule"]): row for row in document["table"]}
    assert document["reviews"] == 2
    assert len(table) == 9
    assert table["review", "any-reject"]["recall"] == 0.5
    assert table["both", "any-reject"]["f1"] == 1.0
    assert table["both", "any-reject"]["unparsed"] == 0
    assert len(results.read_text().splitlines()) == 1 + 4 + 8
    assert main([*arguments, "--reviews", "2"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"both +any-reject +100\.0% +100\.0% +100\.0% +100\.0% +\(2, 0, 2, 0\) +0 of 8\n", shown)
    same = [*arguments]
    same[1] = f"{folder}/."
    assert main([*same, "--reviews", "2"]) == 0, "the set is the same, however it is spelt"
    assert main([*arguments, "--set", "review.temperature=1.0"]) == 2
    assert "holds another audit: review.temperature was" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.model
def test_a_model_on_this_machine_reviews(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The random model never writes a verdict: everything is unparsed, hence rejected."""
    arguments = ["--model", "tiny-test", "--reviews", "1", "--set", "review.max_tokens=8"]
    assert main(["audit-review", str(folder), *arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    table = {(row["checks"], row["rule"]): row for row in document["table"]}
    assert table["review", "single"]["unparsed"] == 4
    assert (table["review", "single"]["recall"], table["review", "single"]["precision"]) == (1.0, 0.5)
