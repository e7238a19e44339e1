"""Runs begun by the version before (schema 4) are taken up, reported on and exported as if nothing had been.

`before/r-zero.sql` and `before/fixed.sql` are dumps of two run directories that version 0.1.0 at schema 4 left when its
policy failed in the solver's part of step 2, in the scripted world of `curricula_support`, with a checkpoint every
second step: the update of step 1 has to be computed again. One has questions stored as candidates.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from curricula_support import answer, begin, config_of
from loop_support import contents

from evoenv.cli import main
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.records import QuestionDecision, Vote
from evoenv.run import advance
from evoenv.runs.funnel import read_fates
from evoenv.sandbox.host import Sandbox
from evoenv.store.schema import SCHEMA_VERSION
from evoenv.store.store import Store

BEFORE = Path(__file__).with_name("before")


def restore(name: str, directory: Path) -> Path:
    """Make a run directory out of a dump."""
    directory.mkdir(parents=True)
    database = sqlite3.connect(directory / "run.sqlite")
    database.executescript((BEFORE / f"{name}.sql").read_text(encoding="utf-8"))
    assert database.execute("PRAGMA user_version").fetchone() == (4,)
    database.close()
    return directory


def without_first_metrics(directory: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return what a run holds, but for the metrics of step 1: a scripted policy told less of its updates then."""
    return {
        query: [row for row in rows if "FROM metrics" not in query or row[0] != 1]
        for query, rows in contents(directory).items()
    }


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["fixed", "r-zero"])
def test_a_run_begun_before_continues_like_one_begun_now(tmp_path: Path, sandbox: Sandbox, name: str) -> None:
    now, before = tmp_path / "now", tmp_path / "before"
    now.mkdir()
    restore(name, before / "run")
    config = config_of(name, tmp_path, run={"steps": 3, "checkpoint_every": 2})
    with begin(now, sandbox, config, ScriptedPolicy(answer)) as run:
        advance(run)
    resumed = ScriptedPolicy(answer)
    with begin(before, sandbox, None, resumed) as run:
        assert resumed.step == 1
        assert resumed.requests == []
        advance(run)
    assert without_first_metrics(before / "run") == without_first_metrics(now / "run")


def test_questions_that_stood_as_candidates_get_records_of_their_own(tmp_path: Path) -> None:
    directory = restore("r-zero", tmp_path / "run")
    with Store.read(directory) as store:
        assert store.query("PRAGMA user_version") == [(SCHEMA_VERSION,)]
        assert store.candidates(1) == store.decisions(1) == []
        assert store.calibrations(1) == {}
        questions = store.questions(1)
        assert [question.id for question in questions] == [
            "s00001.g000.c00",
            "s00001.g000.c01",
            "s00001.g001.c00",
            "s00001.g001.c01",
        ]
        assert questions[0].response == "<question>How many legs have six spiders in all together?</question>"
        assert store.votes(2) == {
            "s00002.g000.c00": Vote((True, True, False, False), 0.5),
            "s00002.g000.c01": Vote((True, True, True, True), 1.0),
            "s00002.g001.c00": Vote((True, False, False, False), 0.25),
        }
        assert store.question_decisions(1) == [
            QuestionDecision("s00001.g000.c00", 0.5, True, "admitted"),
            QuestionDecision("s00001.g000.c01", 0.0, False, "too-easy"),
            QuestionDecision("s00001.g001.c00", 0.25, True, "admitted"),
            QuestionDecision("s00001.g001.c01", 0.0, False, "malformed"),
        ]
        assert read_fates(store, 1, 1)[1].counts == {"admitted": 2, "malformed": 1, "too-easy": 1}


@pytest.mark.parametrize("name", ["fixed", "r-zero"])
def test_samples_get_the_versions_that_they_were_of(tmp_path: Path, name: str) -> None:
    with Store.read(restore(name, tmp_path / "run")) as store:
        for step in (1, 2):
            samples = store.samples(step, "solve").values()
            assert samples
            assert {sample.version for sample in samples} == {step - 1}
            assert all(sample.tokens == len(sample.rollout.token_ids) for sample in samples if sample.rollout)


def test_a_run_without_questions_keeps_its_candidates(tmp_path: Path) -> None:
    directory = restore("r-zero", tmp_path / "run")
    database = sqlite3.connect(directory / "run.sqlite")
    with database:
        database.execute("UPDATE meta SET value = json_set(value, '$.curriculum.name', 'evoenv') WHERE key = 'config'")
    database.close()
    with Store.read(directory) as store:
        assert len(store.candidates(1)) == len(store.decisions(1)) == 4
        assert store.questions(1) == []


@pytest.mark.parametrize("name", ["fixed", "r-zero"])
def test_a_run_begun_before_is_reported_on(tmp_path: Path, name: str) -> None:
    directory = restore(name, tmp_path / "run")
    assert main(["report", str(directory)]) == 0
    figures = directory / "report" / "figures"
    rewards = (figures / "reward.csv").read_text().splitlines()
    if name == "r-zero":
        step, count, mean = rewards[1].split(",")[:3]
        assert (step, count, float(mean)) == ("1", "4", (0.5 + 0.25) / 4)
    else:
        assert len(rewards) == 1


@pytest.mark.sandbox
def test_a_run_begun_before_is_exported(tmp_path: Path) -> None:
    directory, out = restore("fixed", tmp_path / "run"), tmp_path / "out"
    assert main(["export", str(directory), "--to", "jsonl", "--instances", "2", "-o", str(out)]) == 0
    rows = [json.loads(line) for line in (out / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 2 * 2
    assert all("Multiply each number by its position" in json.dumps(row) for row in rows)
