import math
import statistics
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.errors import PolicyError
from evoenv.records import Group
from evoenv.training.advantages import drop_zero_variance, group_advantages, has_zero_variance


def test_advantages_use_the_sample_standard_deviation() -> None:
    # mean 0.25; squares 0.5625 + 3 · 0.0625 = 0.75; 0.75 / 3 = 0.25; std 0.5
    expected = [0.75 / 0.500001, -0.25 / 0.500001, -0.25 / 0.500001, -0.25 / 0.500001]
    assert group_advantages([1.0, 0.0, 0.0, 0.0]) == pytest.approx(expected, abs=1e-12)


def test_advantages_without_std_are_centred_rewards() -> None:
    assert group_advantages([3.0, 1.0, 2.0], std=False) == [1.0, -1.0, 0.0]


def test_epsilon_stands_beside_the_deviation() -> None:
    # std of (0, 2) is √2
    assert group_advantages([0.0, 2.0], eps=1.0) == pytest.approx([-1 / (math.sqrt(2) + 1), 1 / (math.sqrt(2) + 1)])


@pytest.mark.parametrize("rewards", [[], [1.0], [0.5, 0.5], [0.1 + 0.2, 0.3]])
def test_groups_without_variance_have_zero_advantages(rewards: list[float]) -> None:
    assert has_zero_variance(rewards)
    assert group_advantages(rewards) == [0.0] * len(rewards)


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_a_reward_that_is_not_finite_is_refused(reward: float) -> None:
    with pytest.raises(PolicyError, match="reward 1 of a group"):
        group_advantages([0.0, reward])


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=16))
def test_advantages_are_centred_and_keep_the_order(rewards: list[float]) -> None:
    advantages = group_advantages(rewards)
    assert math.fsum(advantages) == pytest.approx(0.0, abs=1e-6)
    if not has_zero_variance(rewards):
        assert statistics.stdev(advantages) <= 1.0 + 1e-9
        assert all(
            (a <= b) == (x <= y) or a == pytest.approx(b)
            for a, x in zip(advantages, rewards, strict=True)
            for b, y in zip(advantages, rewards, strict=True)
        )


def test_groups_are_kept_and_dropped_in_order() -> None:
    groups = [
        Group("a", "solver", (), (0.0, 1.0)),
        Group("b", "generator", (), (1.0, 1.0)),
        Group("c", "generator", (), (-1.0, 0.0)),
        Group("d", "solver", (), (0.0, 0.0)),
    ]
    kept, dropped = drop_zero_variance(groups)
    assert [group.id for group in kept] == ["a", "c"]
    assert [group.id for group in dropped] == ["b", "d"]


def test_advantages_are_importable_without_torch() -> None:
    code = "import sys, evoenv.training.advantages; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
