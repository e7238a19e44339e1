"""Each seed's reference against a second solution, by brute force, of what its *prompt* asks for.

The instance is read back from the prompt text, never from the latent instance: a prompt that leaves something
out, or says something else than the oracle computes, fails here.
"""

import functools
import itertools
import re
from collections.abc import Iterator
from typing import Any

from evoenv.environment.base import VerifiableEnvironment
from evoenv.environment.seeds import seed_source
from evoenv.records import derive_seed


@functools.cache
def load(name: str) -> Any:
    scope: dict[str, Any] = {"VerifiableEnvironment": VerifiableEnvironment}
    exec(compile(seed_source(name), f"{name}.py", "exec"), scope)
    return scope[name]()


def instances(name: str, levels: range, count: int) -> Iterator[tuple[str, Any, Any]]:
    """(prompt, latent instance, reference) over many seeds; the latent instance serves only to call the scorer."""
    environment = load(name)
    for level, index in itertools.product(levels, range(count)):
        z, a = environment._generate(derive_seed("oracle", name, index), level)
        yield environment._prompt_generate(z), z, a


def integers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", text)]


def number_after(prompt: str, words: str) -> int:
    (number,) = re.findall(re.escape(words) + r" ([0-9]+)", prompt)
    return int(number)


def subsets(n: int) -> Iterator[tuple[int, ...]]:
    """Return the non-empty subsets of range(n)."""
    return itertools.chain.from_iterable(itertools.combinations(range(n), size) for size in range(1, n + 1))


def text(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))


def test_sorting_agrees_with_repeated_removal_of_the_smallest() -> None:
    for prompt, _, reference in instances("Sorting", range(7), 60):
        _, line, _ = prompt.split("\n\n")
        rest = integers(line)
        assert prompt.count(f"{len(rest)} integers") == 2
        assert rest != sorted(rest), "an instance that is sorted already is no task"
        ascending = []
        while rest:
            ascending.append(min(rest))
            rest.remove(min(rest))
        assert reference == ascending


def test_sliding_window_agrees_with_the_minimum_of_each_slice() -> None:
    for prompt, _, reference in instances("SlidingWindow", range(9), 60):
        _, line, question = prompt.split("\n\n")
        array, k = integers(line), number_after(prompt, "A window of")
        assert number_after(prompt, "array of") == len(array)
        assert reference == [min(array[i : i + k]) for i in range(len(array) - k + 1)]
        assert integers(question) == [len(reference)] * 2


def test_monotonic_stack_agrees_with_the_definition() -> None:
    for prompt, _, reference in instances("MonotonicStack", range(6), 60):
        array = integers(prompt.split("\n\n")[1])
        pairs = itertools.combinations(range(len(array)), 2)
        assert reference == sum(array[i] > max(array[i + 1 : j + 1]) for i, j in pairs)


def test_knapsack_scores_every_choice_as_enumeration_does() -> None:
    for prompt, z, reference in instances("Knapsack", range(5), 12):
        items = re.findall(r"item ([0-9]+): weight ([0-9]+), value ([0-9]+)", prompt)
        assert [int(number) for number, _, _ in items] == list(range(len(items)))
        capacity = number_after(prompt, "total weight is at most")
        value = {}
        for chosen in subsets(len(items)):
            weight = sum(int(items[i][1]) for i in chosen)
            value[chosen] = sum(int(items[i][2]) for i in chosen) if weight <= capacity else 0
        best = max(value.values())
        assert value[tuple(reference)] == best
        for chosen, worth in value.items():
            assert load("Knapsack").scorer(text(chosen), z, reference) == worth / best


def test_subset_sum_accepts_just_the_choices_that_add_up() -> None:
    for prompt, z, reference in instances("SubsetSum", range(4), 15):
        numbers = [int(number) for number in re.findall(r"position [0-9]+: ([0-9]+)", prompt)]
        target = number_after(prompt, "add up to exactly")
        accepted = [c for c in subsets(len(numbers)) if load("SubsetSum").scorer(text(c), z, reference) == 1.0]
        assert accepted == [c for c in subsets(len(numbers)) if sum(numbers[i] for i in c) == target]
        assert tuple(reference) in accepted


def test_interval_count_agrees_with_enumeration() -> None:
    for prompt, _, reference in instances("BoundedIntervalIntersection", range(5), 30):
        intervals = [tuple(map(int, ends)) for ends in re.findall(r"^\[([0-9]+), ([0-9]+)\]$", prompt, re.MULTILINE)]
        assert number_after(prompt, "Here are") == len(intervals)
        k = number_after(prompt, "length at least")
        shared = (
            min(intervals[i][1] for i in chosen) - max(intervals[i][0] for i in chosen)
            for chosen in subsets(len(intervals))
        )
        assert reference == sum(length >= k for length in shared)


def component_count(n: int, edges: list[tuple[int, int]]) -> int:
    group = list(range(n))
    for u, v in edges:
        group = [group[v] if label == group[u] else label for label in group]
    return len(set(group))


def test_bridges_are_the_edges_whose_removal_adds_a_component() -> None:
    for prompt, _, reference in instances("Bridge", range(9), 12):
        edges = [(int(u), int(v)) for u, v in re.findall(r"\(([0-9]+), ([0-9]+)\)", prompt)]
        n = number_after(prompt, "graph has")
        assert number_after(prompt, "these") == len(edges) == len(set(edges))
        assert all(0 <= u < v < n for u, v in edges)
        whole = component_count(n, edges)
        cut = [edge for edge in edges if component_count(n, [other for other in edges if other != edge]) > whole]
        assert reference == [f"{u}-{v}" for u, v in sorted(cut)]
        assert 1 <= len(cut) <= len(edges) / 2


@functools.cache
def mover_wins(x: int, y: int) -> bool:
    """Search of the whole game tree: some move makes a zero, or leaves the other player lost."""
    small, large = sorted((x, y))
    return any(
        large == multiple or not mover_wins(small, large - multiple) for multiple in range(small, large + 1, small)
    )


def test_euclid_game_agrees_with_search_of_the_game_tree() -> None:
    for prompt, _, reference in instances("EuclidGame", range(3), 150):
        x, y = integers(prompt)
        assert reference == ("Alice" if mover_wins(x, y) else "Bob")


def test_fibonacci_agrees_with_exact_integers() -> None:
    for prompt, _, reference in instances("Fibonacci", range(10), 60):
        rule = re.search(r"A\[n\] = ([0-9]+) \* A\[n-1\] \+ ([0-9]+) \* A\[n-2\]\.", prompt)
        question = re.search(r"from 0 to ([0-9]+), that A\[([0-9]+)\] leaves when divided by ([0-9]+)\.", prompt)
        assert rule
        assert question
        p, q = map(int, rule.groups())
        last, n, m = map(int, question.groups())
        assert last == m - 1
        terms = [number_after(prompt, "A[0] ="), number_after(prompt, "A[1] =")]
        while len(terms) <= n:
            terms.append(p * terms[-1] + q * terms[-2])
        assert reference == terms[n] % m


def test_recursive_function_agrees_with_its_three_rules() -> None:
    for prompt, _, reference in instances("RecursiveFunction", range(13), 40):
        first, second, third = re.findall(r"^[123]\. f\(.*$", prompt, re.MULTILINE)
        a, b, q = integers(re.sub(r"^1\. f\(0, n\)|for every.*", "", first))
        (c,) = re.findall(r"f\(m - 1, ([0-9]+)\)", second)
        assert third == f"3. f(m, n) = (f(m - 1, f(m, n - 1)) + n) mod {q} for all m >= 1 and n >= 1"

        @functools.cache
        def f(m: int, n: int, a: int = a, b: int = b, c: int = int(c), q: int = q) -> int:
            if m == 0:
                return (a * n + b) % q
            return f(m - 1, c) if n == 0 else (f(m - 1, f(m, n - 1)) + n) % q

        m, n = integers(prompt.split("Compute")[1])
        assert reference == f(m, n)
