"""Overlap of a pool's prompts with benchmarks: n-grams by hand, embeddings, the command, the report's figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evoenv.cli import main
from evoenv.config import load_config
from evoenv.environment.seeds import seed_sources
from evoenv.exchange.bundle import PoolEntry
from evoenv.exchange.runs import create_run
from evoenv.models.embedder import HashingEmbedder
from evoenv.overlap.audit import PoolPrompts, ProblemText, Prompt, compare
from evoenv.overlap.ngrams import Contained, contained, grams_of, longest_shared, words_of
from evoenv.overlap.page import count_rows, page
from evoenv.overlap.results import Overlap, read_overlaps
from evoenv.report.overlap_figure import THRESHOLDS, overlap, short_names
from evoenv.report.write import write_report

POOL = (
    "Count the primes below 100 and print the count.",
    "There are seven red balls in the bag. How many are left?",
)


def prompts(*texts: str) -> PoolPrompts:
    made = tuple(Prompt(text, f"e{i}", f"Environment{i}", i, 2, i == 0) for i, text in enumerate(texts))
    return PoolPrompts("runs/x", made, len(made), 0, (2,), 1, 0)


def audited(*problems: str, n: int = 3, pairs: int = 2) -> Overlap:
    named = [ProblemText(f"p{i}", text) for i, text in enumerate(problems)]
    return compare(prompts(*POOL), "suite.jsonl", named, HashingEmbedder(), embedder_name="hashing", n=n, pairs=pairs)


# --------------------------------------------------------------------------- n-grams


def test_words_are_letters_and_digits_in_lower_case() -> None:
    assert words_of("Let $x_1 = 3$; find  THE ﬁrst!") == ["let", "x", "1", "3", "find", "the", "first"]


def test_grams_are_the_distinct_runs_of_n_words() -> None:
    assert grams_of(["a", "b", "a", "b"], 2) == {("a", "b"), ("b", "a")}
    assert grams_of(["a"], 2) == set()


def test_the_share_of_a_problem_in_a_prompt_is_counted_by_hand() -> None:
    # Runs of three of "a b c d e": abc, bcd, cde. The second prompt has two of them, the first one.
    found = contained(["a b c d e"], ["x a b c y", "b c d e", "nothing here"], 3)
    assert found == [Contained(2 / 3, 1)]


def test_a_short_problem_counts_as_one_run_and_an_empty_one_as_none() -> None:
    assert contained(["find x", "", "find y"], ["please find x now"], 8) == [
        Contained(1.0, 0),
        Contained(0.0, None),
        Contained(0.0, None),
    ]


def test_the_longest_shared_run_is_in_words() -> None:
    assert longest_shared("Now count the primes!", "You count, the primes below") == "count the primes"


# --------------------------------------------------------------------------- both measures


def test_a_copied_problem_has_all_its_runs_and_a_cosine_of_one() -> None:
    result = audited(POOL[0], "Let ABC be a triangle with sides 3, 4 and 5. Find its area.")
    copied, other = result.matches
    assert (copied.problem, copied.ngram, copied.cosine) == ("p0", 1.0, 1.0)
    assert other.ngram == 0.0
    assert other.cosine < 0.9
    assert other.within == copied.within
    assert result.counts() == {
        "problems": 2, "share_an_ngram": 1, "half_of_their_ngrams": 1, "cosine_0.8": 1, "cosine_0.9": 1,
    }  # fmt: skip


def test_the_closest_pairs_of_each_measure_come_first_with_both_texts() -> None:
    result = audited("A triangle.", "How many are left in the bag", POOL[0])
    by_words = [pair for pair in result.pairs if pair.by == "ngram"]
    by_meaning = [pair for pair in result.pairs if pair.by == "cosine"]
    assert [(pair.problem, pair.environment) for pair in by_words] == [("p2", "e0"), ("p1", "e1")]
    # how many are, many are left; not: are left in, left in the, in the bag (which stand elsewhere or together)
    assert by_words[1].ngram == pytest.approx(3 / 5)
    assert by_meaning[0].problem == "p2"
    assert (by_words[0].original, by_words[1].original) == (True, False)
    assert by_words[1].shared == "how many are left"
    assert by_words[1].prompt_text == POOL[1]
    assert len(by_meaning) == 2


def test_a_suite_made_by_a_rule_does_not_fill_the_pairs_with_one_environment() -> None:
    same = [f"Count the primes below {number} and print the count." for number in (100, 101, 102, 103, 104)]
    result = audited(*same, "Of the seven red balls one is old and blue.", pairs=4)
    by_words = [(pair.problem, pair.environment) for pair in result.pairs if pair.by == "ngram"]
    assert by_words[:3] == [("p0", "e0"), ("p1", "e0"), ("p2", "e0")]
    assert by_words[3] == ("p5", "e1")
    # as long as there are others: alone, one environment fills them all
    alone = [pair.problem for pair in audited(*same, pairs=4).pairs if pair.by == "ngram"]
    assert alone == ["p0", "p1", "p2", "p3"]


def test_one_problem_alone_has_nothing_to_be_compared_with_in_its_suite() -> None:
    assert audited("A triangle.").matches[0].within is None


def test_the_median_of_two_problems_is_between_them() -> None:
    result = audited(POOL[0], "A triangle.")
    words, value = count_rows(result)[4]
    assert words == "median of the largest cosine with a prompt"
    assert float(value) == pytest.approx((1.0 + result.matches[1].cosine) / 2, abs=0.006)


def test_the_page_shows_pairs_side_by_side_and_hostile_texts_stay_text() -> None:
    text = page(audited("<script>alert(1)</script> primes below 100 and print"))
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "Count the primes below 100" in text


# --------------------------------------------------------------------------- the command and the report


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two originals and a third environment that has retired."""
    directory = tmp_path_factory.mktemp("overlap") / "run"
    sources = seed_sources()
    entries = [
        PoolEntry(sources[name], name, "evoenv seed", original=name != "Fibonacci", active=name != "Fibonacci")
        for name in ("Sorting", "EuclidGame", "Fibonacci")
    ]
    create_run(directory, entries, load_config(overrides=["novelty.embedder=hashing", "solver.difficulty=1"]))
    return directory


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("problems") / "bench.jsonl"
    lines = [
        {"id": "sort", "problem": "Sort these 7 integers in ascending order, smallest first, please.", "answer": "1"},
        {"id": "area", "problem": "Let ABC be a triangle with AB = 13, BC = 14, CA = 15. Find its area.", "answer": 84},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def audit(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["audit-overlap", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.sandbox
def test_a_runs_pool_is_compared_and_its_report_draws_the_figure(
    run_directory: Path, problems: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = write_report(run_directory, tmp_path / "before", pictures=False).page.read_text()
    assert "Not measured" in before
    (facts,) = audit(capsys, str(run_directory), "--suite", f"math:{problems}", "--ngram", "5")["suites"]
    assert facts["counts"]["problems"] == 2
    document = json.loads(Path(facts["document"]).read_text())
    assert document["difficulties"] == [1], "the level that the run trains on"
    assert document["environments"] == 3, "what has retired was trained on, too"
    assert document["prompts"] == 12
    closest = document["pairs"][0]
    assert (closest["problem"], closest["name"], closest["original"]) == ("sort", "Sorting", True)
    assert closest["shared"] == "sort these 7 integers in ascending order smallest first"
    assert "Sort these" in Path(facts["page"]).read_text()
    assert [found.suite for found in read_overlaps(run_directory)] == [f"math:{problems}"]
    after = write_report(run_directory, tmp_path / "after", pictures=False)
    text = after.page.read_text()
    assert "Not measured" not in text
    assert "largest cosine with a prompt" in text
    rows = (tmp_path / "after" / "figures" / "overlap.csv").read_text().splitlines()
    assert rows[0].startswith("suite,problem,ngram_share")
    assert len(rows) == 3


@pytest.mark.sandbox
def test_the_active_pool_and_other_environments_can_be_compared_with_environments(
    run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "out")
    options = ["--instances", "1", "--difficulties", "0", "--embedder", "hashing", "-o", output]
    (facts,) = audit(capsys, str(run_directory), "--suite", "seeds", "--active", *options)["suites"]
    document = json.loads(Path(facts["document"]).read_text())
    assert document["environments"] == 2
    # Both sides render Sorting and EuclidGame at the same seeds: those two problems are copies.
    assert sorted(match["ngram"] == 1.0 for match in document["matches"]) == [False] * 8 + [True] * 2
    assert main(["audit-overlap", "seeds", "--suite", "seeds", *options, "--pairs", "1"]) == 0
    shown = capsys.readouterr().out
    assert "By n-grams" in shown
    assert "10 of 10 (100.0%)" in shown


def test_the_figure_counts_the_problems_that_are_at_least_as_close() -> None:
    figure = overlap([audited(POOL[0], "A triangle.")])
    by_words = figure.panels[1]
    values = list(by_words.series[0].values)  # type: ignore[union-attr]
    # One problem has all its runs in a prompt, the other none.
    assert values == [1.0] + [0.5] * (len(THRESHOLDS) - 1)
    assert [series.name for series in figure.panels[0].series] == [  # type: ignore[union-attr]
        "suite",
        "suite to itself",
    ]


def test_suites_are_named_by_the_last_part_of_their_path_unless_two_share_it() -> None:
    assert short_names(["math:/data/aime24.jsonl", "seeds", "run:runs/a"]) == ["aime24", "seeds", "a"]
    assert short_names(["a/x.jsonl", "b/x.jsonl"]) == ["a/x.jsonl", "b/x.jsonl"]


def test_a_document_of_another_kind_is_not_drawn(tmp_path: Path) -> None:
    (tmp_path / "overlap").mkdir()
    (tmp_path / "overlap" / "a.json").write_text("{}")
    (tmp_path / "overlap" / "b.json").write_text("not json")
    assert read_overlaps(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["seeds", "--suite", "nowhere.jsonl"], "nowhere.jsonl"),
        (["seeds", "--suite", "seeds", "--ngram", "0"], "--ngram is 0"),
        (["seeds", "--suite", "seeds", "--instances", "0"], "--instances is 0"),
        (["nowhere", "--suite", "seeds"], "nowhere"),
    ],
)
def test_misuse_is_one_line_and_nothing_is_written(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["audit-overlap", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())
