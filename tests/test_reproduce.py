"""Every command of docs/reproduce.md, as the page has it but for its scale, end to end and in the page's order."""

from __future__ import annotations

import csv
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evoenv.cli import build_parser, main
from tests.rlve_checkout import make_checkout

PAGE = Path(__file__).parents[1] / "docs" / "reproduce.md"
SERVER = Path(__file__).parent / "cli" / "synth_server.py"
ONE_PROBLEM = ("--samples", "1", "--limit", "1", "--max-tokens", "8")
NANO = (
    "generator.prompts=2", "generator.candidates_per_prompt=4", "solver.prompts=2", "solver.responses_per_prompt=2",
    "calibration.instances=2", "review.enabled=true", "review.reviews=1", "review.max_tokens=8",
    "novelty.embedder=hashing",
)  # fmt: skip
"""A real, small generator: the audits need candidates that reach L5."""


def commands() -> list[list[str]]:
    blocks = re.findall(r"^```\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line)[1:] for line in lines]


def smaller(command: list[str], server: str) -> list[str]:
    """The same command for a tiny model and a problem or two."""
    preset, steps = ("nano", "2") if "dynamics" in command else ("tiny-test", "1")
    exchanged = {
        "--preset": preset, "--steps": steps, "--eval-every": "1", "--max-tokens": "8", "--base-url": server,
        "--model": "author-1", "--labels-by": "author-1",
    }  # fmt: skip
    small = [exchanged.get(flag, word) for flag, word in zip(["", *command], command, strict=False)]
    if command[0] in ("compare", "eval") and command[1] != "convert":
        small += ONE_PROBLEM
    if "dynamics" in command:
        small += [word for setting in NANO for word in ("--set", setting)]
    return small


def test_the_page_has_a_command_for_every_table_and_figure() -> None:
    page = PAGE.read_text(encoding="utf-8")
    anchors = {
        re.sub(r"[^a-z ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^## (.+)$", page, re.M)
    }
    assert set(re.findall(r"\]\(#([a-z-]+)\)", page)) <= anchors
    assert {command[0] for command in commands()} >= {
        "eval", "import", "compare", "report", "audit-review", "envs", "train", "audit-overlap", "doctor",
    }  # fmt: skip


@pytest.mark.parametrize("command", [c for c in commands() if "--help" not in c], ids=lambda words: " ".join(words[:3]))
def test_every_command_of_the_page_is_understood(command: list[str]) -> None:
    build_parser().parse_args(command)


# --------------------------------------------------------------------------- end to end


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.communicate()


def write_public_files(directory: Path) -> None:
    """Two rows of each public file that the page converts."""
    names = {word for command in commands() if command[:2] == ["eval", "convert"] for word in command[2:]}
    for name in names:
        path = directory / name
        if name.endswith(".csv"):
            head = ["Record ID", "Question", "Correct Answer", *(f"Incorrect Answer {n}" for n in (1, 2, 3))]
            with path.open("w", newline="") as stream:
                csv.writer(stream).writerows([head, ["r1", "Which?", "a", "b", "c", "d"]])
        elif name.startswith("test"):
            tests = json.dumps([{"input": "", "output": "1\n", "testtype": "stdin"}])
            row = {"question_content": "Print 1.", "question_id": name, "public_test_cases": tests,
                   "contest_date": "2025-01-01T00:00:00", "starter_code": "", "metadata": "{}"}  # fmt: skip
            path.write_text(json.dumps(row) + "\n")
        elif name.endswith(".jsonl") and "/" not in name:
            path.write_text("".join(json.dumps({"problem": f"{n} + 1?", "answer": n + 1}) + "\n" for n in (1, 2)))
    (directory / "benchmarks").mkdir()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with what the page takes for granted: public benchmark files and a checkout of RLVE."""
    pytest.importorskip("math_verify", reason="math-verify is not installed: pip install 'evoenv[eval]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    make_checkout(tmp_path)
    write_public_files(tmp_path)
    return tmp_path


NEEDS_TRAINING = ("compare", "report", "audit-review", "audit-overlap")


@pytest.mark.slow
@pytest.mark.sandbox
def test_every_command_that_needs_no_training_runs(
    server: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in commands():
        if command[0] not in NEEDS_TRAINING and "--help" not in command:
            assert main(smaller(command, server)) == 0, (command, capsys.readouterr().err)
    head, _, row = (place / "untrained" / "protocol-paper.md").read_text().splitlines()
    assert head == "| model | AIME'24 | AIME'25 | AMC'23 | HMMT | B-AIME | Brumo | GPQA | LCB | Avg |"
    assert row.count("0.0 (0.0–97.5)") == 8


@pytest.mark.long
@pytest.mark.sandbox
@pytest.mark.timeout(3600)  # five minutes of a quiet core; on a busy machine pytest's own 900 s were not enough
def test_every_command_of_the_page_runs(server: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands():
        if "--help" not in command:
            assert main(smaller(command, server)) == 0, (command, capsys.readouterr().err)
    for folder, gains in (("main-4b", 4), ("ablation", 3)):
        table = (place / folder / "table.md").read_text()
        assert "| Avg | Avg Δ |" in table
        assert len(re.findall(r"^\|.*\| [+-]\d+\.\d \|$", table.split("\n\nHeld-out", 1)[0], re.MULTILINE)) == gains
    assert (place / "dynamics" / "compare.png").is_file()
    for name in ("funnel_by_step", "pool", "tags"):
        assert (place / "report" / "figures" / f"{name}.csv").is_file()
    assert list((place / "dynamics" / "runs" / "evoenv-seed0" / "evaluations").glob("labels-by-*.jsonl"))
    assert list((place / "dynamics" / "runs" / "evoenv-seed0" / "overlap").glob("*.html"))
