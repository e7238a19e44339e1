"""R_gen against tables worked out by hand from its formulas."""

from __future__ import annotations

import inspect

import pytest

from evoenv.admission import reward
from evoenv.admission.reward import generator_reward, q_unc, q_val

# exp(−(â − 0.3)² / 0.08) for the pass rates that eight instances can give
Q_UNC_TABLE = {
    0.0: 0.324652,  # exp(−0.09/0.08) = exp(−1.125)
    0.125: 0.681941,  # exp(−0.030625/0.08) = exp(−0.3828125)
    0.25: 0.969233,  # exp(−0.0025/0.08) = exp(−0.03125)
    0.375: 0.932102,  # exp(−0.005625/0.08) = exp(−0.0703125)
    0.5: 0.606531,  # exp(−0.04/0.08) = exp(−0.5)
    0.75: 0.079559,  # exp(−0.2025/0.08) = exp(−2.53125)
    1.0: 0.002187,  # exp(−0.49/0.08) = exp(−6.125)
}


@pytest.mark.parametrize(("pass_rate", "expected"), Q_UNC_TABLE.items())
def test_q_unc_follows_the_table(pass_rate, expected):
    assert q_unc(pass_rate, target=0.3, sigma=0.2) == pytest.approx(expected, abs=1e-6)


def test_q_unc_is_one_at_the_target():
    assert q_unc(0.3, target=0.3, sigma=0.2) == 1.0


@pytest.mark.parametrize(("layer", "expected"), [(0, -1.0), (1, -0.5), (2, -0.25), (3, 0.0), (4, 0.0)])
def test_q_val_below_layer_five_is_a_step_of_the_ladder(layer, expected):
    assert q_val(layer, None) == expected


@pytest.mark.parametrize(
    ("layer", "pass_rate", "novelty", "gamma", "expected"),
    [
        (0, None, None, 4.0, -1.0),  # no novelty can rescue what does not parse
        (1, None, None, 4.0, -0.5),
        (2, None, 0.3, 4.0, -0.25 + 4.0 * 0.3),
        (3, None, 0.25, 2.0, 0.5),
        (4, None, 0.5, 5.0, 2.5),
        (5, 0.5, 0.2, 3.0, 0.6065306597 + 0.6),
        (5, 1.0, 0.0, 5.0, 0.0021874911),
    ],
)
def test_generator_reward_adds_gamma_times_novelty_from_layer_two_on(layer, pass_rate, novelty, gamma, expected):
    assert generator_reward(layer, pass_rate, novelty, gamma) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("layer", "full", "without_quality", "without_diversity"),
    [
        (0, -1.0, 0.0, -1.0),
        (1, -0.5, 0.0, -0.5),
        (2, 0.75, 1.0, -0.25),
        (4, 1.0, 1.0, 0.0),
        (5, 1.6065307, 1.0, 0.6065307),
    ],
)
def test_ablations_leave_out_one_part(layer, full, without_quality, without_diversity):
    rewards = [
        generator_reward(layer, 0.5, 0.25, 4.0, parts=parts)
        for parts in ("full", "without-quality", "without-diversity")
    ]
    assert rewards == pytest.approx([full, without_quality, without_diversity], abs=1e-6)


def test_novelty_is_ignored_below_layer_two():
    assert generator_reward(1, None, 0.9, 5.0) == -0.5


def test_a_missing_pass_rate_or_novelty_is_refused_where_it_counts():
    with pytest.raises(ValueError, match="pass rate"):
        q_val(5, None)
    with pytest.raises(ValueError, match="novelty"):
        generator_reward(3, None, None, 2.0)


def test_no_reward_function_has_a_way_in_for_the_verdict():
    kept_out = ("review", "verdict", "recomput", "program", "witness", "asymmetry")
    for name, function in inspect.getmembers(reward, inspect.isfunction):
        assert not [p for p in inspect.signature(function).parameters if any(word in p for word in kept_out)], name
