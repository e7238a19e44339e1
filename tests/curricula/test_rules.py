"""Each curriculum's rule in numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.config import CurriculumConfig
from evoenv.curricula.dapo import overlong_penalty, shaped_rewards
from evoenv.curricula.problems import TrainingProblem, grade, numbered
from evoenv.curricula.r_zero import challenger_reward, count_votes, fate, label_of, solver_reward
from evoenv.curricula.repetition import cluster_sizes, sentence_bleu
from evoenv.equivalence import majority, same_answer
from evoenv.prompts.challenger import extract_question
from evoenv.records import Sample

# --------------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12", " 12. "),
        ("12", "12.0"),
        ("0.5", "1/2"),
        (r"\frac{1}{2}", "2/4"),
        (r"-\dfrac{1}{2}", "-0.5"),
        ("1,234", "1234"),
        ("$x + 1$", "x+1"),
        ("Yes", "yes"),
        ("\u22123", "-3"),
    ],
)
def test_the_same_answer_may_be_written_in_several_ways(one: str, other: str) -> None:
    assert same_answer(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12", "13"), ("1,2,3", "123"), ("1/0", "0"), ("", "0"), ("1 2", "1/2"), ("1 23", "12 3"),
        ("9" * 101, "9" * 102),
    ],
)  # fmt: skip
def test_different_answers_stay_different(one: str, other: str) -> None:
    assert not same_answer(one, other)


def test_the_majority_is_the_most_frequent_answer_and_the_earliest_among_equals() -> None:
    assert majority(["3", "1/2", "0.5", None, "7"]) == ("1/2", 2)
    assert majority(["b", "a", "a", "b"]) == ("b", 2)
    assert majority([None, None]) == (None, 0)
    assert majority([]) == (None, 0)


def test_a_response_is_graded_by_its_final_answer() -> None:
    assert grade("so <answer>0.50</answer>", "1/2", same_answer).value == 1.0
    assert grade("so <answer>0.51</answer>", "1/2", same_answer).value == 0.0
    assert not grade("1/2, surely", "1/2", same_answer).format_ok


# --------------------------------------------------------------------------- DAPO


@pytest.mark.parametrize(
    ("length", "penalty"), [(0, 0.0), (16384, 0.0), (16385, -1 / 4096), (18432, -0.5), (20480, -1.0)]
)
def test_dapo_punishes_only_the_last_stretch_of_a_response(length: int, penalty: float) -> None:
    assert overlong_penalty(length, 20480, 4096) == pytest.approx(penalty)


def test_dapo_rewards_are_one_up_or_down_plus_the_penalty() -> None:
    # limit 100, buffer 20: 90 tokens are half-way into it
    assert shaped_rewards([1.0, 0.0, 0.5, 1.0], [10, 90, 80, 100], 100, 20) == pytest.approx((1.0, -1.5, -1.0, 0.0))
    assert shaped_rewards([1.0, 0.0], [100, 100], 100, 0.0) == (1.0, -1.0)


@given(st.integers(1, 9), st.integers(0, 40), st.integers(0, 3))
def test_every_pass_over_the_problems_uses_each_once_wherever_reading_starts(count: int, first: int, seed: int) -> None:
    problems = [TrainingProblem(f"p{index}", "", "") for index in range(count)]
    whole = numbered(problems, 0, seed, 60)
    assert numbered(problems, first, seed, 60 - first) == whole[first:]
    for begin in range(0, 60 - count, count):
        assert {item.id for item in whole[begin : begin + count]} == {item.id for item in problems}


# --------------------------------------------------------------------------- R-Zero


def test_bleu_of_two_sentences() -> None:
    # unigrams 5 of 6 (the second 'the' is not there), bigrams 3 of 5, trigrams 2 of 4, 4-grams 1 of 3
    said, meant = "the cat sat on a mat".split(), "the cat sat on the mat".split()
    assert sentence_bleu(meant, said) == pytest.approx((5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    # one word of two; the higher orders have no match, and count 0.1 of one
    assert sentence_bleu(["a", "c"], ["a", "b"]) == pytest.approx((1 / 2 * 0.1**3) ** 0.25)
    # all there, but too short: exp(1 − 6/4)
    assert sentence_bleu(list("abcdef"), list("abcd")) == pytest.approx(math.exp(-0.5))
    # too long is not punished by brevity: 4/6, 3/5, 2/4, 1/3
    assert sentence_bleu(list("abcd"), list("abcdef")) == pytest.approx((4 / 6 * 3 / 5 * 2 / 4 / 3) ** 0.25)
    assert sentence_bleu(list("abcd"), list("wxyz")) == 0.0
    assert sentence_bleu([], ["a"]) == sentence_bleu(["a"], []) == 0.0


def test_questions_nearer_than_the_threshold_are_one_cluster() -> None:
    near = ["the cat sat on the mat", "the cat sat on a mat"]  # 1 − 0.5373 = 0.4627
    far = "how many primes are there below one hundred"
    assert cluster_sizes([*near, far], 0.5) == [2, 2, 1]
    assert cluster_sizes([*near, far], 0.46) == [1, 1, 1]
    assert cluster_sizes([far, near[0], far, far], 0.5) == [3, 1, 3, 3]
    assert cluster_sizes(["", ""], 0.5) == [1, 1]  # two malformed responses are not the same question
    assert cluster_sizes([], 0.5) == []


def test_clusters_are_merged_by_the_average_distance_of_all_their_pairs() -> None:
    # a and b are 0.2 apart by construction of the words, c is near b only: the average with {a, b} decides
    a, b, c = "u v w x y", "u v w x y", "u v w x z"
    distance = 1 - sentence_bleu(c.split(), a.split())
    assert 0 < distance < 0.5
    assert cluster_sizes([a, b, c], distance + 1e-9) == [3, 3, 3]
    assert cluster_sizes([a, b, c], distance - 1e-9) == [2, 2, 1]


@pytest.mark.parametrize(
    ("share", "cluster", "paper", "code"),
    [
        (0.5, 1, 0.875, 0.375),
        (0.5, 4, 0.5, 0.0),
        (0.9, 1, 0.075, -0.025),
        (0.3, 2, 0.35, 0.05),
        (1.0, 1, 0.0, -0.125),  # the paper's reward is never negative
        (None, 1, 0.0, -1.125),
    ],
)
def test_the_challengers_reward(share: float | None, cluster: int, paper: float, code: float) -> None:
    assert challenger_reward(share, cluster, 8, CurriculumConfig()) == pytest.approx(paper)
    assert challenger_reward(share, cluster, 8, CurriculumConfig(challenger_reward="code")) == pytest.approx(code)


def test_the_weight_of_repetition_is_the_papers_lambda() -> None:
    assert challenger_reward(0.5, 4, 8, CurriculumConfig(repetition_weight=0.5)) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("share", "reason"),
    [(None, "malformed"), (0.2, "too-hard"), (0.3, "admitted"), (0.8, "admitted"), (0.9, "too-easy")],
)
def test_the_band_of_vote_shares_includes_its_ends(share: float | None, reason: str) -> None:
    assert fate(share, CurriculumConfig()) == reason


def test_votes_are_counted_over_all_responses() -> None:
    vote = count_votes(["4", "4.0", None, "5"])
    assert (vote.share, vote.agreeing) == (0.5, (True, True, False, False))
    nobody = count_votes([None, None])
    assert (nobody.share, nobody.agreeing) == (0.0, (False, False))


def test_the_label_is_the_majoritys_answer_as_it_was_first_written() -> None:
    answers = ["5", "1/2", None, "0.5"]
    texts = ["nothing" if answer is None else f"<answer>{answer}</answer>" for answer in answers]
    samples = {("s00001.g000.c02.vote", at): Sample("s00001.g000.c02.vote", at, text) for at, text in enumerate(texts)}
    assert label_of("s00001.g000.c02", count_votes(answers), samples) == "1/2"


def test_the_solver_is_paid_for_the_label_and_a_little_for_the_form() -> None:
    assert solver_reward(True, True) == pytest.approx(1.0)
    assert solver_reward(False, True) == pytest.approx(0.1)
    assert solver_reward(False, False) == 0.0


@pytest.mark.parametrize(
    ("response", "question"),
    [
        ("<question>What is 2 + 2?</question> <answer>4</answer>", "What is 2 + 2?"),
        ("<question>a</question> no: <question> b\nc </question>", "b\nc"),
        ("<question>never closed", None),
        ("<question>  </question>", None),
        ("<think>between <question> and </question></think><question>b</question>", "b"),
        ("<think>Draft: <question>2 + 2?</question> too easy", None),
        ("nothing", None),
    ],
)
def test_the_question_is_the_last_that_is_complete(response: str, question: str | None) -> None:
    assert extract_question(response) == question


def test_settings_that_mean_nothing_are_refused() -> None:
    for wrong in ({"votes": 0}, {"band_low": 0.9}, {"max_batches": 0}, {"oversampling": 0}, {"overlong_share": 2.0}):
        with pytest.raises(ValueError, match="expected"):
            CurriculumConfig(**wrong)
