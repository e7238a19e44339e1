"""`validate`, `play` and `envs` as a user runs them: output, exit codes, and every kind of bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evoenv.cli import main
from evoenv.environment.seeds import SEED_NAMES, seed_source
from tests.effort import HANG_S

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
        (["play", "Sorting", "--parameters", "[" * 3000], "--parameters is nested deeper than 40"),
        (["play", "Sorting", "--parameters", '[{"a": ' + "[" * 50 + "]" * 50 + "}]"], "nested deeper than 40"),
        (["validate", "a" * 5000], "File name too long; give the path"),
        (["play", "a" * 5000], "no seed is called 'aaa"),
        (["play", "a" * 5000 + ".py"], "File name too long; give the path"),
        (["envs", "--run", "a" * 5000], "File name too long; give the folder of a run"),
        (["validate", "--jobs", "-1", "x.py"], "--jobs is -1; expected 1 or more"),
        (["validate", "--jobs", "0", "x.py"], "--jobs is 0; expected 1 or more"),
        (["validate", "odd\x1b[2J\x9b\0.py"], r"cannot read odd\x1b[2J\x9b\x00.py"),
    ],
)
def test_misuse_is_one_clear_line_and_exit_code_2(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert part in shown.err
    assert shown.err.count("\n") == 1
    assert len(shown.err) < 500
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


ESCAPING = """
class Escaping(VerifiableEnvironment):
    prompt_template = "\\x1b[2Jfirst [red]line[/]\\nsecond\\u202e line"
    def _generate(self, seed, difficulty):
        return {}, "\\x1b]0;title\\x07\\x9b2J"
    def _prompt_generate(self, z):
        return self.prompt_template
    def _process(self, y):
        return y
    def scorer(self, y, z, a):
        raise ValueError("\\x9b2J\\x1b[31m")
"""


def test_nothing_that_a_candidate_says_is_obeyed_by_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "escaping.py"
    path.write_text(ESCAPING, encoding="utf-8")
    assert main(["play", str(path)]) == 0
    shown = capsys.readouterr().out
    assert r"\x1b[2Jfirst [red]line[/]" in shown
    assert "second\\u202e line" in shown, "lines stay lines"
    assert r"reference  \x1b]0;title\x07\x9b2J" in shown
    assert main(["play", str(path), "--answer", "1"]) == 2
    shown += capsys.readouterr().err
    assert main(["play", str(path), "--json"]) == 0
    document = capsys.readouterr().out
    assert json.loads(document)["reference"] == "\x1b]0;title\x07\x9b2J"
    assert main(["validate", str(path)]) == 1
    shown += document + capsys.readouterr().out
    assert not {char for char in shown if char in "\x1b\x07\x9b\u202e"}


def run(*arguments: str | bytes, shell: str = "", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a process of its own, with its streams arranged by a shell."""
    command = [sys.executable, "-m", "evoenv", *arguments]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    settings = {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "PATH": os.environ["PATH"], **environment}
    return subprocess.run(command, capture_output=True, env=settings, timeout=HANG_S, check=False)


@pytest.mark.parametrize("arguments", [["envs"], ["envs", "--json"]])
def test_a_full_disk_is_one_line_and_exit_code_1(arguments: list[str]) -> None:
    done = run(*arguments, shell=">/dev/full")
    assert done.returncode == 1
    assert done.stderr.decode().startswith("evoenv: cannot write the output: [Errno 28]")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("shell", "code"), [(">&-", 0), (">&- 2>&-", 0), ("<&- >&- 2>&-", 0), ("2>/dev/full", 0), ("1</dev/null", 1)]
)
def test_streams_that_are_closed_or_not_for_writing_are_no_crash(shell: str, code: int) -> None:
    done = run("envs", "--json", shell=shell)
    assert (done.returncode, done.stderr.count(b"\n")) == (code, code)


def test_a_message_that_cannot_be_printed_keeps_its_exit_code() -> None:
    assert run("play", "NoSuchSeed", shell="2>/dev/full").returncode == 2


@pytest.mark.parametrize("encoding", ["ascii", "utf-8:strict", "latin-1"])
def test_any_output_encoding_and_any_file_name_will_do(tmp_path: Path, encoding: str) -> None:
    name = os.fsencode(tmp_path) + b"/na\xffme\xc3\xa9.py"
    with open(name, "w", encoding="utf-8") as file:
        file.write("x = 1\n")
    shown = run("validate", name, PYTHONIOENCODING=encoding)
    assert (shown.returncode, shown.stderr) == (1, b"")
    assert rb"na\udcffme" in shown.stdout
    document = run("validate", "--json", name, PYTHONIOENCODING=encoding)
    assert (document.returncode, document.stderr) == (1, b"")
    (report,) = json.loads(document.stdout.decode(encoding.partition(":")[0]))
    assert report["path"] == os.fsdecode(name)
