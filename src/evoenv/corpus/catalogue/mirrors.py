"""Families that are mirror images of others: falls of rises, valleys of peaks, the smallest of the largest."""

from __future__ import annotations

from evoenv.corpus.catalogue.list_quantities import quantity
from evoenv.corpus.catalogue.list_steps import step

MIRRORS = (
    quantity(
        "falls",
        "OUT = sum(v > w for v, w in zip(XS, XS[1:]))",
        "Count the places where a number is followed by a smaller one.",
        "How often is the next number less?",
        least=3,
        ordered=True,
        trail="[int(v > w) for v, w in zip(XS, XS[1:])]",
    ),
    quantity(
        "valleys",
        "OUT = sum(u > v < w for u, v, w in zip(XS, XS[1:], XS[2:]))",
        "Count the numbers that are smaller than both of their neighbours.",
        "How many inner numbers are less than the number before and the number after?",
        least=4,
        ordered=True,
        trail="[int(u > v < w) for u, v, w in zip(XS, XS[1:], XS[2:])]",
    ),
    quantity(
        "below-average",
        "OUT = sum(v * len(XS) < sum(XS) for v in XS)",
        "Count the numbers that are less than the average of the list.",
        "How many numbers fall short of the mean?",
        least=3,
        trail="[sum(XS), len(XS)]",
    ),
    quantity(
        "bottom-sum",
        "OUT = sum(sorted(XS)[:K])",
        "Add up the {K} smallest numbers.",
        "Find the least possible sum of {K} of the numbers.",
        params={"K": (2, 3)},
        least=4,
        trail="sorted(XS)[:K]",
    ),
    quantity(
        "second-smallest",
        "OUT = sorted(XS)[1]",
        "Find the second smallest number, where equal numbers count separately.",
        "Sort the list in increasing order and take the second number.",
        least=3,
        trail="sorted(XS)",
    ),
    quantity(
        "low-records",
        "OUT = sum(all(w > v for w in XS[:i]) for i, v in enumerate(XS))",
        "Count the numbers that are smaller than every number before them, the first one included.",
        "How many times is a new minimum reached, reading from the left?",
        least=3,
        ordered=True,
        trail="list(itertools.accumulate(XS, min))",
    ),
    step(
        "running-minimum",
        ("OUT = list(itertools.accumulate(XS, min))", "OUT = [min(XS[:i + 1]) for i in range(len(XS))]"),
        "Replace each number by the smallest number up to and including it.",
        "Form the running minimum of the list.",
        drops=frozenset({"distinct"}),
        ordered=True,
        sorts=True,
    ),
)
