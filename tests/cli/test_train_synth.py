"""`evoenv synth` against a real server on loopback: a pool, budgets, a dry run, a kill half-way and what follows."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evoenv.cli import main
from evoenv.config import GeneratorConfig, load_config
from evoenv.presets import preset
from evoenv.store.store import Store
from tests.effort import becomes_true

pytestmark = pytest.mark.sandbox

SETTINGS = (
    # the scripted environments are variations of one: only the very same source is a duplicate here
    "--set", "novelty.embedder=hashing", "--set", "novelty.gate=0.9999", "--set", "calibration.instances=6",
    "--set", "generator.prompts=4", "--set", "solver.difficulty=1", "--set", "endpoint.concurrency=3",
)  # fmt: skip


AUTHOR = ("--base-url", "{server}/v1", "--model", "author-1", "--candidates", "1")
PRICED = ("--money-budget", "1", "--input-price", "1")


def preset_limit(name: str) -> int:
    return load_config(preset(name)).generator.max_tokens


@contextmanager
def serving(*arguments: str) -> Iterator[str]:
    script = Path(__file__).with_name("synth_server.py")
    process = subprocess.Popen([sys.executable, str(script), *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture(autouse=True)
def no_key_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("EVOENV_SOLVER_API_KEY", raising=False)


def stats(server: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{server}/stats") as reply:
        document: dict[str, Any] = json.load(reply)
        return document


def asked(server: str) -> int:
    return int(stats(server)["asked"])


def spent_by(run: Path) -> dict[str, int]:
    """Return what the run remembers of what it has spent."""
    with Store.read(run) as store:
        spent: dict[str, int] = store.meta("spending")
    return spent


def begin(server: str, run: Path, candidates: int, *more: str) -> list[str]:
    own = ["--base-url", f"{server}/v1", "--model", "author-1", "--candidates", str(candidates), "--run", str(run)]
    return ["synth", *own, *SETTINGS, *more]


def contents(run: Path) -> dict[str, Any]:
    """Return all that must not depend on when answers came or whether the run was stopped."""
    with Store.read(run) as store:
        steps = range(1, store.last_step() + 1)
        return {
            "candidates": [store.candidates(step) for step in steps],
            "decisions": [store.decisions(step) for step in steps],
            "reviews": [store.reviews(step) for step in steps],
            "calibrations": [store.calibrations(step) for step in steps],
            "environments": store.environments(),
        }


def test_a_pool_is_built_out_of_a_served_model_and_more_may_be_asked_for(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(begin(server, run, 10)) == 0
    out = capsys.readouterr().out
    assert "Proposed: 10 candidates" in out
    assert "3 steps in" in out
    with Store.read(run) as store:
        assert [len(store.candidates(step)) for step in (1, 2, 3)] == [4, 4, 2]
        generated = [record for record in store.environments() if not record.original]
        assert generated
        assert {record.name for record in generated} <= {"Fresh", "Second", "Third"}
        assert not (run / "checkpoints").exists()
        assert "solver/score" not in store.metrics(1)
    spent = spent_by(run)
    assert spent["requests"] * 150 == spent["prompt_tokens"] + spent["completion_tokens"]
    assert f"{spent['requests']} answers, {spent['requests'] * 150:,} tokens in all" in out
    before = asked(server)
    assert main(["synth", "--resume", "--run", str(run)]) == 0
    assert asked(server) == before  # all there: nothing is asked again
    assert main(["synth", "--resume", "--run", str(run), "--candidates", "15"]) == 0
    assert "Proposed: 15 candidates" in capsys.readouterr().out
    with Store.read(run) as store:
        assert store.count_candidates() == 15
        assert store.last_step() == 5


def test_waiting_for_a_server_is_seen_in_plain_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evoenv.cli.watching.QUIET_S", 0.05)
    with serving("--delay", "0.5") as server:
        assert main(begin(server, tmp_path / "run", 1, "--plain")) == 0
    assert re.search(r"step 1/1  generated   waiting for \d+ answers?: 0 tokens", capsys.readouterr().err)


def test_a_token_budget_stops_cleanly_and_continues_when_raised(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(begin(server, run, 8, "--token-budget", "900")) == 0
    shown = capsys.readouterr().err
    assert "budget used up" in shown
    assert f"continue: evoenv synth --run {run} --resume" in shown.replace("\n", "")
    with Store.read(run) as store:
        assert store.count_candidates() < 8
    again = ["synth", "--run", str(run), "--resume", "--token-budget", "0"]
    assert main([*again, "--money-budget", "5"]) == 2, "without prices it would never be used up"
    assert "--money-budget needs --input-price" in capsys.readouterr().err
    assert main(again) == 0
    with Store.read(run) as store:
        assert store.count_candidates() == 8


def test_a_dry_run_shows_the_first_prompt_and_asks_nothing(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = asked(server)
    prices = ("--input-price", "1", "--output-price", "2", "--money-budget", "3")
    assert main(begin(server, tmp_path / "run", 100, "--dry-run", *prices)) == 0
    shown = capsys.readouterr().out
    assert "class " in shown
    assert "```python" in shown
    assert "100 candidates would be proposed" in shown
    assert "Proposing costs about" in shown
    assert "would stop at 3 of money" in shown
    assert "3 reviews and 6 responses" in shown
    assert asked(server) == before
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [
        (["--model", "nano"], preset_limit("laptop")),
        (["--model", "nano", "--set", "generator.max_tokens=300"], 300),
        (["--model", "nano", "--preset", "nano"], preset_limit("nano")),
        (["--model", "m", "--base-url", "http://127.0.0.1:9/v1"], GeneratorConfig().max_tokens),
    ],
)
def test_a_model_on_this_machine_gets_limits_that_suit_it(
    capsys: pytest.CaptureFixture[str], arguments: list[str], limit: int
) -> None:
    assert main(["synth", "--candidates", "64", "--dry-run", *arguments]) == 0
    assert f"at most {limit:,} answer tokens each" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "needs --base-url U and --model M"),
        (["--base-url", "{server}/v1", "--candidates", "1"], 2, "needs --model M"),
        (["--base-url", "{server}/v1", "--model", "author-1"], 2, "--candidates is 0"),
        (["--base-url", "{server}/v1", "--model", "author-1", "--candidates", "-1"], 2, "--candidates is -1"),
        (["--base-url", "localhost", "--model", "author-1", "--candidates", "1"], 2, "expected http:// or https://"),
        (["--base-url", "{server}/v1", "--model", "nobody", "--candidates", "1"], 1, "does not know model 'nobody'"),
        (["--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--candidates", "1"], 1, "cannot reach"),
        (["--base-url", "{server}/v1", "--model", "m", "--candidates", "1", "--money-budget", "1"], 2, "--input-price"),
        (["--model", "tiny-test", "--candidates", "1", "--token-budget", "9"], 2, "use --candidates or --minutes"),
        (["--model", "tiny-test", "--candidates", "1", *PRICED], 2, "use --candidates or --minutes"),
        ([*AUTHOR, "--solver-base-url", "{server}/v1"], 2, "needs --solver-model"),
        ([*AUTHOR, "--solver-model", "s", "--no-calibration"], 2, "drop one of them"),
        ([*AUTHOR, "--solver-model", "s", "--solver-base-url", "localhost"], 2, "expected http:// or https://"),
        ([*AUTHOR, "--solver-model", "nobody"], 1, "does not know model 'nobody'"),
        ([*AUTHOR, "--solver-model", "m", "--solver-base-url", "http://127.0.0.1:9/v1"], 1, "cannot reach"),
        ([*AUTHOR, *PRICED, "--solver-model", "author-1"], 2, "needs --solver-input-price"),
        ([*AUTHOR, "--solver-output-price", "-1"], 2, "--solver-output-price is -1"),
        (["--resume", "--dry-run"], 2, "leave --resume out"),
        (["--resume", "--run", "{tmp}/none"], 2, "no run in"),
    ],
)
def test_what_cannot_work_is_refused_before_a_run_begins(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    given = [argument.format(server=server, tmp=tmp_path) for argument in arguments]
    run = [] if "--run" in given or "--dry-run" in given else ["--run", str(tmp_path / "run")]
    assert main(["synth", *given, *run]) == code
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_second_server_solves_and_its_tokens_have_their_own_price(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-the-author")
    prices = ("--input-price", "1000", "--output-price", "1000", "--solver-output-price", "2000")
    with serving("--key", "for-the-author") as author, serving("--model", "small-1", "--key", "other") as solver:
        run, second = tmp_path / "run", ("--solver-base-url", f"{solver}/v1", "--solver-model", "small-1")
        assert main(begin(author, run, 8, *prices, *second)) == 1
        shown = capsys.readouterr().err
        # the author's key is not sent to another server, and neither key is ever shown
        assert "an API key is needed and none was given" in shown
        assert "set EVOENV_SOLVER_API_KEY" in shown
        monkeypatch.setenv("EVOENV_SOLVER_API_KEY", "other")
        assert main(begin(author, run, 8, *prices, *second)) == 0
        assert set(stats(solver)["kinds"]) == {"solve"}
        assert set(stats(author)["kinds"]) == {"generate", "review"}
        solved, written = stats(solver)["asked"], stats(author)["asked"]
    out = capsys.readouterr().out
    cost = (written * 150 * 1000 + solved * 50 * 2000) / 1e6
    assert f"{written + solved} answers ({solved} by the solver)" in out
    assert f"which cost {cost:,.4f}" in out
    assert "other" not in (run / "config.toml").read_text() + out
    with Store.read(run) as store:
        assert any(not record.original for record in store.environments())


def test_without_calibration_nobody_solves_and_any_difficulty_is_admitted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as server:
        assert main(begin(server, tmp_path / "run", 10, "--no-calibration")) == 0
        assert set(stats(server)["kinds"]) == {"generate", "review"}
        out = capsys.readouterr().out
        assert "not calibrated" in out
        with Store.read(tmp_path / "run") as store:
            admitted = [record for record in store.environments() if not record.original]
            decided = [item for step in (1, 2, 3) for item in store.decisions(step) if item.admitted]
            assert admitted
            assert not any(store.calibrations(step) for step in (1, 2, 3))
            assert {item.q_val for item in decided} == {1.0}
        assert main(["synth", "--run", str(tmp_path / "run"), "--resume", "--set", "calibration.enabled=true"]) == 2
        assert "cannot change calibration.enabled" in capsys.readouterr().err
        assert main(begin(server, tmp_path / "dry", 10, "--no-calibration", "--dry-run")) == 0
        assert "3 reviews: at most" in capsys.readouterr().out


def test_training_without_calibration_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--set", "calibration.enabled=false"]) == 2
    assert "training needs it" in capsys.readouterr().err


def test_a_money_budget_stops_cleanly(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    budget = ("--money-budget", "0.9", "--input-price", "1000", "--output-price", "1000")
    assert main(begin(server, run, 8, *budget)) == 0
    shown = capsys.readouterr()
    assert "of endpoint.money_budget = 0.9" in shown.err
    spent = spent_by(run)
    assert 5 <= spent["requests"] <= 8  # 0.15 each, three in flight
    assert main(["synth", "--run", str(run), "--resume", "--money-budget", "100"]) == 0
    with Store.read(run) as store:
        assert store.count_candidates() == 8


def test_a_time_budget_stops_cleanly_and_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    with serving("--delay", "0.2") as server:
        assert main(begin(server, run, 40, "--minutes", "0.02")) == 0
        shown = capsys.readouterr().err
        assert "minutes are over" in shown
        assert "--resume" in shown
        with Store.read(run) as store:
            assert 0 < store.count_candidates() < 40


def test_a_wrong_key_is_refused_before_a_run_begins_and_never_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("--key", "right") as server:
        assert main(begin(server, tmp_path / "run", 4)) == 1
        assert "an API key is needed and none was given" in capsys.readouterr().err
        monkeypatch.setenv("OPENAI_API_KEY", "wr0ng")
        assert main(begin(server, tmp_path / "run", 4)) == 1
        shown = capsys.readouterr()
        assert "the API key was refused" in shown.err
        assert "wr0ng" not in shown.err + shown.out
        assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_malformed_replies_are_asked_again_and_change_nothing(server: str, tmp_path: Path) -> None:
    assert main(begin(server, tmp_path / "whole", 8)) == 0
    with serving("--faults", "4") as faulty:
        assert main(begin(faulty, tmp_path / "garbled", 8)) == 0
    assert contents(tmp_path / "garbled") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_a_server_that_dies_is_named_and_nothing_that_it_said_is_lost(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(begin(server, tmp_path / "whole", 8)) == 0
    with serving("--dead-after", "7") as dying:
        assert main(begin(dying, run, 8, "--set", "endpoint.retries=1")) == 1
    shown = capsys.readouterr().err
    assert "check that the server is up" in shown
    assert spent_by(run)["requests"] == 6
    # the same run at another address: the six answers are kept, the rest is asked for
    before = asked(server)
    assert main(["synth", "--run", str(run), "--resume", "--base-url", f"{server}/v1"]) == 0
    whole = spent_by(tmp_path / "whole")["requests"]
    assert asked(server) - before == whole - 6
    assert contents(run) == contents(tmp_path / "whole")


@pytest.mark.slow
def test_a_run_killed_half_way_continues_to_the_same_pool_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def command(server: str, run: Path) -> list[str]:
        return [sys.executable, "-m", "evoenv", *begin(server, run, 12)]

    with serving() as server:
        subprocess.run(command(server, tmp_path / "whole"), check=True, env=environment, capture_output=True)
        whole = asked(server)
    with serving("--delay", "0.1") as server:
        kills = 0
        arguments = command(server, tmp_path / "killed")
        for target in (whole // 3, 2 * whole // 3):
            with subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL) as process:
                assert becomes_true(
                    lambda process=process, target=target: asked(server) >= target or process.poll() is not None
                )
                kills += process.poll() is None
                process.kill()
            arguments = [sys.executable, "-m", "evoenv", "synth", "--run", str(tmp_path / "killed"), "--resume"]
        subprocess.run(arguments, check=True, env=environment, capture_output=True)
        # what was in flight when the process died (three at a time) was paid for and not received
        spent = spent_by(tmp_path / "killed")["requests"]
        assert spent >= whole * 2 // 3  # a kill does not reset what is counted against the budget
        assert kills == 2
        assert whole <= asked(server) <= whole + 3 * kills
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_run_begun_before_goes_on_with_what_it_had_spent(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`before/synth.sql` is the dump of a run of two answers by the version at schema 4, which kept them in a file."""
    run = tmp_path / "run"
    (run / "policy").mkdir(parents=True)
    database = sqlite3.connect(run / "run.sqlite")
    database.executescript((Path(__file__).parent / "before" / "synth.sql").read_text(encoding="utf-8"))
    assert database.execute("PRAGMA user_version").fetchone() == (4,)
    database.close()
    spent = {"requests": 2, "prompt_tokens": 200, "completion_tokens": 100}
    (run / "policy" / "endpoint.json").write_text(json.dumps(spent))
    resume = ["synth", "--run", str(run), "--resume", "--candidates", "4", "--base-url", f"{server}/v1"]
    before = asked(server)
    assert main([*resume, "--token-budget", "300"]) == 0
    assert "budget used up: 300 tokens of endpoint.token_budget = 300" in capsys.readouterr().err
    assert asked(server) == before
    assert spent_by(run) == {**dict.fromkeys(spent_by(run), 0), **spent}
    (run / "policy" / "endpoint.json").write_text("now the store knows")
    assert main([*resume, "--token-budget", "100000"]) == 0
    assert spent_by(run)["requests"] == 2 + asked(server) - before > 2
    with Store.read(run) as store:
        assert store.count_candidates() == 4
        assert {sample.version for step in (1, 2) for sample in store.samples(step, "generate").values()} == {0}


def test_what_a_run_has_spent_in_a_damaged_file_is_said_clearly(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(begin(server, run, 1)) == 0
    database = sqlite3.connect(run / "run.sqlite")
    with database:
        database.execute("DELETE FROM meta WHERE key = 'spending'")
    database.close()
    (run / "policy").mkdir()
    (run / "policy" / "endpoint.json").write_text("half")
    assert main(["synth", "--run", str(run), "--resume", "--candidates", "2"]) == 1
    assert "endpoint.json says what the run has spent and cannot be read" in capsys.readouterr().err
