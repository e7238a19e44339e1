"""Files of problems and answers: read, asked, graded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evoenv.engines.scripted import ScriptedPolicy
from evoenv.errors import InputError
from evoenv.evaluation import BenchmarkSuite, Evaluation, Fields, benchmark_suite, evaluate, find_suite
from evoenv.evaluation.benchmarks import chosen_option
from evoenv.records import Request
from evoenv.sandbox.host import Sandbox

MATHS = [
    {"id": "half", "problem": "Half of one?", "answer": "1/2"},
    {"id": "six", "problem": "Twice three?", "answer": 6},
]
CHOICE = {"id": "sky", "problem": "Colour of the sky?", "choices": ["red", "blue", "10 m"], "answer": "B"}
STDIN = {"id": "sum", "problem": "Add the numbers.", "tests": [{"stdin": "1 2", "stdout": "3"}]}
FUNCTION = {
    "id": "double",
    "problem": "Double it.",
    "starter_code": "def double(x: int) -> int:",
    "function": "double",
    "tests": [{"arguments": [3], "result": 6}],
}


def write(path: Path, *entries: Any) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def ask(
    sandbox: Sandbox, suite: BenchmarkSuite, answers: dict[str, str], **more: Any
) -> tuple[Evaluation, list[Request]]:
    policy = ScriptedPolicy(lambda request, index: answers[request.id])
    settings = {"samples": 1, "temperature": 0.0, "top_p": 1.0, "max_tokens": 4000, **more}
    return evaluate(policy, sandbox, suite, **settings), policy.requests


@pytest.mark.sandbox
def test_one_file_may_mix_graders(sandbox: Sandbox, tmp_path: Path) -> None:
    pytest.importorskip("math_verify", reason="math_verify is not installed: pip install 'evoenv[eval]'")
    suite = benchmark_suite(write(tmp_path / "mixed.jsonl", *MATHS, CHOICE, STDIN, FUNCTION))
    assert [problem.grader for problem in suite.problems] == ["math", "math", "choice", "program", "program"]
    right = {
        "half": r"So it is \boxed{\frac{1}{2}}.",
        "six": "<answer>3 + 3</answer>",
        "sky": "<answer>b</answer>",
        "sum": "```python\nprint(sum(map(int, input().split())))\n```",
        "double": "```python\ndef double(x: int) -> int:\n    return 2 * x\n```",
    }
    results = tmp_path / "results.jsonl"
    found, requests = ask(sandbox, suite, right, results=results)
    assert [item.scores for item in found.items] == [(1.0,)] * 5
    assert found.by_environment == {}
    texts = {request.id: request.messages[-1].content for request in requests}
    assert "<answer>" in texts["half"]
    assert "A) red\nB) blue\nC) 10 m" in texts["sky"]
    assert "standard input" in texts["sum"]
    assert "```python\ndef double(x: int) -> int:\n```" in texts["double"]
    assert "<answer>" not in texts["sum"]
    wrong = dict.fromkeys(right, "I do not know.")
    found, _ = ask(sandbox, suite, wrong)
    assert (found.accuracy.mean, found.format_failures) == (0.0, 1.0)
    lines = [json.loads(line) for line in results.read_text().splitlines()[1:]]
    assert {line["item"]: line.get("reference") for line in lines}["half"] == "1/2"


@pytest.mark.sandbox
def test_a_failed_program_says_which_test_and_is_no_failure_of_the_grader(sandbox: Sandbox, tmp_path: Path) -> None:
    suite = benchmark_suite(write(tmp_path / "p.jsonl", STDIN))
    results = tmp_path / "results.jsonl"
    found, _ = ask(sandbox, suite, {"sum": "```python\nprint(4)\n```"}, results=results)
    assert (found.accuracy.mean, found.grader_failures, found.format_failures) == (0.0, 0, 0.0)
    assert "test 1 of 1: printed" in json.loads(results.read_text().splitlines()[1])["detail"]


@pytest.mark.sandbox
def test_any_of_several_answers_will_do_and_a_grading_that_is_ended_is_counted(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    pytest.importorskip("math_verify", reason="math_verify is not installed: pip install 'evoenv[eval]'")
    roots = {"problem": "A root of x^2 = 4?", "answer": ["2", "-2"]}
    suite = benchmark_suite(write(tmp_path / "m.jsonl", roots))
    said = ["-2", "4", "4/2", "(" * 300]
    policy = ScriptedPolicy(lambda request, index: f"<answer>{said[index]}</answer>")
    found = evaluate(policy, sandbox, suite, samples=4, temperature=1.0, top_p=1.0, max_tokens=4000)
    assert found.items[0].scores == (1.0, 0.0, 1.0, 0.0)
    assert found.grader_failures == 1


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B", "B"),
        ("(b)", "B"),
        ("B.", "B"),
        (r"\text{B}", "B"),
        ("blue", "B"),
        ("B) blue", "B"),
        ("B. blue", "B"),
        ("C: 10 m", "C"),
        ("B) red", None),
        ("D", None),
        ("A or B", None),
        ("A, B, C", None),
        ("purple", None),
        ("", None),
    ],
)
def test_the_option_that_an_answer_names(answer: str, letter: str | None) -> None:
    assert chosen_option(answer, ["red", "blue", "10 m"]) == letter


def test_the_right_option_may_be_given_as_text(tmp_path: Path) -> None:
    suite = benchmark_suite(write(tmp_path / "c.jsonl", {**CHOICE, "answer": "10 m"}))
    assert suite.problems[0].answers == ("C",)


def test_fields_have_the_names_that_the_file_gives_them(tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl", {"q": "2+2?", "a": 4, "nr": 7})
    suite = benchmark_suite(path, fields=Fields("q", "a", "nr"))
    assert [(item.id, item.problem, item.answers) for item in suite.problems] == [("7", "2+2?", ("4",))]


def test_a_changed_file_or_reading_is_another_suite(tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl", *MATHS)
    one = benchmark_suite(path)
    assert one.identity() == benchmark_suite(path).identity()
    assert benchmark_suite(path, limit=1).identity() != one.identity()
    write(path, *MATHS, CHOICE)
    assert benchmark_suite(path).identity() != one.identity()


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("[1]", "is a list; expected a JSON object"),
        ("{", "is not JSON"),
        ('{"question": "x", "answer": 1}', "no text under 'problem' .*'question', 'answer': name the field with"),
        ('{"problem": "x"}', "no text under 'answer'"),
        ('{"problem": "x", "answer": null}', "no text under 'answer'"),
        ('{"problem": "x", "answer": []}', "no text under 'answer'"),
        ('{"problem": "x", "answer": "A", "choices": ["one"]}', "a list of 2 to 26"),
        ('{"problem": "x", "answer": "D", "choices": ["p", "q"]}', "neither the letter nor the text"),
        ('{"problem": "x", "tests": []}', "at least one"),
        ('{"problem": "x", "tests": [{"stdin": "1"}]}', "test 1 has neither"),
        ('{"problem": "x", "tests": [{"arguments": [1], "result": 1}]}', "names no 'function'"),
        ('{"problem": "x", "tests": [{"stdin": "", "stdout": ""}], "time_limit": 0}', "'time_limit' is 0"),
        ("[" * 100_000, "is not JSON"),
        ("\udcff".encode("utf-8", "surrogateescape"), "is not JSON"),
    ],
)
def test_lines_that_are_no_problem_are_named(tmp_path: Path, entry: str | bytes, words: str) -> None:
    path = tmp_path / "bad.jsonl"
    good = json.dumps(MATHS[0]).encode() + b"\n\n"
    path.write_bytes(good + (entry if isinstance(entry, bytes) else entry.encode()) + b"\n")
    with pytest.raises(InputError, match=words) as refusal:
        benchmark_suite(path)
    assert "bad.jsonl:3" in str(refusal.value)


def test_two_problems_with_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the id 'half' is also on line 1"):
        benchmark_suite(write(tmp_path / "b.jsonl", MATHS[0], MATHS[0]))


def test_an_empty_or_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no problem"):
        benchmark_suite(write(tmp_path / "e.jsonl"))
    with pytest.raises(InputError, match="cannot read"):
        benchmark_suite(tmp_path / "none.jsonl")


def test_suites_are_found_by_their_names(tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", {**CHOICE, "answer": "blue"})
    settings: dict[str, Any] = {"difficulties": (0,), "instances": 1, "seed": 0}
    auto, maths = find_suite(str(path), **settings), find_suite(f"math:{path}", **settings)
    assert isinstance(auto, BenchmarkSuite)
    assert isinstance(maths, BenchmarkSuite)
    assert (auto.problems[0].grader, maths.problems[0].grader) == ("choice", "math")
    assert maths.name == f"math:{path}"
