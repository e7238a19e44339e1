"""How repetitive a batch of questions is, as R-Zero measures it: clusters by BLEU distance. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

ORDERS = 4
SMOOTHING = 0.1
"""Chen and Cherry's method 1: this many matches for an order that has none."""


def sentence_bleu(reference: Sequence[str], hypothesis: Sequence[str]) -> float:
    """Compute BLEU-4 of one hypothesis against one reference, smoothed; 0 if no word is shared."""
    return _bleu(_ngrams(reference), _ngrams(hypothesis))


NGrams: TypeAlias = list[Counter[tuple[str, ...]]]
"""Counts of the word n-grams of a text, from single words up."""


def _ngrams(words: Sequence[str]) -> NGrams:
    return [
        Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1)) for order in range(1, ORDERS + 1)
    ]


def _bleu(reference: NGrams, hypothesis: NGrams) -> float:
    logs = 0.0
    for order, (meant, said) in enumerate(zip(reference, hypothesis, strict=True)):
        matches = float(sum(min(count, meant[gram]) for gram, count in said.items()))
        if order == 0 and not matches:
            return 0.0
        logs += math.log((matches or SMOOTHING) / max(1, said.total()))
    brevity = min(0.0, 1.0 - reference[0].total() / hypothesis[0].total())
    return math.exp(brevity + logs / ORDERS)


def cluster_sizes(questions: Sequence[str], threshold: float) -> list[int]:
    """Return, for each question, how many are in its cluster.

    Agglomerative clustering with average linkage over 1 − BLEU: the two nearest clusters are merged for as long as
    they are nearer than `threshold`.
    """
    counted = [_ngrams(question.split()) for question in questions]
    count = len(counted)
    # Sums over the pairs of two clusters: the mean is the linkage, and merging adds rows.
    sums = [[0.0] * count for _ in range(count)]
    for i in range(count):
        for j in range(i + 1, count):
            sums[i][j] = sums[j][i] = 1.0 - _bleu(counted[j], counted[i])
    members: dict[int, list[int]] = {index: [index] for index in range(count)}
    while len(members) > 1:
        clusters = list(members)
        nearest, a, b = min(
            (sums[i][j] / (len(members[i]) * len(members[j])), i, j)
            for position, i in enumerate(clusters)
            for j in clusters[position + 1 :]
        )
        if nearest >= threshold:
            break
        members[a] += members.pop(b)
        for other in members:
            if other != a:
                sums[a][other] += sums[b][other]
                sums[other][a] = sums[a][other]
    sizes = [0] * count
    for cluster in members.values():
        for index in cluster:
            sizes[index] = len(cluster)
    return sizes
