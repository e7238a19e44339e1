"""Public benchmark files, with their real field names and problems of our own."""

from __future__ import annotations

import base64
import csv
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from evoenv.cli import main
from evoenv.errors import InputError
from evoenv.evaluation import benchmark_suite
from evoenv.evaluation.convert import convert


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("row", "entry"),
    [
        # HuggingFaceH4/aime_2024, AI-MO/aimo-validation-aime
        (
            {"id": 60, "problem": "1+1?", "solution": "…", "answer": "2", "url": "u", "year": "2024"},
            {"id": "60", "problem": "1+1?", "answer": "2"},
        ),
        # Maxwell-Jia/AIME_2024
        ({"ID": "2024-I-1", "Problem": "1+1?", "Solution": "…", "Answer": 2}, {"id": "2024-I-1", "answer": "2"}),
        # opencompass/AIME2025
        ({"question": "1+1?", "answer": "2"}, {"id": "1", "problem": "1+1?", "answer": "2"}),
        # MathArena's AIME, HMMT and BRUMO
        (
            {"problem_idx": 3, "problem": "1+1?", "answer": "\\frac{4}{2}", "problem_type": ["Algebra"]},
            {"id": "3", "problem": "1+1?", "answer": "\\frac{4}{2}"},
        ),
        # ByteDance-Seed/BeyondAIME
        ({"problem": "1+1?", "answer": 2}, {"id": "1", "problem": "1+1?", "answer": "2"}),
        # AI-MO/aimo-validation-amc keeps integers as floats
        ({"id": 0, "problem": "1+1?", "answer": 2.0, "url": "u"}, {"id": "0", "answer": "2"}),
        # math-ai/amc23
        ({"id": 0, "question": "1+1?", "answer": 2.5}, {"id": "0", "problem": "1+1?", "answer": "2.5"}),
        # OlympiadBench has lists of final answers
        ({"question": "1+1?", "final_answer": ["2", 2.0, ""]}, {"id": "1", "answer": ["2", "2"]}),
        ({"question": "1+1?", "final_answer": ["2"]}, {"id": "1", "answer": "2"}),
        # verl's rows, as of DAPO's AIME file
        (
            {
                "data_source": "math",
                "prompt": [{"role": "user", "content": "1+1?"}],
                "reward_model": {"ground_truth": "2", "style": "rule"},
            },
            {"id": "1", "problem": "1+1?", "answer": "2"},
        ),
    ],
)
def test_rows_of_problem_and_answer(tmp_path: Path, row: dict, entry: dict) -> None:
    (found,) = convert([lines(tmp_path / "rows.jsonl", row)])
    assert {key: found[key] for key in entry} == entry
    assert found["problem"] == "1+1?"


GPQA = {
    "Record ID": "rec1",
    "Question": "Which is the heaviest?",
    "Correct Answer": "lead\n",
    "Incorrect Answer 1": "feather",
    "Incorrect Answer 2": "cork",
    "Incorrect Answer 3": "paper, wet",
}


def test_gpqa_options_are_shuffled_by_record_and_seed(tmp_path: Path) -> None:
    path = tmp_path / "gpqa_diamond.csv"
    rows = [{**GPQA, "Record ID": f"rec{number}"} for number in range(40)]
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(GPQA))
        writer.writeheader()
        writer.writerows(rows)
    found = list(convert([path]))
    assert all(sorted(entry["choices"]) == ["cork", "feather", "lead", "paper, wet"] for entry in found)
    assert all(entry["choices"]["ABCD".index(entry["answer"])] == "lead" for entry in found)
    assert {entry["answer"] for entry in found} == set("ABCD")
    assert found == list(convert([path]))
    assert found != list(convert([path], seed=1))


def packed(cases: list[dict]) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(cases)))).decode()


def livecodebench(name: str, cases: list[dict], *, private: str | None = None, **more: Any) -> dict:
    return {
        "question_title": "t", "question_content": "Add.", "platform": "atcoder", "question_id": name,
        "contest_id": "c",
        "contest_date": "2024-09-01T00:00:00", "starter_code": "", "difficulty": "easy",
        "public_test_cases": json.dumps(cases[:1]),
        "private_test_cases": packed(cases[1:]) if private is None else private,
        "metadata": "{}", **more,
    }  # fmt: skip


CASES = [
    {"input": "1 2\n", "output": "3\n", "testtype": "stdin"},
    {"input": "4 5\n", "output": "9\n", "testtype": "stdin"},
]


@pytest.mark.parametrize("private", [None, json.dumps(CASES[1:])])
def test_livecodebench_with_standard_input(tmp_path: Path, private: str | None) -> None:
    (found,) = convert([lines(tmp_path / "test6.jsonl", livecodebench("abc", CASES, private=private))])
    assert found == {
        "id": "abc",
        "problem": "Add.",
        "tests": [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "4 5\n", "stdout": "9\n"}],
    }


def test_livecodebench_with_functions(tmp_path: Path) -> None:
    cases = [
        {"input": "[1, 2]\n3", "output": "[0, 1]", "testtype": "functional"},
        {"input": '"ab"\nnull', "output": "true", "testtype": "functional"},
    ]
    starter = "class Solution:\n    def f(self, a, b):\n        "
    row = livecodebench("3000", cases, metadata='{"func_name": "f"}', starter_code=starter)
    (found,) = convert([lines(tmp_path / "test.jsonl", row)])
    assert (found["function"], found["starter_code"]) == ("f", starter)
    assert found["tests"] == [
        {"arguments": [[1, 2], 3], "result": [0, 1]},
        {"arguments": ["ab", None], "result": True},
    ]
    assert len(benchmark_suite(lines(tmp_path / "ours.jsonl", found)).problems[0].tests()) == 2


def test_a_pickle_that_is_more_than_a_text_is_refused_and_never_run(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "attacked",))

    hostile = base64.b64encode(zlib.compress(pickle.dumps(Attack()))).decode()
    with pytest.raises(InputError, match=r"row 1: private_test_cases cannot be unpacked: it asks for"):
        list(convert([lines(tmp_path / "t.jsonl", livecodebench("x", CASES, private=hostile))]))
    assert not (tmp_path / "attacked").exists()


def test_contests_are_chosen_by_their_dates(tmp_path: Path) -> None:
    rows = [
        livecodebench(day, CASES, contest_date=f"{day}T12:00:00") for day in ("2024-07-31", "2024-08-01", "2025-05-31")
    ]
    path = lines(tmp_path / "t.jsonl", *rows)
    assert [entry["id"] for entry in convert([path], since="2024-08-01")] == ["2024-08-01", "2025-05-31"]
    assert [entry["id"] for entry in convert([path], until="2024-08-01")] == ["2024-07-31", "2024-08-01"]


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"rows": [{"row": row} for row in rows]}])
def test_json_lists_and_the_hub_s_wrapping(tmp_path: Path, wrap: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(wrap([{"problem": "1+1?", "answer": 2}])))
    assert [entry["answer"] for entry in convert([path])] == ["2"]


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'evoenv[export]'")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'evoenv[export]'")
    path = tmp_path / "train-00000-of-00001.parquet"
    parquet.write_table(pyarrow.table({"problem_idx": [1, 2], "problem": ["1+1?", "2+2?"], "answer": [2, 4]}), path)
    assert [(entry["id"], entry["answer"]) for entry in convert([path])] == [("1", "2"), ("2", "4")]
    path.write_bytes(b"not parquet")
    with pytest.raises(InputError, match="not a parquet file"):
        list(convert([path]))


def test_ids_of_two_files_do_not_clash(tmp_path: Path) -> None:
    row = {"problem_idx": 1, "problem": "1+1?", "answer": 2}
    one, two = lines(tmp_path / "aime-i.jsonl", row), lines(tmp_path / "aime-ii.jsonl", row)
    assert [entry["id"] for entry in convert([one, two])] == ["1", "aime-ii/1"]
    with pytest.raises(InputError, match="ids must differ"):
        list(convert([one, two, two]))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.xlsx", "", "unknown kind of file"),
        ("a.jsonl", "{", "not what its name says"),
        ("a.jsonl", "[1]\n", "row 1 is a list"),
        ("a.json", "[1]", "row 1 is a int"),
        ("a.json", "null", "holds a NoneType; expected a list of objects"),
        ("a.jsonl", '{"problem": "x", "answer": []}', "row 1: no answer under any of"),
        ("a.jsonl", '{"text": "x"}', "row 1: no problem under any of problem, question"),
        ("a.jsonl", '{"problem": "x", "solution": "y"}', "row 1: no answer under any of"),
        ("a.jsonl", '{"Question": "x", "Correct Answer": "y"}', "a GPQA row needs"),
        ("a.jsonl", '{"question_content": "x"}', "it has no test case"),
        ("a.jsonl", '{"question_content": "x", "public_test_cases": "[1]"}', "no 'input' and 'output'"),
        ("a.jsonl", '{"question_content": "x", "private_test_cases": "%%%"}', "cannot be unpacked"),
        ("none.csv", None, "cannot read"),
    ],
)
def test_what_cannot_be_converted_is_refused_in_words(
    tmp_path: Path, name: str, content: str | None, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = tmp_path / name, tmp_path / "out.jsonl"
    if content is not None:
        path.write_text(content)
    assert main(["eval", "convert", str(path), "-o", str(output)]) == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert shown.count("\n") == 1
    assert not output.exists()
    assert {item.name for item in tmp_path.iterdir()} <= {name}


def test_the_command_writes_a_file_that_is_a_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = lines(tmp_path / "aime.jsonl", {"id": 1, "problem": "1+1?", "answer": "2"}, GPQA)
    output = tmp_path / "data" / "ours.jsonl"
    assert main(["eval", "convert", str(source), "-o", str(output)]) == 0
    assert "2 problems in" in capsys.readouterr().err
    assert [problem.grader for problem in benchmark_suite(output).problems] == ["math", "choice"]
    assert main(["eval", "convert", str(source), "-o", str(output)]) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "out.json"], "ends in .jsonl"),
        (["-o", "out.jsonl", "--since", "yesterday"], "expected a day as 2024-08-01"),
        (["-o", "out.jsonl", "--since", "2024-08-01"], "no row was left to convert"),
    ],
)
def test_odd_arguments_are_refused(
    tmp_path: Path,
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    source = lines(tmp_path / "a.jsonl", {"problem": "1+1?", "answer": "2"})
    assert main(["eval", "convert", str(source), *arguments]) == 2
    assert words in capsys.readouterr().err
