"""`--to reasoning-gym` and `evoenv import reasoning-gym:NAME`, with the real library."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from peer_packages import ROOT, Peer, blocks, own_scores

from evoenv.cli import main
from evoenv.environment.reasoning_gym import Levels, dataset_source, read_datasets, title
from evoenv.environment.sets import Seeds
from evoenv.exchange.bundle import PoolEntry
from evoenv.exchange.sources import read_sources
from evoenv.exchange.to_reasoning_gym import dataset_names, snake
from evoenv.validation.l1_source import check_source

NEEDS_REASONING_GYM = "reasoning-gym is not installed: pip install 'evoenv[reasoning-gym]'"

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(3600)]


def test_the_package_registers_one_data_set_per_environment(tmp_path: Path) -> None:
    place = tmp_path / "two-seeds"
    chosen = ("--only", "Sorting", "--only", "EuclidGame", "--difficulties", "1-4")
    assert main(["export", "seeds", "--to", "reasoning-gym", "-o", str(place), *chosen]) == 0
    known = json.loads((place / "two_seeds" / "package.json").read_text())
    assert list(known["datasets"]) == ["two_seeds_sorting", "two_seeds_euclid_game"]
    assert known["difficulties"] == [1, 2, 3, 4]
    for path in place.rglob("*.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")


@pytest.mark.parametrize(
    ("name", "plain"),
    [("SlidingWindow", "sliding_window"), ("RGBToHex", "rgb_to_hex"), ("a-b c", "a_b_c"), ("é", "environment")],
)
def test_names_become_those_of_data_sets(name: str, plain: str) -> None:
    assert snake(name) == plain


def test_two_environments_of_one_name_are_told_apart() -> None:
    first, second = PoolEntry("a", "Same", ""), PoolEntry("b", "Same", "")
    assert dataset_names("p", [first, second]) == [f"p_same_{first.id[:8]}", f"p_same_{second.id[:8]}"]


def test_an_imported_data_set_is_a_source_that_needs_the_library_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.1.25")
    source = dataset_source(
        "chain_sum", Levels({0: {"min_terms": 2}, 2: {"min_terms": 3}}, {1: "curriculum invalid: no"})
    )
    facts, findings = check_source(source)
    assert facts.class_name == title("chain_sum") == "ChainSum"
    assert [one.code for one in findings] == ["L1.import"]
    assert "reasoning_gym" in findings[0].message


def test_without_the_library_the_extra_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["import", "reasoning-gym:chain_sum", "--pool", str(tmp_path / "pool")]) == 2
    assert "pip install 'evoenv[reasoning-gym]'" in capsys.readouterr().err


SCORE = """
import json, pickle, sys
import reasoning_gym, seeds_gym
found = []
for name in seeds_gym.DATASETS:
    data = reasoning_gym.create_dataset(name, size=2, seed=7)
    data = pickle.loads(pickle.dumps(data))
    for item in data:
        json.dumps(item)
        known = item["metadata"]
        for answer in (item["answer"], "0", "1 2"):
            named = [known["environment_id"], known["seed"], known["level"]]
            found.append([*named, answer, data.score_answer(answer, item)])
    apart = reasoning_gym.create_dataset(name, size=2, seed=8)
    assert apart[0]["metadata"]["seed"] != data[1]["metadata"]["seed"]
print(json.dumps(found))
"""


@pytest.mark.peer
def test_the_page_works_out_and_in(tmp_path: Path) -> None:
    peer = Peer("reasoning-gym", tmp_path)
    (_, install), (_, use), (_, take_in) = blocks("reasoning-gym.md")
    for line in install.splitlines():
        peer.run(line)
    assert "integers" in peer.run_python(use)

    found = json.loads(peer.run_python(SCORE))
    assert len(found) == 10 * 2 * 3
    assert [row[4] for row in found[::3]] == [1.0] * 20
    assert any(row[4] == 0.0 for row in found)
    assert [row[4] for row in found] == own_scores(read_sources(Seeds()), [tuple(row[:4]) for row in found])

    # EvoEnv beside the library: the commands run in the library's own environment
    environment = peer.environment(PYTHONPATH=str(ROOT / "src"))
    for line in take_in.splitlines():
        _, *rest = line.split()
        command = [str(peer.python), "-m", "evoenv", *rest]
        result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
    described = [json.loads(path.read_text()) for path in sorted((tmp_path / "rg-pool").glob("[A-Z]*.json"))]
    assert [one["origin"] for one in described] == ["reasoning-gym/chain_sum", "reasoning-gym/leg_counting"]
    assert {(one["licence"], one["validation"]["layer"], *one["modules"]) for one in described} == {
        ("Apache-2.0", 5, "reasoning_gym")
    }
    assert (tmp_path / "rg-data" / "train.jsonl").read_text().count("\n") == 8


REFERENCE = """
import json, sys
sys.path.insert(0, "rg-data")
import scorer
import reasoning_gym
rows = [json.loads(line) for line in open("rg-data/test.jsonl", encoding="utf-8")]
named = [(row["environment_id"], row["seed"], row["difficulty"]) for row in rows]
right = scorer.score_many([(*one, f"<answer>{row['answer']}</answer>") for one, row in zip(named, rows)])
wrong = scorer.score_many([(*one, "<answer>none</answer>") for one in named])
print(json.dumps([right, wrong]))
"""


@pytest.mark.peer
def test_unknown_data_sets_are_named_and_what_cannot_work_is_refused_with_its_reason(tmp_path: Path) -> None:
    peer = Peer("reasoning-gym", tmp_path)
    environment = peer.environment(PYTHONPATH=str(ROOT / "src"))

    def take_in(names: str) -> subprocess.CompletedProcess[str]:
        command = [str(peer.python), "-m", "evoenv", "import", f"reasoning-gym:{names}", "--pool", "pool", "--json"]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    unknown = take_in("chain_summ")
    assert unknown.returncode == 2
    assert "did you mean chain_sum" in unknown.stderr
    assert os.listdir(tmp_path) == []
    refused = take_in("rush_hour")
    assert refused.returncode == 1
    (finding,) = {one["code"] for one in json.loads(refused.stdout)["refused"][0]["findings"]}
    assert finding == "L2.no-answer"  # its own scorer judges moves, and no reference is kept

    # leg_counting needs the library alone, letter_counting a text that it reads, too
    taken = take_in("leg_counting,letter_counting")
    assert taken.returncode == 0
    assert [one["name"] for one in json.loads(taken.stdout)["imported"]] == ["LegCounting", "LetterCounting"]
    command = [str(peer.python), "-m", "evoenv", "export", "pool", "--to", "jsonl", "-o", "rg-data"]
    subprocess.run(
        [*command, "--allow-module", "reasoning_gym", "--instances", "4", "--test-instances", "4"],
        cwd=tmp_path,
        env=environment,
        check=True,
    )
    right, wrong = json.loads(peer.run_python(REFERENCE))
    assert (right, wrong) == ([1.0] * 8, [0.0] * 8)


def test_levels_are_those_of_the_librarys_default_mode_and_invalid_ones_are_named() -> None:
    pytest.importorskip("reasoning_gym", reason=NEEDS_REASONING_GYM)
    (puzzle, colours) = read_datasets(["puzzle24", "graph_color"])
    assert "'min_value': 1" in puzzle.source or "'min_value'" not in puzzle.source
    scope: dict[str, Any] = {"VerifiableEnvironment": object}
    exec(colours.source, scope)
    environment = scope["GraphColor"]()
    z, reference = environment._generate(5, 0)
    assert isinstance(reference, dict), "the example that the metadata keeps"
    assert environment.scorer(json.dumps(reference), z, reference) == 1.0


def test_a_scorer_that_compares_is_seen_to_compare_and_one_that_verifies_is_not() -> None:
    pytest.importorskip("reasoning_gym", reason=NEEDS_REASONING_GYM)
    entries = read_datasets(["chain_sum", "leg_counting", "countdown"])
    scopes: list[dict[str, Any]] = []
    for entry in entries:
        scopes.append({"VerifiableEnvironment": object})
        exec(entry.source, scopes[-1])
    total, legs = scopes[0]["ChainSum"](), scopes[1]["LegCounting"]()
    z, reference = total._generate(1, 0)
    assert [total.scorer("77", z, "77"), total.scorer(reference, z, "77"), total.scorer(reference, z, reference)] == [
        1,
        0,
        1,
    ]
    z, reference = legs._generate(1, 0)
    assert [legs.scorer("77", z, "77"), legs.scorer(reference, z, "77")] == [1, 0]
    target = scopes[2]["Countdown"]()
    z, reference = target._generate(1, 0)
    assert [target.scorer("1+1", z, "1+1"), target.scorer(reference, z, "1+1")] == [0, 1]


def test_instances_of_a_data_set_are_made_once() -> None:
    pytest.importorskip("reasoning_gym", reason=NEEDS_REASONING_GYM)
    (entry,) = read_datasets(["leg_counting"])
    scope: dict[str, Any] = {"VerifiableEnvironment": object}
    exec(entry.source, scope)
    environment = scope["LegCounting"]()
    first = environment.item(3, 0)
    assert scope["LegCounting"]().item(3, 0) is first
    for seed in range(700):
        environment.item(seed, 0)
    assert len(scope["KEPT"]) <= 600
