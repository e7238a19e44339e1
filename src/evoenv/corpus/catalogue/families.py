"""All parts by name, the families, and which families are held out."""

from __future__ import annotations

from typing import Literal

from evoenv.corpus.catalogue.list_quantities import QUANTITIES
from evoenv.corpus.catalogue.list_steps import STEPS
from evoenv.corpus.catalogue.numbers import SCALARS, TOUCHES
from evoenv.corpus.catalogue.pairings import PAIRINGS
from evoenv.corpus.catalogue.parts import Computation
from evoenv.corpus.catalogue.searches import SEARCHES
from evoenv.corpus.catalogue.structures import STRUCTURES
from evoenv.corpus.catalogue.words import WORD_QUANTITIES, WORD_STEPS

Split = Literal["train", "basic", "paired", "held-out", "near", "all"]
"""`basic` is the part of `train` that a model of a few million weights can learn in an hour, `near` that of `held-out`
which asks for what train families teach in other words. `paired` is `basic` with the families of one sentence that do
two things; they are no part of `train`, whose programs thus stay what a seed has always given, and never held out."""

COMPUTATIONS: dict[str, Computation] = {
    part.name: part
    for group in (STEPS, QUANTITIES, WORD_STEPS, WORD_QUANTITIES, SCALARS, STRUCTURES, SEARCHES, TOUCHES, PAIRINGS)
    for part in group
}

PLAIN_STEPS: frozenset[str] = frozenset(
    "scale shift lower square residues halve negate sizes digit-sums keep-even keep-odd keep-above keep-below "
    "drop-multiples cap reverse sort sort-down rotate unique every-other".split()
)
"""Steps that prepare a list but are no family of their own."""

FAMILIES: tuple[str, ...] = tuple(
    name for name, part in COMPUTATIONS.items() if not part.last and name not in PLAIN_STEPS
)
"""What a program is chiefly about; each names the computation at its heart."""

NEAR: frozenset[str] = frozenset(
    """
    odd-sum even-count square-sum other-letters from-the-end divisor-sum
    largest-degree longest-span largest-row-sum union-sum
    """.split()
)
"""Held-out families that ask in one sentence for what train families teach in two, or for its mirror image."""

HELD_OUT: frozenset[str] = NEAR | frozenset(
    """
    second-largest peaks biggest-jump records next-greater mirror-sums
    longest-letter-run common-subsequence swap-pairs letter-counts
    totient lcm bit-count two-remainders half-or-more sum-of-three
    apart-sum stairs fewest-coins components subtree-sizes
    covered-length meeting-pairs column-sums wins lost-heaps any-two-squares best-apart
    """.split()
)
"""Families that no warm start and no train split ever shows, in any role; about a quarter, from every area."""


BASIC: frozenset[str] = frozenset(
    """
    sum largest smallest length spread middle alternating-sum weighted-sum rises different above-average top-sum
    inversions even-pairs prefix-sums differences neighbour-sums running-maximum ranks
    backwards alphabetical squeeze mirrored letters-doubled vowels different-letters equal-letter-pairs
    mismatches bracket-depth
    gcd divisor-count multiples-of-either binary power-modulo affine-modulo
    sum-of-two grid-paths subset-sums take-away any-divisor
    degrees leaves tree-leaves containing span-lengths most-overlap
    row-sums row-minima common-count union-size merged dot-product
    """.split()
)
"""Train families with short programs and short answers, from every area."""
BASIC_STEPS: frozenset[str] = frozenset(
    "scale shift square negate keep-even keep-odd keep-above reverse sort unique".split()
)

PAIRED: frozenset[str] = frozenset(part.name for part in PAIRINGS)


def families(split: Split) -> tuple[str, ...]:
    """Return the families of a split, in catalogue order."""
    if split == "all":
        return FAMILIES
    chosen = {
        "train": frozenset(FAMILIES) - HELD_OUT - PAIRED,
        "basic": BASIC,
        "paired": BASIC | PAIRED,
        "held-out": HELD_OUT,
        "near": NEAR,
    }[split]
    return tuple(name for name in FAMILIES if name in chosen)


def may_appear(name: str, split: Split) -> bool:
    """Return whether a computation may stand beside a family of this split, before or after it."""
    if split in ("basic", "paired"):
        return name in BASIC or name in BASIC_STEPS
    return split == "all" or name not in HELD_OUT
