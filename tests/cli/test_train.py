"""`evoenv train` as a user runs it: refusals before any work, a tiny run, Ctrl-C once and twice, taking it up again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from loop_support import configuration

from evoenv.cli import main
from evoenv.run import create
from evoenv.store.store import Store
from tests.effort import HANG_S

TINY = ("--preset", "tiny-test")


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    create(tmp_path / "begun", configuration())[0].close()
    return tmp_path / "begun"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "trainin.kl=1"], "unknown setting 'trainin.kl'; did you mean 'training.kl'?"),
        (["--set", "training.kl"], "expected section.key=value"),
        (["--set", "training.kl=high"], "Expected `float`, got `str`"),
        (["--preset", "nan"], "no preset 'nan'; did you mean 'nano'?"),
        (["--config", "{tmp}/none.toml"], "cannot read the configuration"),
        (["--set", "model.base_url=http://localhost:1/v1"], "use `evoenv synth`"),
        (["--steps", "0"], "run.steps is 0; expected 1 or more"),
        (["--minutes", "-1"], "expected a positive number"),
        (["--resume"], "--resume needs --run DIR"),
        (["--resume", "--run", "{tmp}/none"], "no run in"),
        (["--resume", "--run", "{tmp}/begun", "--preset", "nano"], "keeps its own configuration"),
        (["--run", "{tmp}/begun/config.toml/x"], "is not a directory to write in"),
        (["--run", "{tmp}/begun"], "already holds a run; continue it with --resume"),
        (["--resume", "--run", "{tmp}/begun", "--set", "training.kl=1.0"], "cannot change training.kl"),
    ],
)
def test_what_cannot_run_is_refused_before_any_work(
    begun: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    place = begun.parent
    before = {name: (begun / name).read_bytes() for name in ("config.toml", "run.sqlite")}
    assert main(["train", *(argument.format(tmp=place) for argument in arguments)]) == 2
    shown = capsys.readouterr()
    assert words.lower() in shown.err.lower()
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert [path.name for path in place.iterdir()] == ["begun"]
    assert {name: (begun / name).read_bytes() for name in before} == before


def test_a_run_in_use_is_refused_and_its_holder_named(begun: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(begun):
        assert main(["train", "--resume", "--run", str(begun)]) == 1
    assert f"in use by process {os.getpid()}" in capsys.readouterr().err


def test_a_writer_that_is_not_installed_is_refused_before_a_run_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "wandb" else object())
    run = tmp_path / "run"
    assert main(["train", *TINY, "--run", str(run), "--set", 'run.writers=["wandb"]']) == 2
    assert "pip install wandb" in capsys.readouterr().err
    assert not run.exists()


def test_packages_that_a_run_needs_are_named_with_the_way_to_get_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in ("torch", "numpy") else object())
    assert main(["train", *TINY]) == 2
    assert "numpy, torch not found" in (shown := capsys.readouterr().err)
    assert "pip install 'evoenv[local,endpoint]'" in shown
    assert main(["synth", "--model", "m", "--candidates", "1"]) == 2


@pytest.mark.slow
def test_a_model_that_does_not_load_leaves_no_run_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert main(["train", *TINY, "--run", str(run), "--set", f"model.name={tmp_path}"]) == 1
    assert "is not a model directory" in capsys.readouterr().err
    assert not run.exists()


def test_settings_are_printed_for_a_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--preset", "paper-4b", "--set", "training.kl=0.5", "--help-config"]) == 0
    shown = capsys.readouterr().out
    assert 'name = "Qwen/Qwen3-4B-Instruct-2507"' in shown
    assert "kl = 0.5" in shown


# --------------------------------------------------------------------------- real runs of the tiny model


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "evoenv", "train", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def wait_for(process: subprocess.Popen[str], pattern: str) -> None:
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if re.search(pattern, line):
            return
    raise AssertionError("".join(seen))


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_tiny_run_trains_stops_on_ctrl_c_and_continues_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "run")
    process = start(*TINY, "--run", run, "--steps", "3")
    wait_for(process, r"step 1/3 +generated")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 130, err
    assert "stopping after this stage" in err
    assert f"continue: evoenv train --run {run} --resume" in err.replace("\n", "")
    with Store.read(Path(run)) as store:
        assert store.stage_done(1, "generated")
        done = store.last_step()
        assert done < 3
        assert store.events()[-1][3] == "run-stopped"
    # It is taken up in this process, which has the libraries loaded already.
    assert main(["train", "--run", run, "--resume"]) == 0
    assert "3 steps in" in capsys.readouterr().out
    with Store.read(Path(run)) as store:
        assert store.last_step() == 3
        assert store.metrics(3)["update/learning_rate"] > 0
    # done already: nothing to do, and more steps may be asked for
    assert main(["train", "--run", run, "--resume", "--steps", "4", "--minutes", "10"]) == 0
    assert "4 steps in" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_second_ctrl_c_stops_at_once_and_loses_nothing(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    process = start(*TINY, "--run", run, "--set", "solver.prompts=64", "--set", "solver.max_tokens=2000")
    wait_for(process, r"step 1/2 +decided")
    process.send_signal(signal.SIGINT)
    wait_for(process, "stopping after this stage")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert "stopped at once" in err
    with Store.open(Path(run)) as store:  # the lock went with the process
        assert store.stage_done(1, "decided")
        assert not store.stage_done(1, "solved")
        wanted = 64 * store.meta("config")["solver"]["responses_per_prompt"]
        assert len(store.samples(1, "solve")) < wanted, "it sampled to the end of the stage"


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_time_limit_is_a_clean_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "run")
    assert main(["train", *TINY, "--run", run, "--steps", "1000", "--minutes", "0.02"]) == 0
    err = capsys.readouterr().err
    assert "minutes are over" in err
    assert "--resume" in err
    with Store.read(Path(run)) as store:
        assert store.last_step() < 1000
