from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from evoenv.environment.seeds import seed_sources
from evoenv.pool.tags import RULES, jaccard, prototypes_of, seed_distance, tags_of
from evoenv.sandbox.host import Sandbox


def test_tags_come_from_the_words_of_the_prompt():
    found = tags_of("Count the primes below {n}, modulo {m}.", "")
    assert found == {"counting", "number-theory", "modular"}


def test_tags_come_from_the_marks_of_the_code():
    source = "import heapq\ndef f(n):\n    return f(n - 1)\ndef bfs(graph): ...\nbfs({})"
    assert tags_of("", source) == {"greedy-queue", "traversal", "recursion"}


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


SEED_TAGS = {
    "Sorting": "set sorting",
    "SlidingWindow": "array minimisation sequence window",
    "MonotonicStack": "arithmetic array counting feasibility stack",
    "Knapsack": "dynamic-programming maximisation subset",
    "SubsetSum": "arithmetic feasibility subset",
    "BoundedIntervalIntersection": "counting interval set subset",
    "Bridge": "graph path",
    "EuclidGame": "decision game",
    "Fibonacci": "modular recurrence sequence",
    "RecursiveFunction": "modular recursion",
}


@pytest.mark.sandbox
def test_the_seeds_carry_the_tags_one_expects_by_what_a_run_really_passes():
    """A run passes the template that the sandbox reports, and the source."""
    found = {}
    with Sandbox() as sandbox:
        for name, source in seed_sources().items():
            with sandbox.open(source) as worker:
                found[name] = tags_of(str(worker.description["template"]), source)
    assert found == {name: frozenset(tags.split()) for name, tags in SEED_TAGS.items()}
    assert len(prototypes_of(found.values())) == 10


def test_the_fields_of_a_template_are_no_words():
    assert tags_of("Give the {count} minima of {list of primes}.", "") == {"minimisation"}


def test_the_name_and_the_first_sentence_of_the_class_are_words_and_later_sentences_are_not():
    source = 'class LongestPath:\n    """Walk a graph. Knob: how many vertices."""'
    assert tags_of("", source) == {"maximisation", "path", "graph"}


def test_what_an_oracle_or_a_sampler_does_is_no_tag():
    source = "def f(x):\n    rng.shuffle(x)\n    return {a & 1 for a in x}, deque(x), x ^ 3"
    assert tags_of("", source) == frozenset()


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


def test_the_distance_to_the_seeds_is_that_to_the_nearest_one():
    seeds = [frozenset({"array", "sorting"}), frozenset({"graph", "counting", "path"})]
    assert seed_distance(frozenset({"graph", "counting"}), seeds) == pytest.approx(
        1 / 3
    )  # 2 of 3 shared with the second
    assert seed_distance(frozenset({"array", "sorting", "tree", "game"}), seeds) == pytest.approx(1 / 2)
    assert seed_distance(frozenset({"game"}), seeds) == 1
    assert seed_distance(seeds[0], seeds) == 0
    assert seed_distance(frozenset({"game"}), []) is None


def test_the_page_of_tags_is_made_from_the_rules():
    docs = Path(__file__).parents[2] / "docs"
    page = runpy.run_path(str(docs / "make_tags.py"))["page"]()
    assert (docs / "tags.md").read_text(encoding="utf-8") == page, "run: python docs/make_tags.py"
