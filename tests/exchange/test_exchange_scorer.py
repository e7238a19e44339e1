"""The scorer that every export carries: alone, equal to our own, and as hard to fool."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from exchange_support import BARE_PYTHON, bare, evoenv, lines

from evoenv.environment.answers import extract_answer
from evoenv.exchange.bundle import PoolEntry
from evoenv.exchange.scorer.carry import CARRIED, manifest
from evoenv.exchange.scorer.loading import load_scorer
from evoenv.sandbox.host import Sandbox
from tests.effort import HANG_S

pytestmark = pytest.mark.sandbox

SCORE_ALL = """
import json, sys
sys.path.insert(0, sys.argv[1])
import scorer
assert "evoenv" not in sys.modules and not any("site-packages" in place for place in sys.path)
items = json.loads(sys.argv[2])
print(json.dumps([scorer.score_many(items), [scorer.instance(*item[:3])["prompt"] for item in items[::8]]]))
"""


def responses(row: dict[str, Any]) -> list[str]:
    """Right, wrong, nearly right, malformed, hidden in thought, and empty."""
    answer = row["answer"]
    return [
        f"I am sure.\n<answer>{answer}</answer>",
        f"<think><answer>{answer}</answer></think> I do not know.",
        f"\\boxed{{{answer}}}",
        f"<answer>{answer} {answer}</answer>",
        "<answer>0</answer>",
        "<answer></answer>",
        answer,
        "",
    ]


def test_without_evoenv_scores_and_prompts_equal_our_own(
    jsonl_export: Path, seeds: list[PoolEntry], sandbox: Sandbox
) -> None:
    rows = [row for row in lines(jsonl_export / "train.jsonl") if row["difficulty"] in (0, 3)][::2]
    items = [[row["environment_id"], row["seed"], row["difficulty"], text] for row in rows for text in responses(row)]
    scores, prompts = json.loads(bare(SCORE_ALL, jsonl_export, json.dumps(items)))
    ours = []
    for entry in seeds:
        texts = [(seed, level, extract_answer(text)) for name, seed, level, text in items if name == entry.id]
        with sandbox.open(entry.source) as worker:
            judged = iter(worker.score([(seed, level, text) for seed, level, text in texts if text is not None]))
        ours += [0.0 if text is None else next(judged).value for _, _, text in texts]
    assert scores == ours
    assert prompts == [row["prompt"] for row in rows]
    assert {row["name"] for row in rows} == {entry.name for entry in seeds}
    assert [scores[index] for index in range(0, len(scores), 8)] == [1.0] * len(rows)
    assert all(score < 1.0 for index, score in enumerate(scores) if index % 8 in (1, 5, 6, 7))


def test_it_is_a_program_too(jsonl_export: Path) -> None:
    row = lines(jsonl_export / "test.jsonl")[0]
    where = [row["environment_id"], str(row["seed"]), str(row["difficulty"])]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*BARE_PYTHON, str(jsonl_export / "scorer"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={})

    assert len(run("list").stdout.splitlines()) == 10
    shown = json.loads(run("instance", *where).stdout)
    assert shown["prompt"] == row["prompt"]
    assert "reference" not in shown
    assert run("score", *where, f"<answer>{row['answer']}</answer>").stdout == "1.0\n"
    failed = run("score", "0123456789abcdef", "1", "0", "x")
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)
    assert run().returncode == 2


def test_an_edited_source_is_refused_and_not_run(jsonl_export: Path, tmp_path: Path) -> None:
    copy = tmp_path / "scorer"
    shutil.copytree(jsonl_export / "scorer", copy)
    scorer = load_scorer(copy)
    row = scorer.environments()[0]
    path = copy / "environments" / row["file"]
    path.write_text(path.read_text().replace("class", "print('changed')\nclass", 1))
    with pytest.raises(ValueError, match=f"{row['file']} was changed after it was verified"):
        scorer.score(row["id"], 1, 0, "<answer>1</answer>")
    scorer.close()


def test_what_data_sets_hand_over_is_taken_or_refused_by_name(jsonl_export: Path) -> None:
    import numpy

    scorer = load_scorer(jsonl_export / "scorer")
    row = lines(jsonl_export / "test.jsonl")[0]
    right = f"<answer>{row['answer']}</answer>"
    name = row["environment_id"]
    assert scorer.score(name, numpy.int64(row["seed"]), numpy.int32(row["difficulty"]), right) == 1.0
    assert scorer.score(name, float(row["seed"]), row["difficulty"], right) == 1.0
    assert scorer.score(name, row["seed"], row["difficulty"], None) == 0.0
    with pytest.raises(ValueError, match=r"seed is 1\.5"):
        scorer.score(name, 1.5, 0, right)
    with pytest.raises(ValueError, match="difficulty is -1"):
        scorer.instance(name, 1, -1)
    with pytest.raises(ValueError, match="there is no environment 'unknown'"):
        scorer.score("unknown", 1, 0, "")
    scorer.close()


HOSTILE = """
import random


class Spins(VerifiableEnvironment):
    def _generate(self, seed, difficulty):
        return seed, seed

    def _prompt_generate(self, z):
        return f"Say {z}."

    def _process(self, y):
        return y

    def scorer(self, y, z, a):
        if y == "spin":
            while True:
                pass
        if y == "eat":
            return len([0] * 10**10)
        if y == "read":
            return len(open("/etc/passwd").read())
        if y == "cheat":
            return 1e999
        return 1.0
"""


@pytest.mark.slow  # one of its answers takes all the time that it is given
def test_a_hostile_environment_earns_nothing_and_harms_nothing(tmp_path: Path) -> None:
    from evoenv.exchange.scorer.carry import write_scorer

    entry = PoolEntry(HOSTILE, "Spins", "test")
    write_scorer([entry], tmp_path / "scorer")
    scorer = load_scorer(tmp_path / "scorer")
    texts = ["fine", "eat", "read", "cheat", "spin", "fine"]
    verdicts = scorer.judge([(entry.id, 1, 0, f"<answer>{text}</answer>") for text in texts])
    assert [verdict["score"] for verdict in verdicts] == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert all(verdict["failure"] for verdict in verdicts[1:5])
    scorer.close()


def test_threads_may_score_at_once(jsonl_export: Path) -> None:
    """verl's reward workers call from many threads, one response at a time."""
    scorer = load_scorer(jsonl_export / "scorer")
    rows = lines(jsonl_export / "train.jsonl")[:16] * 4
    with ThreadPoolExecutor(8) as threads:
        found = threads.map(
            lambda row: scorer.score(
                row["environment_id"], row["seed"], row["difficulty"], f"<answer>{row['answer']}</answer>"
            ),
            rows,
        )
        assert list(found) == [1.0] * len(rows)
    scorer.close()


def _score_in_a_fork(directory: str, item: tuple[Any, ...], results: Any) -> None:
    results.put(load_scorer(directory).score(*item))


def test_a_forked_trainer_has_a_sandbox_of_its_own(jsonl_export: Path) -> None:
    scorer = load_scorer(jsonl_export / "scorer")
    row = lines(jsonl_export / "test.jsonl")[0]
    item = (row["environment_id"], row["seed"], row["difficulty"], f"<answer>{row['answer']}</answer>")
    assert scorer.score(*item) == 1.0
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_score_in_a_fork, args=(str(jsonl_export / "scorer"), item, results))
    child.start()
    assert results.get(timeout=HANG_S) == 1.0
    child.join(HANG_S)
    assert scorer.score(*item) == 1.0
    scorer.close()


def test_two_exports_live_in_one_process(jsonl_export: Path, tmp_path: Path) -> None:
    evoenv("export", "seeds", "--to", "jsonl", "-o", tmp_path / "other", "--only", "Sorting", "--instances", "2")
    first, second = load_scorer(jsonl_export / "scorer"), load_scorer(tmp_path / "other" / "scorer")
    assert (len(first.environments()), len(second.environments())) == (10, 1)
    assert load_scorer(jsonl_export / "scorer") is first


def test_the_manifest_stamps_version_hash_and_verdict(jsonl_export: Path, seeds: list[PoolEntry]) -> None:
    import hashlib

    import evoenv as package

    stamped = json.loads((jsonl_export / "scorer" / "manifest.json").read_text())
    assert stamped == json.loads(json.dumps(manifest(seeds)))
    assert stamped["evoenv"] == package.__version__
    for row in stamped["environments"]:
        source = (jsonl_export / "scorer" / "environments" / row["file"]).read_bytes()
        assert hashlib.sha256(source).hexdigest() == row["sha256"]
        assert row["sha256"].startswith(row["id"])
        assert (row["validation"]["layer"], row["validation"]["findings"]) == (5, [])


def test_all_that_is_carried_says_so_itself(jsonl_export: Path) -> None:
    carried = jsonl_export / "scorer" / "_evoenv"
    for name in CARRIED:
        text = (carried / name).read_text()
        assert "from evoenv" not in text, name
