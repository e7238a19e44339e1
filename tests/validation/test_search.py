"""Answers of the reference's own shape: what is tried, and what counts as beating the reference."""

from __future__ import annotations

from evoenv.sandbox.outcomes import Failed, Ok, Outcome
from evoenv.validation.evidence import Drawn
from evoenv.validation.probes import Probe
from evoenv.validation.search import ANSWERS, check_beaten, same_shape


def probe(outcome: Outcome, kind: str = "searched") -> Probe:
    return Probe(Drawn(7, 1, "prompt", None, "3 1 2"), kind, "1 2 3", outcome)


def test_all_orders_and_choices_of_a_few_parts_are_tried() -> None:
    texts = same_shape("3, 1, 2")
    assert {"1, 2, 3", "2, 1, 3", "3, 2, 1"} <= set(texts)
    assert {"1, 2", "1, 2, 3, 4", "4"} <= set(texts)
    assert "3, 1, 2" not in texts
    assert len(texts) == len(set(texts)) <= ANSWERS


def test_all_words_over_the_answers_symbols_are_tried() -> None:
    assert sorted(same_shape("101")) == ["000", "001", "010", "011", "100", "110", "111"]
    assert sorted(same_shape("LR")) == ["LL", "RL", "RR"]


def test_long_answers_and_single_letters_cost_little() -> None:
    assert len(same_shape(" ".join(map(str, range(200))))) <= ANSWERS
    assert len(same_shape("abcdefgh" * 8)) <= ANSWERS
    assert same_shape("a") == []
    assert same_shape("") == []


def test_a_number_has_its_neighbours() -> None:
    assert {"16", "18", "-3"} <= set(same_shape("17"))


def test_a_better_score_or_the_scorers_own_words_show_a_beaten_reference() -> None:
    better = [
        probe(Ok(1.2)),
        probe(Failed("exception", "refused", "BadScore", value=1.25)),
        probe(Failed("exception", "AssertionError: answer should not exceed gold", "AssertionError"), "changed:extra"),
    ]
    for outcome in better:
        (finding,) = check_beaten([probe(Ok(1.0)), outcome])
        assert finding.code == "L5.reference-beaten"
        assert finding.replay is not None
        assert finding.replay.answer == "1 2 3"


def test_equal_scores_other_errors_and_large_scores_of_absurd_answers_do_not() -> None:
    assert not check_beaten(
        [
            probe(Ok(1.0)),
            probe(Ok(1.5), "changed:extra"),
            probe(Failed("exception", "scorer returned 1.25", "BadScore")),
            probe(Failed("exception", "refused", "BadScore", value=-1.25)),
            probe(Failed("exception", "AssertionError: three parts", "AssertionError")),
            probe(Failed("exception", "KeyError: 'gold'", "KeyError")),
        ]
    )
