from __future__ import annotations

import runpy
from pathlib import Path

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


PAPER = (
    "counting number-theory modular sequence subset feasibility minimisation graph path traversal set sampling "
    "partition cycle distance"
).split()


def test_the_paper_s_kinds_of_task_are_tags():
    assert set(PAPER) <= {rule.tag for rule in RULES}


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Given a list of positive integers, count the ways to partition it into primes.",
         {"array", "counting", "number-theory", "partition"}),
        ("Sum the distances of all pairs along the cycle.", {"cycle", "distance", "pair"}),
        ("Choose a subset such that the gcd of consecutive elements is a prime, or say that none exists.",
         {"array", "feasibility", "number-theory", "sequence", "subset"}),
        ("Find the fewest edges on a path that visits the tree in breadth-first order.",
         {"minimisation", "graph", "path", "tree", "traversal"}),
    ],
)  # fmt: skip
def test_prompts_like_those_of_the_paper_s_gallery(prompt, expected):
    assert tags_of(prompt, "") == expected


def test_the_page_of_tags_is_made_from_the_rules():
    docs = Path(__file__).parents[2] / "docs"
    page = runpy.run_path(str(docs / "make_tags.py"))["page"]()
    assert (docs / "tags.md").read_text(encoding="utf-8") == page, "run: python docs/make_tags.py"
