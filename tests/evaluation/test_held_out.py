"""RLVE's held-out test: asked and scored as it stands, kept out of training, and refused if it is trained on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evoenv.assembly import open_sandbox
from evoenv.cli import main
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.environment.held_out import held_out_names, read_excluded
from evoenv.errors import InputError
from evoenv.evaluation import find_suite
from evoenv.evaluation.held_out import HeldOutSuite
from evoenv.evaluation.overlap import identities, shared_names
from evoenv.exchange.folder import read_pool
from tests.rlve_checkout import HELD_OUT, ROWS, make_checkout

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def pool(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All environments of the checkout, imported with nothing left out."""
    pool = tmp_path_factory.mktemp("pool") / "all"
    assert main(["import", str(checkout / "Gym"), "--pool", str(pool)]) == 0
    return pool


def suite_of(checkout: Path, limit: int | None = None) -> HeldOutSuite:
    suite = find_suite(f"rlve-held-out:{checkout}", difficulties=(0,), instances=1, seed=0, limit=limit)
    assert isinstance(suite, HeldOutSuite)
    return suite


# --------------------------------------------------------------------------- asking


def test_the_instances_of_the_file_are_asked_and_scored_by_their_environments(checkout: Path) -> None:
    suite = suite_of(checkout)
    assert [environment.label for environment in suite.environments] == list(HELD_OUT)
    with open_sandbox() as sandbox, suite.open(sandbox) as opened:
        assert opened.bad == []
        segment, pairs, good = opened.problems
        assert [row[3] in problem.messages[-1].content for row, problem in zip(ROWS, opened.problems, strict=True)] == [
            True
        ] * 3

        def score(problem, answer: str) -> float:
            return opened.grade(problem, f"<answer>{answer}</answer>").score

        assert (score(segment, "2 2"), score(segment, "0 2"), score(segment, "9 9")) == (
            1.0,
            pytest.approx(0.1317, abs=1e-4),
            0,
        )
        assert (score(good, "0 2"), score(good, "0 1")) == (1.0, 0), "each row has a threshold of its own"
        assert (score(pairs, "3"), score(pairs, "many")) == (1.0, 0)
        assert not opened.grade(pairs, "three").format_ok
    assert len(suite_of(checkout, limit=2).instances) == 2


def test_one_of_two_environments_in_a_file_is_meant(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path)
    path = checkout / "Gym" / "environments" / "max_segment" / "environment.py"
    text = path.read_text()
    twin = text[text.index("class MaxSegment") :].replace("MaxSegment", "MinSegment")
    path.write_text(f"{text}\n\n{twin}")
    with open_sandbox() as sandbox, suite_of(checkout).open(sandbox) as opened:
        assert opened.bad == []
        assert opened.grade(opened.problems[0], "<answer>2 2</answer>").score == 1


def test_an_environment_that_does_not_load_takes_its_instances_out(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path)
    path = checkout / "Gym" / "environments" / "pair_counting" / "environment.py"
    path.write_text(f"{path.read_text()}\nraise ValueError('not today')\n")
    with open_sandbox() as sandbox, suite_of(checkout).open(sandbox) as opened:
        assert [(bad.id, "not today" in bad.reason) for bad in opened.bad] == [("PairCounting/1", True)]
        assert [problem.id for problem in opened.problems] == ["MaxSegment/0", "MaxSegment/2"]


def test_the_suite_is_evaluated_by_the_command(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = ScriptedPolicy({"solver": "<answer>2 2</answer>"}, trainable=False)
    monkeypatch.setattr("evoenv.evaluation.subject.open_policy", lambda config: policy)
    command = ["eval", "--model", "m", "--suite", f"rlve-held-out:{checkout}", "-o", str(tmp_path / "out"), "--json"]
    assert main(command) == 0
    (found,) = json.loads(capsys.readouterr().out)["suites"]
    assert found["accuracy"]["mean"] == pytest.approx(2 / 3)
    assert [group["name"] for group in found["by_environment"]] == list(HELD_OUT)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda test: test.unlink(), "expected a checkout of RLVE"),
        (lambda test: test.write_text("{}"), "holds no list of rows"),
        (lambda test: test.write_text('[{"user_prompt": "x"}]'), "row 1 is no held-out instance"),
        (
            lambda test: test.write_text(test.read_text().replace("MaxSegment", "Gone")),
            "not in its Gym/environments: Gone",
        ),
    ],
)
def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path, damage, words: str) -> None:
    checkout = make_checkout(tmp_path)
    damage(checkout / "data" / "HELD-OUT_ENVIRONMENTS" / "test.json")
    with pytest.raises(InputError, match=words):
        suite_of(checkout)


# --------------------------------------------------------------------------- keeping it out of training


def test_an_import_leaves_out_what_is_held_out(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert held_out_names(checkout) == HELD_OUT
    pool = tmp_path / "pool"
    command = ["import", str(checkout / "Gym"), "--pool", str(pool), "--held-out-of", str(checkout)]
    assert main([*command, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in said["imported"]] == ["LatticePaths_Environment"]
    assert [entry["name"] for entry in said["excluded"]] == ["MaxSegment_Environment", "PairCounting_Environment"]
    assert [entry.name for entry in read_pool(pool)] == ["LatticePaths_Environment"]


def test_an_import_leaves_out_what_a_file_names(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = tmp_path / "names.txt"
    names.write_text("# ours\nMaxSegment\nPairCounting_Environment  # by its class\nNobody\n")
    assert read_excluded(names) == ("MaxSegment", "PairCounting_Environment", "Nobody")
    pool = tmp_path / "pool"
    assert main(["import", str(checkout / "Gym"), "--pool", str(pool), "--exclude", str(names)]) == 0
    shown = capsys.readouterr()
    assert "left out, as asked: 2 (MaxSegment_Environment, PairCounting_Environment)" in shown.out
    assert f"1 name to leave out, not in {checkout / 'Gym'}: Nobody" in shown.err
    assert [entry.name for entry in read_pool(pool)] == ["LatticePaths_Environment"]
    listed = tmp_path / "names.json"
    listed.write_text('["LatticePaths"]')
    assert read_excluded(listed) == ("LatticePaths",)
    assert read_excluded(checkout / "data" / "HELD-OUT_ENVIRONMENTS" / "test.json") == HELD_OUT


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "names no environment"), ("[1]", "expected a JSON list of names"), ("[", "cannot read")],
)
def test_a_list_that_names_nothing_is_refused(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    path = tmp_path / ("names.json" if content else "names.txt")
    path.write_text(content)
    assert main(["import", str(checkout / "Gym"), "--pool", str(tmp_path / "p"), "--exclude", str(path)]) == 2
    assert words in capsys.readouterr().err


# --------------------------------------------------------------------------- refusing


def test_an_import_under_another_text_is_the_same_environment(checkout: Path, pool: Path) -> None:
    """A pool joins environment and controller into one source, whose id is another."""
    suite = suite_of(checkout)
    sources = [entry.source for entry in read_pool(pool)]
    assert not {environment.id for environment in suite.environments} & {entry.id for entry in read_pool(pool)}
    assert shared_names(suite, identities(sources)) == list(HELD_OUT)
    assert shared_names(suite, identities(["class MaxSegment(VerifiableEnvironment): ..."])) == [], (
        "a name alone is not it"
    )


def test_a_comparison_that_would_train_on_its_suite_is_refused_with_the_names(
    checkout: Path, pool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", "--curricula", "untrained,rlve", "--preset", "tiny-test", "--steps", "1", "--seeds", "0",
               "--suite", f"rlve-held-out:{checkout}", "-o", str(tmp_path / "out")]  # fmt: skip
    assert main([*command, "--set", f"rlve:curriculum.environments={pool}"]) == 2
    said = capsys.readouterr().err
    assert (
        f"rlve would train on 2 environments of the suite rlve-held-out:{checkout} (MaxSegment, PairCounting)" in said
    )
    assert "--held-out-of" in said
    assert not (tmp_path / "out").exists()
