"""Families that ask in one sentence for what others do in two or three: `made_of` names those, in order.

They form grids (which numbers x what of them), and some squares of a grid are held out: what they ask for is never
shown, but each half of it is, beside other halves. Their worked solutions take the steps that they are made of.
With them go the mirror images of other families (`mirrors`), which some held-out families are in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evoenv.corpus.catalogue.list_quantities import quantity
from evoenv.corpus.catalogue.list_steps import POSITIVE, SIGNED
from evoenv.corpus.catalogue.mirrors import MIRRORS
from evoenv.corpus.catalogue.numbers import numbers
from evoenv.corpus.catalogue.structures import on
from evoenv.corpus.catalogue.words import word

_UNSIGNED = frozenset({"unsigned"})

# What is selected: a step, its condition, how it is said, what would make it pointless, its parameter.
_SELECTED: dict[str, tuple[str, str, str, str, dict[str, tuple[int, int]]]] = {
    "even": ("keep-even", "v % 2 == 0", "even numbers", "keep-even keep-odd scale", {}),
    "odd": ("keep-odd", "v % 2 == 1", "odd numbers", "keep-even keep-odd scale", {}),
    "above": ("keep-above", "v > K", "numbers greater than {K}", "keep-above keep-below", {"K": (2, 6)}),
    "below": ("keep-below", "v < K", "numbers less than {K}", "keep-above keep-below", {"K": (5, 9)}),
    "undivided": ("drop-multiples", "v % K", "numbers that {K} does not divide", "drop-multiples scale", {"K": (3, 5)}),
}


def _selected() -> Iterator[Any]:
    for name, (keep, condition, noun, clashes, params) in _SELECTED.items():
        options: dict[str, Any] = {"least": 2, "clashes": frozenset(clashes.split()), "params": params}
        if name != "odd":  # the sum of the odd numbers is held out, and so is the count of the even ones
            yield quantity(
                f"{name}-sum",
                f"OUT = sum(v for v in XS if {condition})",
                f"Add up the {noun}.",
                f"What is the sum of the {noun}?",
                made_of=(keep, "sum"),
                **options,
            )
        if name != "even":
            yield quantity(
                f"{name}-count",
                f"OUT = len([v for v in XS if {condition}])",
                f"How many {noun} are there?",
                f"Count the {noun}.",
                made_of=(keep, "length"),
                **{**options, "least": 3},
            )


# What is made of every number: a step, its expression, how it is said, what it needs, its parameter.
_MADE: dict[str, tuple[str, str, str, frozenset[str], dict[str, tuple[int, int]]]] = {
    "square": ("square", "v * v", "squares of the numbers", frozenset(), {}),
    "digit-sum": ("digit-sums", "sum(map(int, str(v)))", "digit sums of the numbers", POSITIVE, {}),
    "residue": ("residues", "v % K", "remainders of the numbers modulo {K}", _UNSIGNED, {"K": (3, 9)}),
    "half": ("halve", "v // 2", "halves of the numbers, each rounded down", frozenset(), {}),
    "size": ("sizes", "abs(v)", "absolute values of the numbers", SIGNED, {}),
}
_OF_THEM = {
    "sum": ("sum", "Add up the {}.", "What is the sum of the {}?"),
    "largest": ("max", "Find the largest of the {}.", "What is the maximum of the {}?"),
    "smallest": ("min", "Find the smallest of the {}.", "What is the minimum of the {}?"),
}


def _made() -> Iterator[Any]:
    for name, (made, expression, noun, needs, params) in _MADE.items():
        for of, (function, first, second) in _OF_THEM.items():
            if (name, of) in (("square", "sum"), ("half", "largest"), ("half", "smallest")):
                continue  # the sum of the squares is held out; the largest half is that of the largest number
            yield quantity(
                f"{name}-{'total' if of == 'sum' else of}",
                f"OUT = {function}({expression} for v in XS)",
                first.replace("{}", noun),
                second.replace("{}", noun),
                least=2,
                needs=needs,
                params=params,
                grows=name == "square",
                clashes=frozenset({made, "negate", "sizes", "square"}),
                made_of=(made, of),
            )


_NEIGHBOURS = (
    quantity(
        "largest-rise",
        "OUT = max(w - v for v, w in zip(XS, XS[1:]))",
        "Find the largest difference between a number and the one before it.",
        "What is the maximum of the steps from each number to the next?",
        least=3,
        ordered=True,
        adds=SIGNED,
        clashes=frozenset({"sort", "unique"}),
        made_of=("differences", "largest"),
    ),
    quantity(
        "smallest-rise",
        "OUT = min(w - v for v, w in zip(XS, XS[1:]))",
        "Find the smallest difference between a number and the one before it.",
        "What is the minimum of the steps from each number to the next?",
        least=3,
        ordered=True,
        adds=SIGNED,
        clashes=frozenset({"sort", "unique"}),
        made_of=("differences", "smallest"),
    ),
    quantity(
        "largest-neighbours",
        "OUT = max(v + w for v, w in zip(XS, XS[1:]))",
        "Find the largest sum of two neighbouring numbers.",
        "What is the maximum of the sums of neighbours?",
        least=3,
        ordered=True,
        made_of=("neighbour-sums", "largest"),
    ),
    quantity(
        "smallest-neighbours",
        "OUT = min(v + w for v, w in zip(XS, XS[1:]))",
        "Find the smallest sum of two neighbouring numbers.",
        "What is the minimum of the sums of neighbours?",
        least=3,
        ordered=True,
        made_of=("neighbour-sums", "smallest"),
    ),
    quantity(
        "smallest-jump",
        "OUT = min(abs(v - w) for v, w in zip(XS, XS[1:]))",
        "Find the smallest distance between two neighbouring numbers.",
        "What is the least absolute difference of neighbours?",
        least=3,
        ordered=True,
        made_of=("differences", "sizes", "smallest"),
    ),
    quantity(
        "jump-sum",
        "OUT = sum(abs(v - w) for v, w in zip(XS, XS[1:]))",
        "Add up the distances between neighbouring numbers.",
        "What is the sum of the absolute differences of neighbours?",
        least=3,
        ordered=True,
        made_of=("differences", "sizes", "sum"),
    ),
    quantity(
        "largest-window",
        "OUT = max(sum(XS[i:i + K]) for i in range(len(XS) - K + 1))",
        "Find the largest sum of {K} consecutive numbers.",
        "What is the maximum of the sums of {K} numbers in a row?",
        params={"K": (2, 3)},
        least=4,
        ordered=True,
        made_of=("window-sums", "largest"),
    ),
    quantity(
        "smallest-window",
        "OUT = min(sum(XS[i:i + K]) for i in range(len(XS) - K + 1))",
        "Find the smallest sum of {K} consecutive numbers.",
        "What is the minimum of the sums of {K} numbers in a row?",
        params={"K": (2, 3)},
        least=4,
        ordered=True,
        made_of=("window-sums", "smallest"),
    ),
)

_DEGREES = "sum(v in e for e in EDGES)"
_ON_STRUCTURES = (
    on(
        "graph",
        "smallest-degree",
        "graphs",
        f"OUT = min({_DEGREES} for v in range(N))",
        "Find the smallest number of edges that a vertex has.",
        "What is the minimum of the degrees of the vertices?",
        made_of=("degrees", "smallest"),
    ),
    on(
        "graph",
        "even-vertices",
        "graphs",
        f"OUT = sum({_DEGREES} % 2 == 0 for v in range(N))",
        "How many vertices have an even number of edges?",
        "Count the vertices of even degree.",
        made_of=("degrees", "keep-even", "length"),
    ),
    on(
        "connected",
        "farthest",
        "graphs",
        "far = [0] * N\nfor u, v in EDGES:\n    far[v] = far[u] + 1\nOUT = max(far)",
        "Find the largest distance of a vertex from vertex 0.",
        "What is the maximum of the distances of the vertices from vertex 0?",
        made_of=("distances", "largest"),
        spelled_out=True,
    ),
    on(
        "connected",
        "distance-sum",
        "graphs",
        "far = [0] * N\nfor u, v in EDGES:\n    far[v] = far[u] + 1\nOUT = sum(far)",
        "Add up the distances of the vertices from vertex 0.",
        "What is the sum of the distances of the vertices from vertex 0?",
        made_of=("distances", "sum"),
        spelled_out=True,
    ),
    on(
        "tree",
        "height",
        "graphs",
        "depth = [0]\nfor p in PARENTS:\n    depth.append(depth[p] + 1)\nOUT = max(depth)",
        "Find the largest depth of a vertex, with depth 0 for the root.",
        "What is the maximum of the depths of the vertices, where the root has depth 0?",
        made_of=("depths", "largest"),
        spelled_out=True,
    ),
    on(
        "tree",
        "depth-sum",
        "graphs",
        "depth = [0]\nfor p in PARENTS:\n    depth.append(depth[p] + 1)\nOUT = sum(depth)",
        "Add up the depths of the vertices, with depth 0 for the root.",
        "What is the sum of the depths of the vertices, where the root has depth 0?",
        made_of=("depths", "sum"),
        spelled_out=True,
    ),
    on(
        "spans",
        "shortest-span",
        "intervals",
        "OUT = min(r - l for l, r in SPANS)",
        "Find the length of the shortest interval.",
        "What is the minimum of the lengths of the intervals?",
        made_of=("span-lengths", "smallest"),
    ),
    on(
        "spans",
        "span-total",
        "intervals",
        "OUT = sum(r - l for l, r in SPANS)",
        "Add up the lengths of the intervals.",
        "What is the sum of the lengths of the intervals?",
        made_of=("span-lengths", "sum"),
    ),
    on(
        "matrix",
        "smallest-row-sum",
        "matrices",
        "OUT = min(sum(row) for row in ROWS)",
        "Find the smallest sum of a row.",
        "What is the minimum of the sums of the rows?",
        made_of=("row-sums", "smallest"),
    ),
    on(
        "matrix",
        "largest-row-minimum",
        "matrices",
        "OUT = max(min(row) for row in ROWS)",
        "Find the largest minimum of a row.",
        "What is the maximum of the smallest entries of the rows?",
        made_of=("row-minima", "largest"),
    ),
    on(
        "matrix",
        "row-minimum-sum",
        "matrices",
        "OUT = sum(min(row) for row in ROWS)",
        "Add up the smallest entries of the rows.",
        "What is the sum of the minima of the rows?",
        made_of=("row-minima", "sum"),
    ),
    on(
        "matrix",
        "row-maxima",
        "matrices",
        "OUT = [max(row) for row in ROWS]",
        "List the largest entry of each row.",
        "Take the maximum of every row, giving a list.",
        gives="ints",
        adds=POSITIVE,
        least=2,
    ),
    on(
        "matrix",
        "column-minima",
        "matrices",
        "OUT = [min(column) for column in zip(*ROWS)]",
        "List the smallest entry of each column.",
        "Take the minimum of every column, giving a list.",
        gives="ints",
        adds=POSITIVE,
        least=2,
    ),
    on(
        "matrix",
        "column-maxima",
        "matrices",
        "OUT = [max(column) for column in zip(*ROWS)]",
        "List the largest entry of each column.",
        "Take the maximum of every column, giving a list.",
        gives="ints",
        adds=POSITIVE,
        least=2,
    ),
    on(
        "lists",
        "union-spread",
        "sets",
        "OUT = max(set(XS) | set(YS)) - min(set(XS) | set(YS))",
        "By how much does the largest number that is in A or B exceed the smallest?",
        "Find the difference between the largest and the smallest number of the union of A and B.",
        made_of=("merged", "spread"),
    ),
    on(
        "lists",
        "union-even-count",
        "sets",
        "OUT = len({v for v in XS + YS if v % 2 == 0})",
        "How many different even numbers are in A or B?",
        "Count the even elements of the union of A and B.",
        made_of=("merged", "keep-even", "length"),
    ),
    on(
        "lists",
        "union-odd-sum",
        "sets",
        "OUT = sum({v for v in XS + YS if v % 2 == 1})",
        "Add up the odd numbers that are in A or B, each once.",
        "Find the sum of the odd elements of the union of A and B.",
        made_of=("merged", "keep-odd", "sum"),
    ),
    on(
        "lists",
        "left-over-sum",
        "sets",
        "OUT = sum(v for v in XS if v not in YS)",
        "Add up the numbers of A that are not in B.",
        "Find the sum of what remains of A without the numbers of B.",
        made_of=("left-over", "sum"),
    ),
    on(
        "lists",
        "left-over-count",
        "sets",
        "OUT = sum(v not in YS for v in XS)",
        "How many numbers of A are not in B?",
        "Count what remains of A without the numbers of B.",
        made_of=("left-over", "length"),
    ),
    on(
        "lists",
        "losses",
        "sets",
        "OUT = sum(v < w for v in XS for w in YS)",
        "Count the ways to choose one number of A and one of B so that the one of A is smaller.",
        "How many pairs of a number of A and a number of B have the smaller number in A?",
        trail="[sum(v < w for w in YS) for v in XS]",
    ),
)

_THEORY = "number theory"
_DIVISORS = {"N": (6, "20 + 10 * difficulty")}
_FACTORS = {"N": (8, "24 + 12 * difficulty")}
_FACTORISED = (
    "parts, n, v = [], N, 2\nwhile n > 1:\n    if n % v:\n        v += 1\n    else:\n"
    "        parts.append(v)\n        n //= v\n"
)
_DIGITS = {"N": (100, "999 * (difficulty + 1) ** 3")}
_ON_NUMBERS = (
    numbers(
        "odd-divisor-sum",
        _THEORY,
        _DIVISORS,
        "OUT = sum(v for v in range(1, N + 1, 2) if N % v == 0)",
        "Add up the odd positive divisors of {N}.",
        "Find the sum of all odd positive integers that divide {N}.",
        made_of=("divisors", "keep-odd", "sum"),
    ),
    numbers(
        "largest-odd-divisor",
        _THEORY,
        _DIVISORS,
        "OUT = max(v for v in range(1, N + 1, 2) if N % v == 0)",
        "Find the largest odd positive divisor of {N}.",
        "What is the maximum of the odd positive integers that divide {N}?",
        made_of=("divisors", "keep-odd", "largest"),
    ),
    numbers(
        "factor-sum",
        _THEORY,
        _FACTORS,
        _FACTORISED + "OUT = sum(parts)",
        "Add up the prime factors of {N}, repeated ones repeatedly.",
        "Write {N} as a product of primes and find their sum.",
        made_of=("prime-factors", "sum"),
        spelled_out=True,
    ),
    numbers(
        "largest-factor",
        _THEORY,
        _FACTORS,
        _FACTORISED + "OUT = parts[-1]",
        "Find the largest prime factor of {N}.",
        "What is the maximum of the primes that divide {N}?",
        made_of=("prime-factors", "largest"),
    ),
    numbers(
        "digit-total-of",
        _THEORY,
        _DIGITS,
        "OUT = sum(int(c) for c in str(N))",
        "Add up the digits of {N}.",
        "What is the sum of the digits of {N}?",
        made_of=("digits", "sum"),
    ),
    numbers(
        "largest-digit",
        _THEORY,
        _DIGITS,
        "OUT = max(int(c) for c in str(N))",
        "Find the largest digit of {N}.",
        "What is the maximum of the digits of {N}?",
        made_of=("digits", "largest"),
    ),
)

_ON_WORDS = (
    word(
        "runs",
        "OUT = len(list(itertools.groupby(S)))",
        "How many runs of equal letters does the word have?",
        "Count the runs of equal letters, from left to right.",
        ordered=True,
        clashes=frozenset({"squeeze"}),
        made_of=("run-lengths", "length"),
    ),
)

PAIRINGS = (*_selected(), *_made(), *_NEIGHBOURS, *_ON_STRUCTURES, *_ON_NUMBERS, *_ON_WORDS, *MIRRORS)
