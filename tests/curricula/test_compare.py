"""`evoenv compare` as a user runs it: refusals before any work, a real comparison, kill -9 and again."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.console import Console

from evoenv.cli import main
from evoenv.cli.compare_view import open_watcher
from evoenv.comparison.plan import ComparisonPlan, RunPlan, SuiteSettings
from tests.effort import becomes_true

HANG_S = 3600
"""Seconds after which a comparison of a minute or two hangs, however busy the machine is."""
SMALL = ("--preset", "tiny-test", "--suite", "seeds", "--difficulties", "0", "--instances", "1", "--samples", "2",
         "--allow-overlap")  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--curricula", "fixd"], "there is no curriculum 'fixd'; did you mean 'fixed'?"),
        (["--curricula", "fixd@wide"], "there is no curriculum 'fixd'; did you mean 'fixed'?"),
        (["--curricula", "fixed,fixed@../x"], "'fixed@../x' is no name for a curriculum with settings of its own"),
        (["--curricula", "fixed,untrained@x"], "expected one that trains"),
        (["--curricula", "fixed,fixed@wide"], "fixed@wide differs from fixed in nothing; give it a setting"),
        (["--curricula", "fixed,fixed"], "expected different names"),
        (["--curricula", ","], "expected different names"),
        (["--seeds", "0,x"], "--seeds is '0,x'"),
        (["--seeds", "1,1"], "expected different whole numbers"),
        (["--seeds", "-1"], "--seeds is '-1'"),
        (["--steps", "0"], "--steps is 0; expected 1 or more"),
        (["--eval-every", "-1"], "--eval-every is -1"),
        (["--jobs", "0"], "--jobs is 0"),
        (["--samples", "0"], "--samples is 0"),
        (["--instances", "0"], "--instances is 0"),
        (["--difficulties", "0,x"], "--difficulties is '0,x'"),
        (["--temperature", "-1"], "--temperature is -1"),
        (["--suite", "nowhere"], "there is no 'nowhere'"),
        (["--suite", "corpus:test"], "no split 'test'"),
        (["--suite", "missing.jsonl"], "missing.jsonl"),
        (["--suite", "math:missing.jsonl"], "cannot read missing.jsonl"),
        (["--suite", "problems.parquet"], "evoenv eval convert problems.parquet"),
        (["--suite", "seeds", "--suite", "seeds"], "named twice"),
        (["--set", "run.seed=3"], "--set run.seed: a comparison sets it for each run; use --seeds"),
        (["--set", "curriculum.name=fixed"], "use --curricula"),
        (["--set", "trainin.kl=1"], "did you mean 'training.kl'?"),
        (["--set", "curriculum.environments=/nowhere"], "there is no '/nowhere'"),
        (["--curricula", "dapo"], "--set curriculum.problems=FILE.jsonl"),
        (["--set", "fixed:curriculum.environments=/nowhere"], "there is no '/nowhere'"),
        (["--set", "rlve:training.kl=1"], "'rlve' is none of the compared curricula; expected one of untrained, fixed"),
        (["--set", "fixed:run.seed=3"], "--set fixed:run.seed: a comparison sets it for each run; use --seeds"),
        (["--set", "fixed:model.name=nano"], "all curricula start from one model; leave fixed: out"),
        (["--preset", "tiny"], "did you mean 'tiny-test'?"),
        (["-o", "{tmp}/full"], "is not empty and holds no comparison"),
        (["-o", "{tmp}/full/file/x"], "Not a directory"),
        (["--set", "model.base_url=http://localhost:1/v1"], "can only sample"),
        (["--tokens", "9", "--set", "training.schedule=linear"], "--set training.schedule_steps=N"),
        (["--suite", "seeds"], "fixed would train on 10 environments of the suite seeds (Sorting, "),
    ],
)
def test_what_cannot_be_compared_is_refused_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    defaults = {"--curricula": "untrained,fixed", "--preset": "tiny-test", "--steps": "2", "--suite": "seeds",
                "-o": "{tmp}/out"}  # fmt: skip
    if "--tokens" in arguments:
        del defaults["--steps"]
    for flag in defaults.keys() - set(arguments):
        arguments = [*arguments, flag, defaults[flag]]
    assert main(["compare", *(argument.format(tmp=tmp_path) for argument in arguments)]) == 2
    shown = capsys.readouterr()
    assert words.lower() in shown.err.lower()
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


@pytest.mark.parametrize("budget", [[], ["--steps", "2", "--tokens", "5"]])
def test_exactly_one_budget_is_needed(capsys: pytest.CaptureFixture[str], budget: list[str]) -> None:
    with pytest.raises(SystemExit) as refusal:
        main(["compare", "--curricula", "fixed", *SMALL, *budget, "-o", "x"])
    assert refusal.value.code == 2
    assert "--tokens" in capsys.readouterr().err


def test_the_extra_for_figures_is_named_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "matplotlib" else object())
    assert main(["compare", "--curricula", "fixed", *SMALL, "--steps", "1", "-o", str(tmp_path / "out")]) == 2
    assert "pip install 'evoenv[report]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# --------------------------------------------------------------------------- progress


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_as_bars_on_a_terminal_and_as_lines_elsewhere(
    tmp_path: Path, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    run = RunPlan(curriculum="fixed", seed=3, config={})
    plan = ComparisonPlan(model="m", steps=10, evaluation=SuiteSettings(suites=("seeds",)), runs=(run,))
    page = io.StringIO()
    screen = Console(file=page, force_terminal=terminal, width=140, highlight=False)
    with ExitStack() as stack:
        watcher = open_watcher(plan, tmp_path, screen, stack, plain=False)
        watcher.began(run)
        watcher.progress(run, {"step": 5, "tokens": 1234, "score": 0.25})
        watcher.progress(run, {"step": 5, "tokens": 1234, "accuracy": 0.5, "suite": "seeds"})
        watcher.ended(run, None)
    text = page.getvalue()
    assert "1 run of 10 steps, 0 finished before" in text
    assert "fixed-seed3" in text
    assert ("score 0.250  seeds 50.0%" if terminal else "fixed-seed3: step 5, 1,234 tokens: 50.0% on seeds") in text
    assert "100%" in text if terminal else "fixed-seed3: finished in" in text


# --------------------------------------------------------------------------- for real


def command(output: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "evoenv", "compare", "--curricula", "untrained,fixed", *SMALL, "--seeds", "0,1",
            "--eval-every", "1", "-o", str(output), *more]  # fmt: skip


def finish(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    return done


def rows_of(output: Path) -> list[dict[str, str]]:
    """The series of all runs but for the clock."""
    with (output / "series.csv").open() as stream:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(stream)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("compare") / "out"
    done = finish(command(output, "--steps", "2", "--json"))
    assert json.loads(done.stdout) == json.loads((output / "results.json").read_text())
    return output


@pytest.mark.long
@pytest.mark.sandbox
@pytest.mark.timeout(HANG_S)
def test_two_curricula_two_seeds_two_steps(undisturbed: Path) -> None:
    results = json.loads((undisturbed / "results.json").read_text())
    assert [(run["curriculum"], run["seed"], run["step"]) for run in results["runs"]] == [
        ("untrained", 0, 0),
        ("untrained", 1, 0),
        ("fixed", 0, 2),
        ("fixed", 1, 2),
    ]
    assert results["missing"] == []
    untrained, fixed = results["table"]
    assert untrained["difference"] is None
    assert fixed["difference"]["n"] == 2
    assert fixed["tokens"]["mean"] > 0
    assert "| fixed | 2 | 2 |" in (undisturbed / "table.md").read_text()
    assert {path.name for path in (undisturbed / "figures").iterdir()} == {
        "compare_by_tokens.png", "zero_variance.png", "pool.png", "tokens.png",
    }  # fmt: skip
    rows = rows_of(undisturbed)
    assert [row["step"] for row in rows if row["curriculum"] == "fixed" and row["seed"] == "1"] == ["0", "1", "2"]
    assert all(row["accuracy:seeds"] for row in rows)
    start = {row["accuracy:seeds"] for row in rows if row["step"] == "0"}
    assert len(start) == 1


@pytest.mark.long
@pytest.mark.sandbox
@pytest.mark.timeout(HANG_S)
def test_killed_at_any_moment_a_comparison_goes_on_where_it_was(undisturbed: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    began = subprocess.Popen(command(output, "--steps", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    first = output / "runs" / "fixed-seed0"
    while not (first / "evaluations" / "step-00001-suite0.json").exists() and not (first / "done.json").exists():
        assert began.poll() is None
        time.sleep(0.1)
    children = subprocess.run(["pgrep", "-P", str(began.pid)], capture_output=True, text=True).stdout.split()
    began.send_signal(signal.SIGKILL)
    began.wait()
    gone = becomes_true(lambda: not any(_alive(int(child)) for child in children))
    assert gone, "the run outlived the comparison"
    finished = output / "runs" / "untrained-seed0" / "done.json"
    stamp = finished.stat().st_mtime_ns
    finish(command(output, "--steps", "2"))
    assert finished.stat().st_mtime_ns == stamp
    assert rows_of(output) == rows_of(undisturbed)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


@pytest.mark.long
@pytest.mark.sandbox
@pytest.mark.timeout(HANG_S)
def test_a_token_budget_gives_every_curriculum_the_same_and_runs_share_the_cores(tmp_path: Path) -> None:
    output = tmp_path / "out"
    more = ("--tokens", "600", "--jobs", "2", "--curricula", "untrained,fixed,evoenv", "--seeds", "0")
    finish([*command(output), *more])
    results = json.loads((output / "results.json").read_text())
    spent = {run["curriculum"]: (run["step"], run["tokens"]) for run in results["runs"]}
    assert spent["untrained"] == (0, 0)
    assert spent["fixed"][1] >= 600
    assert spent["evoenv"][1] >= 600
    assert spent["fixed"][0] > spent["evoenv"][0]  # a step of evoenv samples candidates as well
    assert (output / "figures" / "funnel.png").exists()


@pytest.mark.long
@pytest.mark.sandbox
@pytest.mark.timeout(HANG_S)
def test_a_run_that_fails_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    output = tmp_path / "out"
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "broken.py").write_text("raise SystemExit(1)\n")
    setting = f"curriculum.environments={tmp_path / 'envs'}"
    done = subprocess.run(
        [*command(output, "--steps", "1", "--set", setting)], capture_output=True, text=True, timeout=HANG_S
    )
    assert done.returncode == 1
    assert "2 of 4 runs failed (fixed-seed0, fixed-seed1)" in done.stderr
    assert "does not load" in done.stderr
    results = json.loads((output / "results.json").read_text())
    assert results["missing"] == ["fixed-seed0", "fixed-seed1"]
    assert [line["curriculum"] for line in results["table"]] == ["untrained"]
