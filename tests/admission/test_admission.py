"""Admission against a batch worked out by hand, and the properties that must hold for every batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.admission.admission import Evaluated, decide_admissions
from evoenv.admission.novelty import NoveltyCache, measure_batch
from evoenv.config import Config, load_config
from evoenv.errors import ConfigError

CONFIG = Config()
GAMMA = 2.0
HALF, THIRD = 0.6065306597, 0.9321024  # Q_unc(½), Q_unc(3/8)


def evaluated(name, vector, layer=5, review=True, pass_rate=0.5, cache=None, environment=None):
    """Make a candidate whose prompt and code have the same vector, so that sim is one cosine."""
    measured = None
    if layer >= 2:
        row = np.array([vector], dtype=np.float32)
        measured = measure_batch([name], row, row, cache or origin(), CONFIG.novelty)[name]
    rate = pass_rate if layer == 5 else None
    return Evaluated(name, environment or f"env-{name}", layer, review, rate, measured)


def origin():
    cache = NoveltyCache(3)
    row = np.array([[1, 0, 0]], dtype=np.float32)
    cache.add(["seed"], row, row)
    return cache


def test_a_mixed_batch_gets_the_rewards_and_fates_of_the_table():
    batch = [
        evaluated("broken", None, layer=0),
        evaluated("crashes", None, layer=1),
        evaluated("unstable", (0, 1, 0), layer=2),  # sim 0, N 1
        evaluated("constant", (0.6, 0.8, 0), layer=3),  # sim .6, N .4
        evaluated("gameable", (0.8, 0.6, 0), layer=4),  # sim .8, N .2
        evaluated("wrong", (0, 1, 0), review=False),  # sim 0
        evaluated("hard", (0, 0, 1), pass_rate=0.0),
        evaluated("easy", (0, 0, 1), pass_rate=1.0),
        evaluated("copy", (0.8, 0.6, 0)),  # sim .8: the gate refuses from .8 on
        evaluated("best", (0, 0.8, 0.6), pass_rate=0.375),  # sim 0
        evaluated("twin", (0, 0.8, 0.6), pass_rate=0.5),  # sim 0, then 1 once `best` is in
        evaluated("near", (0, 0, 1), pass_rate=0.5),  # sim 0, then .6
    ]
    decided = decide_admissions(batch, GAMMA, CONFIG)
    assert [(d.candidate_id, d.reason) for d in decided] == [
        ("broken", "layer"),
        ("crashes", "layer"),
        ("unstable", "layer"),
        ("constant", "layer"),
        ("gameable", "layer"),
        ("wrong", "review"),
        ("hard", "too-hard"),
        ("easy", "too-easy"),
        ("copy", "gate"),
        ("best", "admitted"),
        ("twin", "batch-duplicate"),
        ("near", "admitted"),
    ]
    expected = [
        -1.0, -0.5, -0.25 + 2.0, 0.8, 0.4,
        HALF + 2.0, 0.3246525 + 2.0, 0.0021875 + 2.0, HALF + 0.4, THIRD + 2.0, HALF + 2.0, HALF + 2.0,
    ]  # fmt: skip
    assert [d.reward for d in decided] == pytest.approx(expected, abs=1e-6)
    by_name = {d.candidate_id: d for d in decided}
    assert by_name["best"].similarity_at_admission == pytest.approx(0.0)
    assert by_name["twin"].similarity_at_admission == pytest.approx(1.0)
    assert by_name["near"].similarity_at_admission == pytest.approx(0.6)
    assert by_name["copy"].similarity_at_admission == pytest.approx(0.8)
    assert by_name["wrong"].similarity_at_admission is None
    assert by_name["best"].q_val == pytest.approx(THIRD, abs=1e-6)


def test_gated_rewards_pay_only_for_what_every_gate_but_the_review_lets_in():
    config = load_config(overrides=['generator.reward="gated"'])
    batch = [
        evaluated("no code", None, layer=0),
        evaluated("crashes", None, layer=1),
        evaluated("early copy", (0.8, 0.6, 0), layer=2),
        evaluated("fails", (0.6, 0.8, 0), layer=3),  # new, and not valid
        evaluated("copy", (0.8, 0.6, 0)),
        evaluated("hard", (0, 1, 0), pass_rate=0.0),
        evaluated("easy", (0, 1, 0), pass_rate=1.0),
        evaluated("wrong", (0, 1, 0), review=False),
        evaluated("new", (0, 0, 1)),
    ]
    decided = decide_admissions(batch, GAMMA, config)
    assert [d.reward for d in decided] == pytest.approx([-0.5] * 7 + [HALF + 2.0] * 2, abs=1e-6)
    assert [d.q_val for d in decided] == pytest.approx([-0.5] * 7 + [HALF] * 2, abs=1e-6)
    reasons = ["layer", "layer", "layer", "layer", "gate", "too-hard", "too-easy", "review", "admitted"]
    plainly = decide_admissions(batch, GAMMA, CONFIG)
    assert [d.reason for d in decided] == [d.reason for d in plainly] == reasons


def test_proven_rewards_pay_for_what_programs_confirm_and_nothing_for_what_is_only_valid_and_new():
    config = load_config(overrides=['generator.reward="proven"', 'review.kind="recomputing"'])
    batch = [
        evaluated("crashes", None, layer=1),
        evaluated("fails", (0.6, 0.8, 0), layer=3),
        evaluated("copy", (0.8, 0.6, 0)),
        evaluated("wrong copy", (0.8, 0.6, 0), review=False),
        evaluated("hard", (0, 1, 0), pass_rate=0.0),
        evaluated("easy", (0, 1, 0), pass_rate=1.0),
        evaluated("wrong", (0, 1, 0), review=False),
        evaluated("new", (0, 0, 1)),
    ]
    decided = decide_admissions(batch, GAMMA, config)
    assert [d.reward for d in decided] == pytest.approx([-0.5] * 4 + [0.0] * 3 + [HALF + 2.0], abs=1e-6)
    assert [d.q_val for d in decided] == pytest.approx([-0.5] * 4 + [0.0] * 3 + [HALF], abs=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        [],
        ['review.kind="both"'],
        ['review.kind="recomputing"', "review.enabled=false"],
        ['review.kind="recomputing"', 'review.admits=["confirmed","unconfirmed"]'],
    ],
)
def test_only_what_programs_confirm_is_paid_for(settings):
    with pytest.raises(ConfigError, match='"recomputing", and admit "confirmed" alone'):
        load_config(overrides=['generator.reward="proven"', *settings])


def test_the_better_of_two_copies_enters_whatever_their_order():
    poor, good = evaluated("a-poor", (0, 1, 0), pass_rate=0.75), evaluated("z-good", (0, 1, 0), pass_rate=0.25)
    for batch in ([poor, good], [good, poor]):
        assert {d.candidate_id: d.reason for d in decide_admissions(batch, GAMMA, CONFIG)} == {
            "a-poor": "batch-duplicate",
            "z-good": "admitted",
        }


def test_equal_rewards_are_settled_by_candidate_id():
    batch = [evaluated("b", (0, 1, 0)), evaluated("a", (0, 1, 0))]
    assert [d.reason for d in decide_admissions(batch, GAMMA, CONFIG)] == ["batch-duplicate", "admitted"]


def test_views_are_maximised_separately_against_the_batch_too():
    cache = origin()
    config = CONFIG.novelty

    def two_views(name, prompt, code, pass_rate):
        arrays = [np.array([view], dtype=np.float32) for view in (prompt, code)]
        return Evaluated(name, name, 5, True, pass_rate, measure_batch([name], *arrays, cache, config)[name])

    batch = [
        two_views("p", (0, 1, 0), (0, 0, 1), 0.375),
        two_views("c", (0, 0, 1), (0, 1, 0), 0.25),
        two_views("x", (0, 1, 0), (0, 1, 0), 0.75),  # the prompt of p over the code of c
    ]
    decided = decide_admissions(batch, GAMMA, CONFIG)
    assert [d.reason for d in decided] == ["admitted", "admitted", "batch-duplicate"]
    assert decided[2].similarity_at_admission == pytest.approx(1.0)


def test_the_same_source_never_enters_twice_even_with_the_gate_wide_open():
    config = replace_gate(2.0)
    batch = [
        evaluated("a", (0, 1, 0), environment="same"),
        evaluated("b", (0, 1, 0), environment="same"),
        replace(evaluated("c", (0, 0, 1)), known=True),
    ]
    assert [d.reason for d in decide_admissions(batch, GAMMA, config)] == ["admitted", "batch-duplicate", "gate"]


def test_what_was_not_asked_about_is_refused_by_the_gate_and_by_nothing_else():
    config = load_config({"novelty": {"first": True}})
    batch = [
        evaluated("copy", (0.8, 0.6, 0), review=False, pass_rate=None),  # in synthesis: neither reviewed nor calibrated
        replace(evaluated("same", (0, 0, 1), review=False), known=True),
        evaluated("new", (0, 1, 0), review=False),
    ]
    decided = decide_admissions(batch, GAMMA, config)
    assert [d.reason for d in decided] == ["gate", "gate", "review"]
    assert decided[0].reward == pytest.approx(1.0 + 0.2 * GAMMA)  # as at the target: nothing is known of its difficulty
    with pytest.raises(ValueError, match="has no pass rate"):
        decide_admissions(batch[:1], GAMMA, CONFIG)
    # measured alone it was beyond the gate, and so not calibrated; measured with its batch it is just below
    (near,) = decide_admissions([evaluated("near", (0.79, 0.6131, 0), review=False, pass_rate=None)], GAMMA, config)
    assert (near.reason, near.admitted) == ("gate", False)


def test_the_asymmetry_is_asked_for_only_if_the_configuration_says_so():
    batch = [
        replace(evaluated("words", (0, 1, 0)), asymmetry=-0.25),
        replace(evaluated("both", (0, 0, 1)), asymmetry=0.25),
        replace(evaluated("unknown", (0.6, 0, 0.8)), asymmetry=None),
    ]
    off = decide_admissions(batch, GAMMA, CONFIG)
    assert {d.reason for d in off} == {"admitted", "batch-duplicate"}
    gated = load_config({"review": {"kind": "recomputing"}, "admission": {"min_asymmetry": 0.25}})
    on = decide_admissions(batch, GAMMA, gated)
    assert [d.reason for d in on] == ["asymmetry", "admitted", "asymmetry"]
    assert [d.reward for d in on] == [d.reward for d in off]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"admission": {"min_asymmetry": 0.1}}, "nothing measures the asymmetry"),
        ({"admission": {"min_asymmetry": 0.1}, "review": {"kind": "both", "enabled": False}}, "nothing measures"),
        ({"admission": {"min_asymmetry": 1.5}, "review": {"kind": "both"}}, "expected a difference from -1 to 1"),
    ],
)
def test_an_asymmetry_that_nobody_measures_or_reaches_is_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        load_config(settings)


def replace_gate(gate):
    return load_config({"novelty": {"gate": gate}})


VECTORS = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.8, 0), (0, 0.6, 0.8), (0.8, 0, 0.6), (-1, 0, 0)]
candidates = st.lists(
    st.tuples(
        st.sampled_from(VECTORS), st.integers(0, 5), st.booleans(), st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.875, 1.0])
    ),
    max_size=10,
)


def build(specs):
    return [evaluated(f"c{number}", *spec) for number, spec in enumerate(specs)]


@given(candidates)
def test_flipping_verdicts_and_asymmetries_changes_no_reward(specs):
    rewards = {
        flip: [
            d.reward
            for d in decide_admissions(
                [
                    replace(item, asymmetry=1.0 if flip else -1.0)
                    for item in build([(v, n, r ^ flip, p) for v, n, r, p in specs])
                ],
                GAMMA,
                CONFIG,
            )
        ]
        for flip in (False, True)
    }
    assert rewards[False] == rewards[True]


@given(candidates, st.randoms(use_true_random=False))
def test_fates_do_not_depend_on_the_order_of_the_batch(specs, rng):
    batch = build(specs)
    shuffled = rng.sample(batch, len(batch))
    assert {d.candidate_id: d for d in decide_admissions(batch, GAMMA, CONFIG)} == {
        d.candidate_id: d for d in decide_admissions(shuffled, GAMMA, CONFIG)
    }


@given(candidates)
def test_whatever_is_admitted_satisfies_every_rule_and_differs_from_all_else_admitted(specs):
    batch = build(specs)
    decided = decide_admissions(batch, GAMMA, CONFIG)
    admitted = [item for item, d in zip(batch, decided, strict=True) if d.admitted]
    for item in admitted:
        assert item.layer == 5
        assert item.review_passed
        assert 0 < item.pass_rate < 1
        assert item.measured.novelty.similarity < 0.8
    for left in admitted:
        for right in admitted:
            if left is not right:
                assert float(left.measured.prompt_vector @ right.measured.prompt_vector) < 0.8
