"""`validate`, `play` and `envs` as a user runs them: output, exit codes, and every kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evoenv.cli import main
from evoenv.environment.seeds import SEED_NAMES, seed_source

SOUND = seed_source("Fibonacci")
BROKEN = SOUND.replace("rng = random.Random(seed)", "rng = random")


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    path = tmp_path / "sound.py"
    path.write_text(SOUND, encoding="utf-8")
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.py"
    path.write_text(BROKEN, encoding="utf-8")
    return path


def test_validate_prints_one_json_document_as_the_contract_says(
    sound: Path, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(sound), str(broken), "--json"]) == 1
    good, bad = json.loads(capsys.readouterr().out)
    assert set(good) == {"path", "class", "dialect", "layer", "findings", "seconds", "sandbox"}
    assert (good["class"], good["dialect"], good["layer"], good["findings"]) == ("Fibonacci", "functional", 5, [])
    assert "seccomp" in good["sandbox"]
    assert bad["layer"] == 2
    assert {"L3.instance-unstable", "L3.prompt-unstable", "L3.answer-unstable"} == {
        one["code"] for one in bad["findings"]
    }
    assert set(bad["findings"][0]) == {"code", "layer", "message", "hint"}
    assert bad["findings"][0]["layer"] == 3


def test_validate_succeeds_only_if_all_reach_l5(sound: Path, broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(sound)]) == 0
    assert main(["validate", str(broken)]) == 1
    shown = capsys.readouterr().out
    assert "L3.prompt-unstable" in shown
    assert "→ Render from z alone" in shown


def test_a_folder_stands_for_its_files(sound: Path, broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(sound.parent)]) == 1
    assert "1 of 2 reach L5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "L1.no-code"),
        (b"\x7fELF\x00\x01\x02", "L1.not-text"),
        (b"caf\xe9 = 1\n", "L1.not-text"),
        (b"x = 1\n", "L1.no-class"),
        (b"class A:\n  pass\nclass B:\n  pass\nclass C:\n  pass\n", "L1.no-class"),
        (
            SOUND.encode() + SOUND.replace("Fibonacci", "B").encode() + SOUND.replace("Fibonacci", "C").encode(),
            "L1.several-classes",
        ),
        (b"#" * 50_000_000, "L1.too-large"),
    ],
    ids=["empty", "binary", "latin-1", "no-class", "three-plain-classes", "three-environments", "50-MB"],
)
def test_bad_files_are_findings(content: bytes, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.py"
    path.write_bytes(content)
    assert main(["validate", "--json", str(path)]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["layer"], [one["code"] for one in report["findings"]]) == (0, [code])


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["validate", "no-such-file.py"], "cannot read no-such-file.py: No such file"),
        (["validate", "/dev/null"], "not a regular file"),
        (["play", "NoSuchSeed"], "no seed is called 'NoSuchSeed'"),
        (["play", "Sorting", "--difficulty", "-1"], "expected a level of 0 or more"),
        (["play", "Sorting", "--seed", "-5"], "expected 0 ≤ seed"),
        (["play", "Sorting", "--parameters", "{"], "--parameters is not JSON"),
        (["play", "Sorting", "--parameters", "[]"], "non-empty JSON list"),
        (["play", "Sorting", "--controller", "nope.py"], "cannot read nope.py"),
    ],
)
def test_misuse_is_one_clear_line_and_exit_code_2(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert part in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_a_missing_file_costs_nobody_elses_time(sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(sound), "gone.py"]) == 2
    assert capsys.readouterr().out == ""


def test_play_scores_a_bare_answer_and_a_whole_response(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "sorting", "--seed", "7", "--difficulty", "0", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert set(shown) == {"environment", "seed", "difficulty", "prompt", "reference"}
    answer = " ".join(str(number) for number in shown["reference"])
    for text in (answer, f"<think>hm</think> so <answer>{answer}</answer>", f"\\boxed{{{answer}}}"):
        assert main(["play", "Sorting", "--seed", "7", "--difficulty", "0", "--answer", text, "--json"]) == 0
        scored = json.loads(capsys.readouterr().out)
        assert (scored["score"], scored["format_ok"]) == (1.0, True)
    assert main(["play", "Sorting", "--seed", "7", "--answer", " ", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format_ok"] is False


RLVE = """
import random
from Gym.environment import VerifiableEnvironment

class Doubling_Environment(VerifiableEnvironment):
    prompt_template = "What is {N} doubled {K} times? Output one integer."
    def __init__(self, wrong_format=-1.0, wrong_answer=0.0, correct_answer=1.0, **kwargs):
        super().__init__(**kwargs)
        self.rewards = {"wrong_format": wrong_format, "wrong_answer": wrong_answer, "correct_answer": correct_answer}
    def _generate(self):
        assert "MAX" in self.parameter, "MAX is required"
        n = self.parameter["N"] = random.randint(1, self.parameter["MAX"])
        k = self.parameter["K"] = random.randint(1, 5)
        self.parameter["reference_answer"] = n * 2**k
    def _prompt_generate(self):
        return self.prompt_template.format(N=self.parameter["N"], K=self.parameter["K"])
    def _process(self, answer):
        try:
            return int(answer.strip()) if answer is not None else None
        except ValueError:
            return None
    def scorer(self, output):
        result = self.processor(output)
        if result is None:
            return self.rewards["wrong_format"]
        right = result == self.parameter["reference_answer"]
        return self.rewards["correct_answer" if right else "wrong_answer"]
"""
CONTROLLER = """
from Gym.parameter_controller import ParameterController

class Doubling_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.most = 10
    def update(self):
        self.most = int(self.most * 1.5)
    def get_parameter_list(self):
        return [dict(MAX=self.most)]
"""


def test_an_rlve_gym_file_needs_knobs_and_takes_them_in_three_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = tmp_path / "environments" / "doubling" / "environment.py"
    controller = tmp_path / "knobs.py"
    environment.parent.mkdir(parents=True)
    environment.write_text(RLVE, encoding="utf-8")
    controller.write_text(CONTROLLER, encoding="utf-8")
    assert main(["validate", "--json", str(environment)]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert [one["code"] for one in report["findings"]] == ["L2.needs-parameters"]
    assert main(["validate", str(environment), "--controller", str(controller)]) == 0
    levels = json.dumps([{"MAX": size} for size in (10, 40, 90, 200)])
    assert main(["validate", str(environment), "--parameters", levels]) == 0
    beside = tmp_path / "parameter_controllers" / "doubling" / "parameter_controller.py"
    beside.parent.mkdir(parents=True)
    beside.write_text(CONTROLLER, encoding="utf-8")
    assert main(["validate", str(environment)]) == 0


def test_envs_lists_the_ten_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["envs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(SEED_NAMES)
    assert len({row["id"] for row in rows}) == 10
