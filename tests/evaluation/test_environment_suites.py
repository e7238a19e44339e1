"""From words to environments: seeds, corpus, runs, files, folders, every dialect."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from evaluation_support import ADDING
from loop_support import configuration

from evoenv.corpus import HELD_OUT, Author
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.environment.seeds import SEED_NAMES
from evoenv.errors import EvoEnvError, InputError
from evoenv.evaluation import EnvironmentSuite, SuiteEnvironment, environment_suite, evaluate, find_suite
from evoenv.run import create
from evoenv.sandbox.host import Sandbox
from evoenv.store.store import EnvironmentRecord

ZOO = Path(__file__).parents[1] / "zoo"
SMALL = {"difficulties": (0, 1), "instances": 2, "seed": 0}


def test_the_seeds() -> None:
    suite = environment_suite("seeds", **SMALL)
    assert [environment.name for environment in suite.environments] == list(SEED_NAMES)


def test_the_corpus_has_one_program_of_every_family_by_default() -> None:
    suite = environment_suite("corpus:held-out", **SMALL)
    assert sorted(environment.family for environment in suite.environments) == sorted(HELD_OUT)
    train = environment_suite("corpus:train", **SMALL)
    assert not {environment.family for environment in train.environments} & HELD_OUT


def test_corpus_programs_are_the_same_for_a_seed_and_counted_as_asked() -> None:
    few = environment_suite("corpus:held-out", programs=7, **SMALL)
    assert len(few.environments) == 7
    assert few.environments == environment_suite("corpus:held-out", programs=7, **SMALL).environments
    other = environment_suite("corpus:held-out", programs=7, **{**SMALL, "seed": 1})
    assert {e.id for e in few.environments} != {e.id for e in other.environments}
    double = environment_suite("corpus:held-out", per_family=2, **SMALL)
    assert len(double.environments) == 2 * len(HELD_OUT)


def test_corpus_programs_are_not_those_that_a_warm_start_with_the_same_seed_sees() -> None:
    suite = environment_suite("corpus:train", programs=10, **SMALL)
    seen = {program.source for program in Author(0, "train").programs(60)}
    assert not {environment.source for environment in suite.environments} & seen


@pytest.mark.sandbox
def test_the_pool_of_a_run_is_its_active_environments(tmp_path: Path) -> None:
    store, _ = create(tmp_path / "run", configuration())
    with store, store.transaction():
        ids = [store.add_source(ADDING), store.add_source(ADDING + "\n")]
        store.add_environments(
            [
                EnvironmentRecord(ids[0], "Adding", original=True),
                EnvironmentRecord(ids[1], "Gone", original=False, active=False),
            ]
        )
    suite = environment_suite(f"run:{tmp_path / 'run'}", **SMALL)
    assert [(item.name, item.source) for item in suite.environments] == [("Adding", ADDING)]


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["gcd_of_list", "stateful_vowel_shift", "rlve_max_segment"])
def test_a_file_in_any_dialect_is_evaluated(sandbox: Sandbox, name: str) -> None:
    suite = environment_suite(str(ZOO / "sound" / f"{name}.py"), **SMALL)
    policy = ScriptedPolicy({"solver": "<answer>1</answer>"})
    found = evaluate(policy, sandbox, suite, samples=1, temperature=1.0, top_p=1.0, max_tokens=50)
    assert (len(found.items), len(found.bad)) == (4, 0)


@pytest.mark.sandbox
def test_a_folder_of_rlve_gym_brings_its_controllers(sandbox: Sandbox, tmp_path: Path) -> None:
    text = (ZOO / "sound" / "rlve_max_segment.py").read_text()
    controller = re.search(r"^class \w+\(ParameterController\):.*?(?=^class |\Z)", text, re.DOTALL | re.MULTILINE)
    assert controller is not None
    folder = tmp_path / "Gym" / "environments" / "max_segment"
    folder.mkdir(parents=True)
    (folder / "environment.py").write_text(text.replace(controller[0], ""))
    (folder / "__init__.py").write_text("")
    beside = tmp_path / "Gym" / "parameter_controllers" / "max_segment"
    beside.mkdir(parents=True)
    beside_text = (
        f"from typing import Dict, List\nfrom Gym.parameter_controller import ParameterController\n{controller[0]}"
    )
    (beside / "parameter_controller.py").write_text(beside_text)
    suite = environment_suite(str(tmp_path / "Gym" / "environments"), **SMALL)
    (environment,) = suite.environments
    assert environment.controller == beside_text
    policy = ScriptedPolicy({"solver": "<answer>1</answer>"})
    found = evaluate(policy, sandbox, suite, samples=1, temperature=1.0, top_p=1.0, max_tokens=50)
    assert [item.reason for item in found.bad] == []
    assert len(found.items) == 4


def test_a_folder_is_read_in_order_and_each_content_once(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(ADDING)
    (tmp_path / "a.py").write_text(ADDING)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.py").write_text(ADDING + "\n")
    (tmp_path / ".hidden.py").write_text("x")
    (tmp_path / "notes.txt").write_text("x")
    suite = environment_suite(str(tmp_path), **SMALL)
    assert [environment.name for environment in suite.environments] == ["a.py", "sub/c.py"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nowhere", "suite: there is no 'nowhere'; expected `seeds`"),
        ("corpus:test", "no split 'test'; expected train, basic, paired, held-out or near, as in corpus:held-out"),
        ("run:{tmp}", "there is no run in"),
        ("corpus", "name a split of the corpus: train"),
        ("corpus:train:0", "expected 1 to 99999"),
        ("{tmp}", "holds no environment file"),
        ("{tmp}/image.py", "not UTF-8"),
        ("{tmp}/rows.csv", "evoenv eval convert"),
        ("x\0y", "cannot read|there is no"),
    ],
)
def test_what_is_no_suite_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    if text.endswith("py"):
        (tmp_path / "image.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EvoEnvError, match=words):
        find_suite(text.format(tmp=tmp_path), **SMALL)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"instances": 0}, "0 instances; expected 1 or more"),
        ({"difficulties": ()}, "expected different levels"),
        ({"difficulties": (0, -1)}, "expected different levels"),
        ({"difficulties": (1, 1)}, "expected different levels"),
        ({"programs": 1, "per_family": 1}, "not both"),
    ],
)
def test_a_suite_that_makes_no_sense_is_refused(changes: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        environment_suite("corpus:train", **{**SMALL, **changes})


def test_two_environments_with_one_id_are_refused() -> None:
    with pytest.raises(InputError, match="share an id"):
        EnvironmentSuite("twice", [SuiteEnvironment("a", ADDING), SuiteEnvironment("a", ADDING)], (0,), 1, 0)
