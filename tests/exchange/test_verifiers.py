"""`--to verifiers`: what is written, and what verifiers itself makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from peer_packages import Peer, blocks, knowing, own_scores, rows

from evoenv.cli import main
from evoenv.environment.sets import Seeds
from evoenv.exchange.sources import read_sources

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(3600)]


def export(place: Path, *more: str) -> int:
    chosen = ("--only", "Sorting", "--only", "Knapsack", "--instances", "4", "--test-instances", "4")
    return main(["export", "seeds", "--to", "verifiers", "-o", str(place), *chosen, *more])


def test_the_package_names_instances_and_keeps_answers_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(tmp_path / "two-seeds") == 0
    assert f"pip install {tmp_path / 'two-seeds'}" in capsys.readouterr().out
    package = tmp_path / "two-seeds" / "two_seeds"
    drawn = rows(package / "train.jsonl") + rows(package / "test.jsonl")
    assert len(drawn) == 16
    assert all(list(row) == ["environment_id", "environment", "seed", "difficulty", "prompt"] for row in drawn)
    known = json.loads((package / "answers.json").read_text())
    assert len(known) == 16
    for path in (tmp_path / "two-seeds").rglob("*.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
    (first, _) = json.loads((package / "scorer" / "manifest.json").read_text())["environments"]
    assert first["validation"]["layer"] == 5
    assert len(first["sha256"]) == 64


@pytest.mark.parametrize("name", ["openenv", "json", "class", "verifiers"])
def test_a_name_that_is_taken_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert export(tmp_path / "out", "--name", name) == 2
    assert "choose another with --name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


GRADE = """
import asyncio, json, sys
import verifiers.v1 as vf
from seeds_env.taskset import EvoEnvConfig
given = json.load(sys.stdin)
tasks = {task.key: task for task in vf.load_taskset(EvoEnvConfig(id="seeds-env", split="test"))}
async def work():
    return [await tasks[key].grade(response) for key, response in given]
data = [task.data.model_dump(mode="json") for task in tasks.values()]
print(json.dumps({"scores": asyncio.run(work()), "data": data}))
"""


@pytest.mark.peer
def test_every_command_of_the_page_works_and_scores_are_evoenvs(tmp_path: Path) -> None:
    peer = Peer("verifiers", tmp_path)
    (_, first), (_, validate), (_, evaluate), (_, code) = blocks("verifiers.md")
    for line in first.splitlines():
        peer.run(line)
    shown = peer.run(validate)
    summary = json.loads(shown[shown.index("{\n") :].partition("\n}\n")[0] + "\n}")
    assert summary["outcomes"]["valid"] == summary["total"] == 12
    assert summary["checks"]["gold"]["valid"] == summary["checks"]["noop"]["valid"] == 12

    package = tmp_path / "seeds-env" / "seeds_env"
    known: dict[str, str] = json.loads((package / "answers.json").read_text())
    tests = {f"{row['environment_id']}-{row['seed']}-{row['difficulty']}": row for row in rows(package / "test.jsonl")}
    chosen = list(tests)[:4]
    right = {tests[key]["prompt"]: f"I think <answer>{known[key]}</answer>" for key in chosen[::2]}
    with knowing(right, tmp_path) as port:
        peer.run(evaluate, {"localhost:8000": f"127.0.0.1:{port}"})
    earned: dict[str, Any] = {}
    for path in tmp_path.glob("outputs/*/traces.jsonl"):
        for episode in rows(path):
            (trace,) = episode["traces"]
            assert trace["errors"] == []
            earned[trace["task"]["key"]] = (trace["rewards"]["correct"]["score"], trace["metrics"]["format_ok"])
    assert earned == {key: (1.0, 1.0) if place % 2 == 0 else (0.0, 0.0) for place, key in enumerate(chosen)}

    assert peer.run_python(code).count("-") >= 3  # three keys

    given = [(key, f"<answer>{text}</answer>") for key in tests for text in (known[key], "0", "1 2")]
    found = json.loads(peer.run_python(GRADE, given=given))
    asked = [(*split_key(key), response[8:-9]) for key, response in given]
    assert found["scores"] == own_scores(read_sources(Seeds()), asked)
    assert found["scores"][::3] == [1.0] * len(tests)
    assert any(score == 0.0 for score in found["scores"])
    allowed = {"environment_id", "environment", "seed", "difficulty", "prompt", "name", "idx"}
    filled = {name for data in found["data"] for name, value in data.items() if isinstance(value, str | int)}
    assert filled - {"artifact_max_bytes"} <= allowed


def split_key(key: str) -> tuple[str, int, int]:
    name, seed, level = key.rsplit("-", 2)
    return name, int(seed), int(level)
