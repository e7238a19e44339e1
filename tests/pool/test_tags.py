from __future__ import annotations

import pytest

from evoenv.environment.seeds import seed_sources
from evoenv.pool.tags import RULES, jaccard, prototypes_of, tags_of


def test_tags_come_from_the_words_of_the_prompt():
    found = tags_of("Count the primes below {n}, modulo {m}.", "")
    assert found == {"counting", "number-theory", "modular"}


def test_tags_come_from_the_marks_of_the_code():
    source = "import heapq\nfrom collections import deque\ndef f(n):\n    return f(n - 1) ^ 3\nq = deque({1, 2})"
    assert tags_of("", source) == {"greedy-queue", "traversal", "recursion", "bitwise", "set"}


def test_a_method_that_calls_itself_is_recursive():
    assert "recursion" in tags_of("", "class A:\n    def g(self, n):\n        return self.g(n - 1)")
    assert "recursion" not in tags_of("", "class A:\n    def g(self, n):\n        return self.h(n - 1)")


def test_words_match_from_their_start_only():
    assert "tree" not in tags_of("Walk the street.", "")
    assert "sorting" in tags_of("Sorted in ascending order", "")


@pytest.mark.parametrize("source", ["class", "\x00", "(" * 1000])
def test_code_that_does_not_parse_is_judged_by_its_prompt(source):
    assert tags_of("Find the shortest path in the graph.", source) == {"minimisation", "path", "graph"}


def test_rules_are_in_order_and_name_each_tag_once():
    names = [rule.tag for rule in RULES]
    assert names == sorted(set(names))
    assert all(rule.words or rule.marks for rule in RULES)


def test_jaccard_similarity():
    assert jaccard(frozenset("abc"), frozenset("bcd")) == 2 / 4
    assert jaccard(frozenset(), frozenset()) == 1.0
    assert jaccard(frozenset("a"), frozenset()) == 0.0


def test_a_prototype_is_registered_below_one_half_only():
    stream = [frozenset("abc"), frozenset("bcd"), frozenset("cde"), frozenset("xyz"), frozenset("ab"), frozenset()]
    # abc; bcd: 2/4 = .5 is not below; cde: 1/5 is; xyz: 0; ab: 2/3 to abc; empty: 0 to all
    assert prototypes_of(stream) == [frozenset("abc"), frozenset("cde"), frozenset("xyz"), frozenset()]


def test_the_seeds_are_of_several_kinds_and_carry_the_tags_one_expects():
    tags = {name: tags_of(source, source) for name, source in seed_sources().items()}
    assert "sorting" in tags["Sorting"]
    assert "graph" in tags["Bridge"]
    assert "game" in tags["EuclidGame"]
    assert "subset" in tags["SubsetSum"]
    assert "interval" in tags["BoundedIntervalIntersection"]
    assert "modular" in tags["Fibonacci"]
    assert len(prototypes_of(tags.values())) >= 5
