import dataclasses
import math
import statistics
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.config import TrainingConfig
from evoenv.errors import ConfigError, PolicyError
from evoenv.objective import (
    ResponseWeight,
    build_batch,
    check_group,
    check_objective,
    drop_zero_variance,
    group_advantages,
    has_zero_variance,
    response_weights,
)
from evoenv.records import Group, Role, Rollout, Sample


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


def test_the_objective_is_importable_without_torch() -> None:
    code = "import sys, evoenv.objective; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --------------------------------------------------------------------------- weights


ROLES: list[Role] = ["solver", "solver", "generator", "solver"]
LENGTHS = [2, 6, 16, 0]


@pytest.mark.parametrize(
    ("settings", "means", "kl_means"),
    [
        ({}, [1 / 8, 1 / 8, 1 / 16], [1 / 24] * 3),
        ({"role_weighting": "advantage-scale"}, [1 / 24] * 3, [1 / 24] * 3),
        ({"aggregation": "token-mean"}, [1 / 24] * 3, [1 / 24] * 3),
        ({"aggregation": "sequence-mean"}, [1 / 4, 1 / 12, 1 / 16], [1 / 6, 1 / 18, 1 / 48]),
        (
            {"aggregation": "sequence-mean", "role_weighting": "advantage-scale"},
            [1 / 6, 1 / 18, 1 / 48],
            [1 / 6, 1 / 18, 1 / 48],
        ),
        ({"aggregation": "dr-grpo", "dr_grpo_tokens": 100}, [1 / 200, 1 / 200, 1 / 100], [1 / 300] * 3),
    ],
)
def test_weights_by_hand(settings: dict[str, Any], means: list[float], kl_means: list[float]) -> None:
    """Eight solver tokens in two responses, sixteen generator tokens in one, and one response without tokens."""
    weights = response_weights(ROLES, LENGTHS, TrainingConfig(**settings))
    assert [weight.mean for weight in weights] == pytest.approx([*means, 0.0])
    assert [weight.kl_mean for weight in weights] == pytest.approx([*kl_means, 0.0])
    assert [weight.role_factor for weight in weights] == [1.0, 1.0, 0.3, 0.0]


def test_long_generator_outputs_weigh_more_only_under_advantage_scale() -> None:
    """What the two readings of w_gen differ in: the generator's share when its responses are 8 times as long."""
    shares = {}
    for reading in ("loss", "advantage-scale"):
        weights = response_weights(["solver", "generator"], [10, 80], TrainingConfig(role_weighting=reading))
        solver, generator = (w.mean * w.role_factor * n for w, n in zip(weights, (10, 80), strict=True))
        shares[reading] = generator / solver
    assert shares == pytest.approx({"loss": 0.3, "advantage-scale": 2.4})


# --------------------------------------------------------------------------- batches


def group(name: str, role: Role, rewards: tuple[float, ...], lengths: tuple[int, ...]) -> Group:
    """Responses of the given lengths to the prompt (1, 2)."""
    samples = tuple(
        Sample(
            name,
            index,
            "",
            tokens=length,
            rollout=Rollout.of((1, 2), (index,) * length, (-0.5,) * length, 0.8),
        )
        for index, length in enumerate(lengths)
    )
    return Group(name, role, samples, rewards)


def test_a_batch_by_hand() -> None:
    """Two of four groups have variance: 3 + 5 solver tokens, 8 generator tokens; advantages of (0, 1) are ∓1/√2."""
    groups = [
        group("a", "solver", (0.0, 1.0), (3, 5)),
        group("b", "solver", (1.0, 1.0), (9, 9)),
        group("c", "generator", (2.0, 1.0), (8, 0)),
        group("d", "generator", (0.0, 0.0), (7, 7)),
    ]
    batch = build_batch(groups, TrainingConfig())
    (rows,) = batch.minibatches
    assert [(row.role, len(row.response_ids)) for row in rows] == [("solver", 3), ("solver", 5), ("generator", 8)]
    deviation = math.sqrt(0.5) + 1e-6
    assert [row.advantage for row in rows] == pytest.approx([-0.5 / deviation, 0.5 / deviation, 0.5 / deviation])
    # each role's own tokens; the KL over all; w_gen = 0.3
    assert [row.weight for row in rows] == [
        ResponseWeight(1 / 8, 1.0, 1 / 16),
        ResponseWeight(1 / 8, 1.0, 1 / 16),
        ResponseWeight(1 / 8, 0.3, 1 / 16),
    ]
    assert [row.weight.surrogate for row in rows] == pytest.approx([1 / 8, 1 / 8, 0.3 / 8])
    assert rows[0].rollout == Rollout.of((1, 2), (0, 0, 0), (-0.5,) * 3, 0.8)
    assert batch.metrics() == {
        "groups/kept": 2,
        "groups/zero_variance_solver": 1,
        "groups/zero_variance_generator": 1,
    }


def test_minibatches_cut_whole_groups_anew_in_every_epoch() -> None:
    groups = [group(str(number), "solver", (0.0, 1.0), (number + 1, number + 1)) for number in range(5)]
    config = TrainingConfig(epochs=3, minibatches=2)
    batch = build_batch(groups, config, update=4)
    lengths = [[len(row.response_ids) for row in rows] for rows in batch.minibatches]
    assert [len(rows) for rows in lengths] == [6, 4] * 3
    for first, second in zip(lengths[::2], lengths[1::2], strict=True):
        assert sorted(first + second) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
        assert all(rows[::2] == rows[1::2] for rows in (first, second))
    assert len({tuple(rows) for rows in lengths[::2]}) > 1
    # weights belong to the minibatch
    assert batch.minibatches[0][0].weight.mean == 1 / sum(lengths[0])
    assert build_batch(groups, config, update=4) == batch != build_batch(groups, config, update=5)


def test_nothing_with_variance_is_an_empty_batch() -> None:
    batch = build_batch([group("a", "solver", (1.0, 1.0), (2, 2))], TrainingConfig(epochs=2, minibatches=2))
    assert (batch.minibatches, batch.kept, len(batch.groups)) == ((), 0, 1)


def broken(**changes: Any) -> Group:
    whole = group("a", "solver", (0.0, 1.0, 1.0, 0.0), (2, 3, 4, 5))
    rollout = whole.samples[1].rollout
    names = ("prompt_ids", "token_ids", "logprobs", "temperature")
    other = Rollout.of(*(changes.get(name, getattr(rollout, name)) for name in names))
    sample = dataclasses.replace(whole.samples[1], rollout=other)
    return dataclasses.replace(whole, samples=(whole.samples[0], sample, *whole.samples[2:]))


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (broken(logprobs=()), r"sample 1 has 0 log-probabilities for 3 tokens"),
        (broken(prompt_ids=()), "sample 1 has no prompt tokens"),
        (broken(temperature=0.0), "sampled at temperature 0.0"),
        (broken(token_ids=(1,), logprobs=(float("-inf"),)), "not finite"),
        (dataclasses.replace(broken(), rewards=(1.0,)), "1 rewards for 4 samples"),
        (dataclasses.replace(broken(), role="reviewer"), "this role is not trained"),
    ],
)
def test_groups_that_cannot_be_trained_on_are_refused(refused: Group, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        build_batch([refused], TrainingConfig())


def test_a_sample_with_tokens_and_no_rollout_is_refused() -> None:
    whole = broken()
    sample = dataclasses.replace(whole.samples[1], rollout=None)
    with pytest.raises(PolicyError, match="sample 1 has 3 tokens and no rollout; sample with a request that trains"):
        check_group(dataclasses.replace(whole, samples=(whole.samples[0], sample, *whole.samples[2:])))


def test_whole_groups_pass() -> None:
    check_group(broken())
    check_group(broken(token_ids=(), logprobs=()))


@pytest.mark.parametrize(
    "settings", [{"dr_grpo_tokens": 0}, {"generator_weight": -0.1}, {"epochs": 0}, {"minibatches": 0}]
)
def test_settings_without_meaning_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"training.{next(iter(settings))} = "):
        check_objective(TrainingConfig(**settings))
