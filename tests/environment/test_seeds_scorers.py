"""How each seed's scorer grades answers other than the reference: one property for each, over any instance."""

import functools
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evoenv.environment.base import VerifiableEnvironment
from evoenv.environment.seeds import seed_source


@functools.cache
def load(name: str) -> Any:
    scope: dict[str, Any] = {"VerifiableEnvironment": VerifiableEnvironment}
    exec(compile(seed_source(name), f"{name}.py", "exec"), scope)
    return scope[name]()


def instance_of(name: str, max_level: int = 12) -> st.SearchStrategy[tuple[Any, Any]]:
    """(latent instance, reference) for any seed and level."""
    return st.builds(load(name)._generate, st.integers(0, 2**63 - 1), st.integers(0, max_level))


def joined(items: Any, separator: str = " ") -> str:
    return separator.join(map(str, items))


separators = st.sampled_from([" ", ", ", ",", "\n", "  "])


@given(instance=instance_of("Sorting", 4), separator=separators, data=st.data())
def test_sorting_pays_the_share_of_right_positions(instance: Any, separator: str, data: st.DataObject) -> None:
    z, a = instance
    order = data.draw(st.permutations(a) | st.just(z))
    score = load("Sorting").scorer(joined(order, separator), z, a)
    assert score == sum(order[i] == a[i] for i in range(len(a))) / len(a)
    assert (score == 1.0) == (order == a)
    assert load("Sorting").scorer(joined(order[1:]), z, a) == 0.0
    assert load("Sorting").scorer(joined([*order, a[-1]]), z, a) == 0.0


@given(instance=instance_of("SlidingWindow"), separator=separators, data=st.data())
def test_sliding_window_pays_the_share_of_right_windows(instance: Any, separator: str, data: st.DataObject) -> None:
    z, a = instance
    wrong = data.draw(st.sets(st.integers(0, len(a) - 1)))
    answer = [value + 1 if i in wrong else value for i, value in enumerate(a)]
    score = load("SlidingWindow").scorer(joined(answer, separator), z, a)
    assert score == (len(a) - len(wrong)) / len(a)
    assert load("SlidingWindow").scorer(joined(answer[:-1]), z, a) == 0.0
    assert load("SlidingWindow").scorer(joined([*answer, *a]), z, a) == 0.0


@pytest.mark.parametrize("name", ["MonotonicStack", "Fibonacci", "RecursiveFunction"])
@given(data=st.data(), other=st.integers(0, 10**20) | st.integers(0, 40))
def test_exact_seeds_accept_the_reference_only(name: str, data: st.DataObject, other: int) -> None:
    z, a = data.draw(instance_of(name))
    assert load(name).scorer(str(other), z, a) == float(other == a)
    for near in (f"{a} {a}", f"{a}.0", f"-{a + 1}", f"{a} or {other}", str(a + 1), f"{a}{a + 1}", f"= {a}"):
        assert load(name).scorer(near, z, a) == 0.0


@given(instance=instance_of("Knapsack"), data=st.data())
def test_knapsack_pays_value_over_best_value_of_a_feasible_choice(instance: Any, data: st.DataObject) -> None:
    z, a = instance
    n = len(z["weights"])
    chosen = data.draw(st.lists(st.integers(0, n), min_size=1, max_size=n + 1) | st.permutations(a).map(list))
    score = load("Knapsack").scorer(joined(chosen), z, a)
    legal = len(set(chosen)) == len(chosen) and n not in chosen
    if legal and sum(z["weights"][i] for i in chosen) <= z["capacity"]:
        assert score == sum(z["values"][i] for i in chosen) / sum(z["values"][i] for i in a) > 0
    else:
        assert score == 0.0
    assert load("Knapsack").scorer(joined(a[::-1], ", "), z, a) == 1.0
    assert load("Knapsack").scorer(joined([*a, a[0]]), z, a) == 0.0
    assert load("Knapsack").scorer(joined(range(n)), z, a) == 0.0


@given(instance=instance_of("SubsetSum"), data=st.data())
def test_subset_sum_pays_for_exact_sums_of_distinct_positions(instance: Any, data: st.DataObject) -> None:
    z, a = instance
    n = len(z["numbers"])
    chosen = data.draw(st.lists(st.integers(0, n), min_size=1, max_size=n) | st.permutations(a).map(list))
    score = load("SubsetSum").scorer(joined(chosen), z, a)
    legal = len(set(chosen)) == len(chosen) and n not in chosen
    assert score == float(legal and sum(z["numbers"][i] for i in chosen) == z["target"])
    for other in ([*a, a[0]], a[1:], [*a, n], range(n)):
        assert load("SubsetSum").scorer(joined(other), z, a) == 0.0


@given(instance=instance_of("BoundedIntervalIntersection"), other=st.integers(0, 10**18) | st.integers(0, 5000))
def test_interval_count_pays_one_for_the_truth_and_at_most_half_otherwise(instance: Any, other: int) -> None:
    z, a = instance
    assume(other != a)
    score = functools.partial(load("BoundedIntervalIntersection").scorer, z=z, a=a)
    assert score(str(a)) == 1.0
    assert score("0") == 0.0
    assert 0.0 <= score(str(other)) <= 0.5
    farther = other + 1 if other > a else max(other - 1, 0)
    assert score(str(farther)) <= score(str(other))
    assert score(str(2 * a)) == 0.5 / 16


def test_interval_count_never_rounds_a_near_miss_up() -> None:
    truth = 2**200
    assert load("BoundedIntervalIntersection").scorer(str(truth + 1), {}, truth) == 0.5
    assert load("BoundedIntervalIntersection").scorer(str(truth), {}, truth) == 1.0


@given(instance=instance_of("Bridge"), data=st.data())
def test_bridge_pays_bridges_found_less_false_alarms(instance: Any, data: st.DataObject) -> None:
    z, a = instance
    edges = [f"{u}-{v}" for u, v in z["edges"]]
    named = data.draw(st.lists(st.sampled_from(edges), min_size=1, unique=True) | st.permutations(a).map(list))
    score = load("Bridge").scorer(joined(named), z, a)
    right = len(set(named) & set(a))
    assert score == pytest.approx(max(0, right - (len(named) - right)) / len(a))
    assert (score == 1.0) == (set(named) == set(a))
    turned = ["-".join(reversed(edge.split("-"))) for edge in named]
    assert load("Bridge").scorer(joined(turned, ", "), z, a) == score


@given(instance=instance_of("Bridge"))
def test_bridge_pays_nothing_for_floods_repeats_and_strangers(instance: Any) -> None:
    z, a = instance
    stranger = f"{z['n']}-{z['n'] + 1}"
    for answer in ([f"{u}-{v}" for u, v in z["edges"]], [*a, a[0]], [*a, stranger], [*a, "0-0"]):
        assert load("Bridge").scorer(joined(answer), z, a) == 0.0


@given(instance=instance_of("EuclidGame"), style=st.sampled_from([str, str.lower, str.upper, "  {}\n".format]))
def test_euclid_game_pays_for_the_winners_name_alone(instance: Any, style: Any) -> None:
    z, a = instance
    loser = {"Alice": "Bob", "Bob": "Alice"}[a]
    assert load("EuclidGame").scorer(style(a), z, a) == 1.0
    for answer in (style(loser), f"{a} {loser}", f"{a} wins", a * 2, a[:-1], f"not {loser}"):
        assert load("EuclidGame").scorer(answer, z, a) == 0.0


@pytest.mark.parametrize("level", range(13))
def test_euclid_game_has_two_equally_likely_winners(level: int) -> None:
    winners = [load("EuclidGame")._generate(seed, level)[1] for seed in range(1000)]
    assert 430 <= winners.count("Alice") <= 570
