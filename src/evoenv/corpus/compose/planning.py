"""Which parts go together: a chain of computations that is sound, not pointless, and easy at low levels."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from evoenv.corpus.catalogue.domains import DOMAINS, KNOBS
from evoenv.corpus.catalogue.families import COMPUTATIONS, Split, may_appear
from evoenv.corpus.catalogue.list_quantities import QUANTITIES
from evoenv.corpus.catalogue.list_steps import STEPS
from evoenv.corpus.catalogue.numbers import TOUCHES
from evoenv.corpus.catalogue.parts import Computation, Sampler, slots_of
from evoenv.corpus.catalogue.words import WORD_QUANTITIES, WORD_STEPS

TRIES = 2000
TIGHT = ("9", "5 + difficulty")
"""Ranges in which numbers often meet a given sum."""
KEEPS_DIVISORS = frozenset("scale negate prefix-sums differences neighbour-sums window-sums mirror-sums".split())
"""Steps after which multiples of one number still are."""
TRIVIAL_IF_SORTED = frozenset(
    "inversions rises records longest-rise longest-increasing next-greater peaks peak-position largest smallest "
    "running-maximum smaller-after ranks best-stretch".split()
)
TOUCHED = 0.3
"""Share of numeric results that get a last touch."""


@dataclass(frozen=True)
class ProgramPlan:
    """What a program computes, before names and words are chosen."""

    sampler: Sampler | None
    """None if the computation draws its own scalars."""
    knobs: dict[str, str]
    chain: tuple[Computation, ...]


def plan(rng: random.Random, family: str, split: Split) -> ProgramPlan:
    """Plan a sound chain around a family."""
    heart = COMPUTATIONS[family]
    for _ in range(TRIES):
        chain = _chain(rng, heart, split)
        sampler = rng.choice(DOMAINS[chain[0].takes].samplers) if chain[0].takes in DOMAINS else None
        knobs = _knobs(rng, sampler) if sampler else {}
        if is_sound(sampler, knobs, chain):
            return ProgramPlan(sampler, knobs, chain)
    raise AssertionError(f"no sound program for the family {family!r} in {TRIES} tries; its needs exclude each other")


def _knobs(rng: random.Random, sampler: Sampler) -> dict[str, str]:
    slots = [slot for slot in slots_of(sampler.code) if slot in KNOBS or slot in sampler.knobs]
    return {slot: rng.choice(sampler.knobs.get(slot) or KNOBS[slot]) for slot in slots}


def _chain(rng: random.Random, heart: Computation, split: Split) -> tuple[Computation, ...]:
    def pick(parts: Sequence[Computation], gives: str) -> Computation:
        return rng.choice([p for p in parts if p.gives == gives and may_appear(p.name, split)])

    before: list[Computation] = []
    after: list[Computation] = []
    if heart.check is None:
        if heart.takes == "ints":
            before = [pick(STEPS, "ints") for _ in range(rng.choice((0, 1, 1, 2)))]
        elif heart.takes == "word":
            before = [pick(WORD_STEPS, "word") for _ in range(rng.choice((0, 0, 1)))]
        gives = heart.gives
        if gives == "word" and rng.random() < 0.5:
            step_split: Split = "train" if split == "all" else split  # as ever: held-out ones are hearts only
            after.append(
                rng.choice([p for p in WORD_QUANTITIES if p.takes == "word" and may_appear(p.name, step_split)])
            )
            gives = after[-1].gives
        if gives == "ints" and ("inner" in heart.needs or rng.random() < 0.6):
            after += [pick(STEPS, "ints") for _ in range(rng.choice((0, 0, 1)) if not before else 0)]
            after.append(pick(QUANTITIES, "int"))
            gives = "int"
        if gives == "int" and rng.random() < TOUCHED:
            after.append(rng.choice(TOUCHES))
    return (*before, heart, *after)


def is_sound(sampler: Sampler | None, knobs: dict[str, str], chain: Sequence[Computation]) -> bool:
    """Walk the chain: every part gets what it needs, and none is undone or made trivial by another."""
    names = [part.name for part in chain]
    if len(set(names)) < len(names) or any(part.clashes & set(names) for part in chain):
        return False
    if any(part.sorts for part in chain[:-1]) and TRIVIAL_IF_SORTED & set(names):
        return False
    if sum(part.grows for part in chain) > 1 or sum(not part.last for part in chain) > 3:
        return False
    if sum(not part.last for part in chain) < 2 and not chain[0].alone:
        return False
    facts = set(sampler.facts) if sampler else set()
    length = _least_size(knobs.get("SIZE", "1"))
    filtered = False
    for i, part in enumerate(chain):
        rest = chain[i + 1 :]
        known = facts | ({"filtered"} if filtered else set()) | ({"inner"} if rest else {"final"})
        known |= {"repeats"} if "distinct" not in facts else set()
        known |= {"unsigned"} if "signed" not in facts else set()
        known |= {"first"} if not i else set()
        known |= {"tight"} if knobs.get("TOP") in TIGHT and "scaled" not in facts else set()
        known |= {"big"} if any(other.grows for other in chain[:i]) else {"small"}
        known -= {"scaled"} if set(names[:i]) - KEEPS_DIVISORS else set()
        if not part.needs <= known:
            return False
        if part.takes == "ints" and part.least > (0 if filtered else length):
            return False
        if part.permutes and rest and not any(other.ordered for other in rest):
            return False
        filtered |= part.filters
        length = length - part.loses if part.takes == "ints" else part.least
        facts = (facts if part.takes == "ints" or part.gives == "int" else set()) - part.drops | part.adds
    return not (filtered and chain[-1].gives == "ints")


def _least_size(expression: str) -> int:
    """Return the size at level 0: the constant that a size starts with."""
    match = re.match(r"\d+", expression)
    return int(match.group()) if match else 1
