"""Protocols: the paper's, one's own, and the table that an evaluation by one leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluation_support import ADDING, solver

from evoenv.cli import main
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.errors import InputError
from evoenv.evaluation.protocol import SuitePlan, load_protocol, protocol_names
from evoenv.evaluation.statistics import Estimate, average

SIXTEEN_TIMES = {"AIME'24", "AIME'25", "HMMT", "B-AIME", "Brumo"}
ONCE = {"AMC'23", "GPQA", "LCB"}
FILES = (
    "aime24", "aime25", "amc23", "hmmt-feb25", "beyond-aime", "brumo25", "gpqa-diamond", "lcb-v6",
)  # fmt: skip
LINES = {
    "gpqa-diamond": '{"problem": "Which?", "choices": ["a", "b"], "answer": "B"}',
    "lcb-v6": '{"problem": "Print 1.", "tests": [{"stdin": "", "stdout": "1"}]}',
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a problem for each of the paper's benchmarks."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    for name in FILES:
        line = LINES.get(name, '{"problem": "1 + 1?", "answer": "2"}')
        (folder / f"{name}.jsonl").write_text(f"{line}\n")
    return folder


# --------------------------------------------------------------------------- reading


def test_the_paper_s_protocol_asks_as_the_paper_does(data: Path) -> None:
    protocol = load_protocol("paper", data=data)
    assert [plan.name for plan in protocol.suites] == [
        "AIME'24", "AIME'25", "AMC'23", "HMMT", "B-AIME", "Brumo", "GPQA", "LCB",
    ]  # fmt: skip
    assert {plan.name for plan in protocol.suites if plan.samples == 16} == SIXTEEN_TIMES
    assert {plan.name for plan in protocol.suites if plan.samples == 1} == ONCE
    assert {(plan.temperature, plan.top_p) for plan in protocol.suites} == {(0.6, 0.95)}
    assert {plan.max_tokens + 8 * 1024 for plan in protocol.suites} == {128 * 1024}
    assert {plan.limit for plan in protocol.suites} == {None}
    kinds = {plan.name: plan.suite.partition(":")[0] for plan in protocol.suites}
    assert (kinds["GPQA"], kinds["LCB"], kinds["AMC'23"]) == ("choice", "program", "math")


def test_the_ablation_leaves_amc_out(data: Path) -> None:
    whole, ablation = load_protocol("paper", data=data), load_protocol("paper-ablation", data=data)
    assert ablation.suites == tuple(plan for plan in whole.suites if plan.name != "AMC'23")
    assert protocol_names() == ("paper", "paper-ablation")


def test_files_that_are_missing_are_named_with_what_makes_them(tmp_path: Path, data: Path) -> None:
    (data / "hmmt-feb25.jsonl").unlink()
    with pytest.raises(InputError, match=r"needs .*/hmmt-feb25\.jsonl, which is not there; `evoenv eval convert`"):
        load_protocol("paper", data=data)
    with pytest.raises(InputError, match=r"aime24\.jsonl, .* and 4 more, which are not there.* --data DIR"):
        load_protocol("paper", data=tmp_path)


def test_a_suite_s_own_settings_win_over_the_common_ones_and_changes_over_both(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"problem": "1 + 1?", "answer": "2"}\n')
    path = tmp_path / "own.toml"
    path.write_text(
        'samples = 3\ntemperature = 1\nseed = 7\n[[suites]]\nname = "mine"\nfile = "mine.jsonl"\nsamples = 5\n'
        '[[suites]]\nname = "held out"\nsuite = "corpus:held-out"\ndifficulties = [0, 3]\nprograms = 4\n'
    )
    protocol = load_protocol(str(path))
    assert (protocol.name, protocol.seed) == ("own", 7)
    assert protocol.suites == (
        SuitePlan(name="mine", suite=str(tmp_path / "mine.jsonl"), samples=5, temperature=1.0),
        SuitePlan(
            name="held out", suite="corpus:held-out", samples=3, temperature=1.0, difficulties=(0, 3), programs=4
        ),
    )
    changed = load_protocol(str(path), changes={"samples": 2, "limit": 1, "seed": 8})
    assert (changed.seed, [(plan.samples, plan.limit) for plan in changed.suites]) == (8, [(2, 1), (2, 1)])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("suites = 3", "has no suites"),
        ("x = [", "is not TOML"),
        ("sample = 3\n[[suites]]\nname='a'\nsuite='seeds'", "it has 'sample'; did you mean 'samples'?"),
        (
            "[[suites]]\nname='a'\nsuite='seeds'\ntemprature=1",
            "suite 1 (a) has 'temprature'; did you mean 'temperature'?",
        ),
        ("[[suites]]\nsuite='seeds'", "missing required field `name`"),
        ("[[suites]]\nname='a'", "needs either file"),
        ("[[suites]]\nname='a'\nsuite='seeds'\nfile='x'", "needs either file"),
        ("[[suites]]\nname='a'\nsuite='seeds'\ngrader='math'", "a grader; that belongs to a file"),
        ("[[suites]]\nname='a'\nfile='x.jsonl'\ngrader='maths'", "grader is 'maths'; expected math, choice, program"),
        ("[[suites]]\nname='a'\nsuite='seeds'\nsamples='many'", "Expected `int`, got `str`"),
        ("[[suites]]\nname='a'\nsuite='seeds'\nsamples=0", "a: samples is 0; expected 1 or more"),
        ("[[suites]]\nname='a'\nsuite='seeds'\n[[suites]]\nname='a'\nsuite='corpus:near'", "two suites 'a'"),
        ("seed='x'\n[[suites]]\nname='a'\nsuite='seeds'", "seed is 'x'; expected a whole number"),
    ],
)
def test_a_protocol_that_makes_no_sense_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(content)
    assert main(["eval", "--model", "m", "--protocol", str(path)]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--protocol", "papr"], "did you mean paper?"),
        (["--protocol", "/nowhere"], "expected paper or paper-ablation, or a file of your own"),
        (["--protocol", "paper", "--suite", "seeds"], "leave --suite out"),
        (["--suite", "seeds", "--data", "x"], "--data is where the files of a --protocol are"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["eval", "--model", "m", *arguments]) == 2
    assert words in capsys.readouterr().err


# --------------------------------------------------------------------------- the mean over suites


def test_the_average_weighs_suites_alike_and_adds_their_uncertainties_as_squares() -> None:
    mean = average([Estimate(0.2, 0.1, 0.4, 30), Estimate(0.6, 0.5, 0.6, 198)])
    # below: √(0.1² + 0.1²)/2, above: √(0.2² + 0²)/2
    assert (mean.mean, mean.n) == (pytest.approx(0.4), 228)
    assert (mean.low, mean.high) == (pytest.approx(0.4 - 0.0707107, abs=1e-6), pytest.approx(0.5))
    assert average([Estimate(0.2, 0.1, 0.4, 30), average([])]) == Estimate(0.2, 0.1, 0.4, 30), "an empty one is no cell"


@pytest.mark.sandbox
def test_an_evaluation_by_a_protocol_ends_with_the_average(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = ScriptedPolicy(solver, trainable=False)
    monkeypatch.setattr("evoenv.evaluation.subject.open_policy", lambda config: policy)
    (tmp_path / "adding.py").write_text(ADDING)
    path = tmp_path / "two.toml"
    suite = f'suite = "{tmp_path}/adding.py"'
    path.write_text(
        "max_tokens = 100\ntemperature = 1\ndifficulties = [0]\ninstances = 2\n"
        f'[[suites]]\nname = "once"\n{suite}\nsamples = 1\n[[suites]]\nname = "four times"\n{suite}\nsamples = 4\n'
    )
    command = ["eval", "--model", "m", "--protocol", str(path), "-o", str(tmp_path / "out")]
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    once, often = (document["row"][name]["mean"] for name in ("once", "four times"))
    # the solver's first sample is right, the three after it are not
    assert (once, often, document["average"]["mean"]) == (1.0, 0.25, 0.625)
    assert [suite["samples"] for suite in document["suites"]] == [1, 4]
    assert [plan["samples"] for plan in document["protocol"]["suites"]] == [1, 4]
    page = (tmp_path / "out" / "protocol-two.md").read_text()
    assert page.startswith("| model | once | four times | Avg |\n|")
    assert "| 62.5 (" in page
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "Avg" in shown
    assert "0.625 (" in shown
