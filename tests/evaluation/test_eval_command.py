"""`evoenv eval` as a user runs it: refusals before any work, a scripted model, a server, the tiny model, a run."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from evaluation_support import ADDING, BROKEN, DYING, solver
from loop_support import configuration
from rich.console import Console

from evoenv.cli import eval_view, main
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.evaluation.naming import results_name
from evoenv.run import create
from evoenv.store.store import Store
from tests.effort import HANG_S, becomes_true

SMALL = ("--difficulties", "0,1", "--instances", "2", "--samples", "4", "--temperature", "1", "--max-tokens", "100")


@pytest.fixture
def adding(tmp_path: Path) -> Path:
    path = tmp_path / "adding.py"
    path.write_text(ADDING)
    return path


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> ScriptedPolicy:
    policy = ScriptedPolicy(solver, trainable=False)
    monkeypatch.setattr("evoenv.evaluation.subject.open_policy", lambda config: policy)
    return policy


def test_help_says_what_holds_without_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["eval", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    for shown in (
        "--difficulties L levels of environments, as 0,1,2 or 0-3 (0,1,2)",
        "--instances N per environment and level (4)",
        "--samples K per problem (1; the paper: 16, or 1 by suite)",
        "--temperature T of sampling (0.6)",
        "--top-p P of sampling (0.95)",
        "--max-tokens N per response (2048)",
        "--limit N of a benchmark file, the first N problems (all)",
    ):
        assert shown in words
    with pytest.raises(SystemExit):
        main(["eval", "convert", "--help"])
    assert "contests from this day on, as 2024-08-01 (all)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "eval needs --model M or --run DIR"),
        (["--model", "m", "--run", "r", "--suite", "seeds"], "eval needs --model M or --run DIR"),
        (["--model", "m"], "eval needs --suite S"),
        (["--model", "m", "--suite", "nowhere"], "there is no 'nowhere'; expected `seeds`"),
        (["--model", "m", "--suite", "seeds", "--samples", "0"], "--samples is 0"),
        (["--model", "m", "--suite", "seeds", "--temperature", "-1"], "--temperature is -1"),
        (["--model", "m", "--suite", "seeds", "--temperature", "nan"], "--temperature is nan"),
        (["--model", "m", "--suite", "seeds", "--temperature", "0", "--samples", "4"], "the same response 4 times"),
        (["--model", "m", "--suite", "seeds", "--top-p", "0"], "--top-p is 0"),
        (["--model", "m", "--suite", "seeds", "--max-tokens", "0"], "--max-tokens is 0"),
        (["--model", "m", "--suite", "seeds", "--difficulties", "1-0"], "--difficulties is '1-0'"),
        (["--model", "m", "--suite", "seeds", "--difficulties", "-1"], "--difficulties is '-1'"),
        (["--model", "m", "--suite", "seeds", "--instances", "0"], "0 instances"),
        (["--model", "m", "--suite", "seeds", "--set", "model.nam=x"], "did you mean 'model.name'"),
        (["--model", "m", "--suite", "seeds", "--checkpoint", "3"], "--checkpoint is a step of a run"),
        (["--model", "m", "--abilities", "nano", "--suite", "seeds"], "leave --suite out"),
        (["--model", "m", "--abilities", "nano", "--samples", "4", "-o", "x"], "leave --samples, --output out"),
        (["--model", "m", "--abilities", "nano", "--checkpoint", "3"], "--checkpoint is a step of a run"),
        (["--run", "{tmp}/begun", "--suite", "seeds"], "has no checkpoint yet"),
        (["--run", "{tmp}/begun", "--suite", "seeds", "--checkpoint", "3"], "no checkpoint of step 3; it has none"),
        (["--run", "{tmp}/begun", "--suite", "seeds", "--base-url", "u"], "--base-url goes with --model"),
        (["--model", "m", "--suite", "{tmp}/none.jsonl"], "cannot read"),
    ],
)
def test_what_cannot_run_is_refused_before_any_work(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    create(tmp_path / "begun", configuration())[0].close()
    assert main(["eval", *(argument.format(tmp=tmp_path) for argument in arguments)]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["begun"]


def test_a_run_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--run", str(tmp_path), "--suite", "seeds"]) == 1
    assert "there is no run in" in capsys.readouterr().err


def test_suites_have_files_of_their_own() -> None:
    assert results_name("corpus:held-out") == "corpus-held-out"
    assert results_name("data/aime24.jsonl").startswith("aime24-")
    assert results_name("data/aime24.jsonl") != results_name("other/aime24.jsonl")
    assert "/" not in results_name("run:/a/b/../c/")


@pytest.mark.sandbox
def test_json_is_one_document_and_the_files_are_kept(
    tmp_path: Path, adding: Path, scripted: ScriptedPolicy, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "out"
    command = ["eval", "--model", "m", "--suite", str(adding), *SMALL, "-o", str(place), "--json"]
    assert main(command) == 0
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert shown.err == ""
    (suite,) = document["suites"]
    assert suite["accuracy"]["mean"] == 0.25
    assert suite["pass_at"] == {"1": 0.25, "2": 0.5, "4": 1.0}
    assert (suite["problems"], suite["samples"], suite["sampled"]) == (4, 4, 16)
    results = Path(suite["results"])
    assert len(results.read_text().splitlines()) == 17
    kept = json.loads(results.with_suffix(".json").read_text())
    assert kept["accuracy"] == suite["accuracy"]
    asked = len(scripted.requests)
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["suites"][0]["sampled"] == 0
    assert len(scripted.requests) == asked
    assert sorted(path.suffix for path in place.iterdir()) == [".json", ".jsonl"]


@pytest.mark.sandbox
def test_the_table_shows_every_suite_and_what_went_wrong(
    tmp_path: Path, scripted: ScriptedPolicy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    folder = tmp_path / "envs"
    folder.mkdir()
    for name, source in (("adding", ADDING), ("dying", DYING), ("broken", BROKEN)):
        (folder / f"{name}.py").write_text(source)
    assert main(["eval", "--model", "org/m", "--suite", "envs", "--suite", "envs/adding.py", *SMALL]) == 0
    shown = capsys.readouterr().out
    assert "0.250 (" in shown
    assert "instances could not be posed" in shown
    assert "adding.py" in shown
    assert "level 1" in shown
    assert (tmp_path / "evaluations" / "org-m").is_dir()
    assert main(["eval", "--model", "org/m", "--suite", "envs/adding.py", *SMALL]) == 0
    assert "nothing was sampled" in capsys.readouterr().out


@pytest.mark.sandbox
def test_environments_that_need_a_module_say_how_to_be_evaluated_on(
    tmp_path: Path, scripted: ScriptedPolicy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("envs").mkdir()
    Path("envs", "needing.py").write_text("import msgspec.json\n" + ADDING)
    assert main(["eval", "--model", "org/m", "--suite", "envs", *SMALL]) == 0
    assert "evoenv import envs --run DIR --allow-module msgspec" in " ".join(capsys.readouterr().out.split())


@pytest.mark.sandbox
def test_another_model_or_suite_in_the_same_place_is_refused(
    tmp_path: Path, adding: Path, scripted: ScriptedPolicy, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["-o", str(tmp_path / "out")]
    assert main(["eval", "--model", "one", "--suite", str(adding), *SMALL, *place]) == 0
    assert main(["eval", "--model", "two", "--suite", str(adding), *SMALL, *place]) == 2
    assert "model.name was 'one' and is 'two'" in capsys.readouterr().err
    adding.write_text(ADDING.replace("What is", "Say what is"))
    assert main(["eval", "--model", "one", "--suite", str(adding), *SMALL, *place]) == 2
    assert "suite.content was" in capsys.readouterr().err


@pytest.mark.sandbox
def test_mathematics_needs_its_extra(
    tmp_path: Path, scripted: ScriptedPolicy, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"problem": "1+1?", "answer": "2"}\n')
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "math_verify" else find(name))
    assert main(["eval", "--model", "m", "--suite", str(path), "-o", str(tmp_path / "out")]) == 2
    assert "pip install 'evoenv[eval]'" in capsys.readouterr().err


# --------------------------------------------------------------------------- a server


@pytest.fixture
def server() -> Iterator[str]:
    program = Path(__file__).parents[1] / "cli" / "synth_server.py"
    process = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.sandbox
def test_a_served_model_is_evaluated(
    tmp_path: Path, adding: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("httpx", reason="httpx is not installed: pip install 'evoenv[endpoint]'")
    command = ["eval", "--model", "author-1", "--base-url", server, "--suite", str(adding), *SMALL]
    assert main([*command, "-o", str(tmp_path / "out"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["suites"][0]["sampled"] == 16
    assert document["suites"][0]["model"] == {"name": "author-1", "base_url": server}
    assert main([*command[:2], "nobody", *command[3:], "-o", str(tmp_path / "other")]) == 1
    assert "author-1" in capsys.readouterr().err


# --------------------------------------------------------------------------- real models


def evoenv(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "evoenv", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        # A shell's background jobs ignore Ctrl-C, and their children inherit that: tests may be started so.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.long
@pytest.mark.sandbox
def test_the_tiny_model_is_interrupted_and_goes_on(
    tmp_path: Path, adding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "out"
    command = ("eval", "--model", "tiny-test", "--suite", str(adding), "--suite", "seeds", "-o", str(place), "--json")
    sizes = ("--difficulties", "0", "--instances", "2", "--samples", "12", "--max-tokens", "120")
    process = evoenv(*command, *sizes)

    def has_results() -> bool:
        return any(len(path.read_bytes().splitlines()) > 3 for path in place.glob("*.jsonl"))

    assert becomes_true(lambda: has_results() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HANG_S)
    assert process.returncode == 130, errors
    assert "the same command continues" in errors.replace("\n", " ")
    kept = sum(len(path.read_bytes().splitlines()) - 1 for path in place.glob("*.jsonl"))
    # It goes on in this process, which has the libraries loaded already.
    assert main([*command, *sizes]) == 0
    document = json.loads(capsys.readouterr().out)
    first, second = document["suites"]
    assert (first["problems"], second["problems"]) == (2, 20)
    assert first["sampled"] + second["sampled"] <= 12 * 22 - kept
    assert first["model"]["weights"]


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_run_is_evaluated_at_its_newest_checkpoint_another_one_and_before_training(
    tmp_path: Path, adding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(["train", "--preset", "tiny-test", "--run", str(run), "--steps", "2"]) == 0
    capsys.readouterr()
    command = ["eval", "--run", str(run), "--suite", str(adding), "--suite", f"run:{run}", "--difficulties", "0"]
    command += ["--instances", "1", "--samples", "1", "--max-tokens", "20", "--json"]
    weights = set()
    for flags, step in (([], 2), (["--checkpoint", "1"], 1), (["--checkpoint", "0"], 0)):
        assert main([*command, *flags]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["output"] == str(run / "evaluations" / f"step-{step:05d}")
        assert document["suites"][1]["problems"] == 10
        assert "trained_on" not in document["suites"][0]
        assert len(document["suites"][1].get("trained_on", ())) == (10 if step else 0)
        weights.add(document["suites"][0]["model"]["weights"])
    assert len(weights) == 3
    with Store.read(run) as store:
        assert {(item.step, item.suite) for item in store.evaluations()} == {
            (step, suite) for step in (0, 1, 2) for suite in (str(adding), f"run:{run}")
        }
    with Store.open(run):
        assert main(command) == 0
    assert "was not entered in the run" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.model
def test_abilities_are_told_on_the_way_and_printed_as_one_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "few.toml"
    recipe.write_text(
        '[data]\nfamilies = "basic"\nprograms = 12\nreviewer = 0.1\n'
        "[checks]\ncandidates = 4\nproblems = 8\nreviews = 2\ngenerator_tokens = 30\nsolver_tokens = 10\n"
        'reviewer_tokens = 10\n[[then]]\n[then.data]\nfamilies = "paired"\n'
    )
    assert main(["eval", "--model", "tiny-test", "--abilities", str(recipe), "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)["abilities"]
    assert found["generator"]["candidates"] == 4
    assert list(found["solver"]) == ["corpus:basic", "corpus:paired", "corpus:held-out", "corpus:near"]
    assert found["reviewer"]["reviews"] == 2
    assert "generator: 4 candidates" in said.err
    assert "solver: corpus:near" in said.err
    assert main(["eval", "--model", "tiny-test", "--abilities", str(recipe)]) == 0
    assert "solver: corpus:held-out" in capsys.readouterr().out


def test_where_there_is_no_terminal_a_line_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    with eval_view.ProgressBar(Console(file=written), "reading [1]") as progress:
        progress(1, 240)  # within the half minute: nothing
        monkeypatch.setattr(eval_view, "PLAIN_SECONDS", -1.0)
        progress(3, 240)
    assert written.getvalue() == "reading [1]: 3 of 240\n"
