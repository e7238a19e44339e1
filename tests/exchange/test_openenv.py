"""`--to openenv`: what is written, and a real server of it with a real client."""

from __future__ import annotations

import json
import socket
from importlib import metadata
from pathlib import Path

import pytest
from peer_packages import Peer, blocks, own_scores, rows

from evoenv.cli import main
from evoenv.environment.sets import Seeds
from evoenv.exchange.bundle import PoolEntry
from evoenv.exchange.packages import requirements
from evoenv.exchange.sources import read_sources

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(3600)]


def test_the_package_has_openenvs_layout_and_no_answer(tmp_path: Path) -> None:
    place = tmp_path / "two-seeds"
    chosen = ("--only", "Sorting", "--only", "Knapsack", "--instances", "4", "--test-instances", "2")
    assert main(["export", "seeds", "--to", "openenv", "-o", str(place), *chosen]) == 0
    for name in ("openenv.yaml", "pyproject.toml", "models.py", "client.py", "server/app.py", "server/Dockerfile"):
        assert (place / name).is_file()
    drawn = rows(place / "server" / "train.jsonl") + rows(place / "server" / "test.jsonl")
    assert len(drawn) == 12
    assert all(list(row) == ["environment_id", "environment", "seed", "difficulty", "prompt"] for row in drawn)
    assert "declared_task_count: {train: 8, test: 4}" in (place / "openenv.yaml").read_text()
    for path in place.rglob("*.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")


def test_what_environments_were_allowed_to_import_becomes_a_requirement() -> None:
    entries = [
        PoolEntry("a", "A", "", modules=("numpy", "decimal")),
        PoolEntry("b", "B", "", modules=("numpy", "nowhere_to_be_found", "uvicorn")),
    ]
    numpy = f"numpy>={metadata.version('numpy')}"
    assert requirements(entries, "openenv>=0.10,<0.11", "uvicorn>=0.24") == [
        "openenv>=0.10,<0.11", "uvicorn>=0.24", "nowhere-to-be-found", numpy,
    ]  # fmt: skip


EPISODES = """
import json, sys
from seeds_open import EvoEnvAction, EvoEnvClient
given = json.load(sys.stdin)
found = []
with EvoEnvClient(base_url="http://localhost:8000").sync() as client:
    for index, response in given:
        task = client.reset(split="test", index=index)
        state = client.state().model_dump(mode="json")
        result = client.step(EvoEnvAction(response=response))
        again = client.step(EvoEnvAction(response=response))
        found.append({
            "prompt": task.observation.prompt, "first": task.observation.model_dump(mode="json"), "state": state,
            "reward": result.reward, "done": [task.done, result.done], "format_ok": result.observation.format_ok,
            "again": again.reward,
        })
    same = [client.reset(seed=5).observation.prompt for _ in range(2)]
    try:
        client.reset(split="test", index=10**6)
        refused = ""
    except Exception as error:
        refused = str(error)
print(json.dumps({"episodes": found, "same": same, "refused": refused}))
"""


@pytest.mark.peer
def test_the_page_works_and_a_client_steps_a_real_server(tmp_path: Path) -> None:
    peer = Peer("openenv", tmp_path)
    (_, export), (_, serve), (_, code) = blocks("openenv.md")
    made, validated = [peer.run(line) for line in export.splitlines()]
    assert "openenv validate" in made
    assert "Verdict: PASS" in validated
    install, server, probe = serve.splitlines()
    peer.run(install)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    there = {"localhost:8000": f"127.0.0.1:{port}"}
    tests = rows(tmp_path / "seeds-open" / "server" / "test.jsonl")
    sorting = [place for place, row in enumerate(tests) if row["environment"] == "Sorting"]
    given = []
    for place in sorting:
        numbers = tests[place]["prompt"].partition("Integers: ")[2].partition("\n")[0].split()
        right = " ".join(sorted(numbers, key=int))
        given += [(place, f"<answer>{right}</answer>"), (place, "<answer>1 2</answer>"), (place, "no idea")]
    with peer.serving(server, port):
        assert "Verdict: PASS" in peer.run(probe, there)
        shown = peer.run_python(code, there)
        found = json.loads(peer.run_python(EPISODES, there, given))
    assert tests[0]["prompt"] in shown
    asked = [
        (tests[at]["environment_id"], tests[at]["seed"], tests[at]["difficulty"], text[8:-9]) for at, text in given
    ]
    scores = own_scores(read_sources(Seeds()), asked)
    for (place, response), score, episode in zip(given, scores, found["episodes"], strict=True):
        assert episode["prompt"] == tests[place]["prompt"]
        assert episode["done"] == [False, True]
        assert episode["format_ok"] is ("<answer>" in response)
        assert episode["reward"] == (score if episode["format_ok"] else 0.0)
        assert episode["again"] == 0.0
        assert set(episode["state"]) == {"episode_id", "step_count", "environment_id", "seed", "difficulty"}
        assert set(episode["first"]) == {
            "done", "reward", "metadata", "prompt", "environment", "environment_id", "difficulty", "format_ok",
        }  # fmt: skip
    assert [episode["reward"] for episode in found["episodes"][::3]] == [1.0] * len(sorting)
    assert found["same"][0] == found["same"][1]
    assert "expected 0 to" in found["refused"]
