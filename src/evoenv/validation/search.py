"""Answers of the reference's own shape, tried on the smallest instances: does one of them beat the reference?

A scorer that verifies answers is a second oracle for nothing. An answer that scores more than the reference, or of
which the scorer itself says that it cannot be ("answer should not exceed gold"), shows that the reference is not the
best. No model and no knowledge of the task is needed; nothing is claimed if nothing is found.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Sequence

from evoenv.records import Finding
from evoenv.sandbox.outcomes import Failed, Ok, Outcome
from evoenv.validation.codes import finding
from evoenv.validation.evidence import Evidence
from evoenv.validation.probes import Planned, Probe, Solved, score

SEARCHED = 6
ANSWERS = 240
"""Tried on each of these instances, at most."""
FEW_PARTS = 6
MOST_WORDS = 4096
"""All words over an answer's symbols are tried if there are no more than this."""
LONGEST = 400
BEATEN = 1.0 + 1e-9

_SEPARATOR = re.compile(r"([\s,;]+)")
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_CANNOT_BE = re.compile(r"gold|reference|optim|better than|best", re.IGNORECASE)
"""What scorers say when they meet an answer that is better than they take for possible."""


def search(evidence: Evidence, solved: Sequence[Solved]) -> list[Probe]:
    """Score answers of the right shape for the easiest instances."""
    short = [solution for solution in solved if len(solution.text) <= LONGEST]
    easiest = sorted(short, key=lambda solution: (solution.instance.difficulty, len(solution.text)))[:SEARCHED]
    plan: list[Planned] = [
        (solution.instance, "searched", text, False, "")
        for solution in easiest
        for text in same_shape(solution.text.strip())
        if text.strip()
    ]
    return score(evidence, plan)


def same_shape(text: str) -> list[str]:
    """List other answers in the shape of one, each once: other choices, orders, parts, numbers or symbols."""
    pieces = _SEPARATOR.split(text)
    parts, separators = pieces[::2], pieces[1::2]
    kinds: list[Iterator[str]]
    if len(parts) > 1:
        kinds = [
            (_written(row, separators) for row in rows)
            for rows in (_choices(parts), _orders(parts), _other_parts(parts), _other_numbers(parts))
        ]
    elif _WHOLE.fullmatch(text) and not set(text) <= {"0", "1"}:
        kinds = [(str(int(text) + step) for step in range(-ANSWERS // 2, ANSWERS // 2))]
    else:
        kinds = [_words(text)]
    turns = itertools.zip_longest(*kinds)  # each kind in turn, so that none takes all the places
    texts = (other for turn in turns for other in turn if other is not None and other != text)
    return list(dict.fromkeys(itertools.islice(texts, ANSWERS)))


def _written(parts: Sequence[str], separators: Sequence[str]) -> str:
    """Put the reference's separators between the parts."""
    between = [*separators, *[separators[0]] * len(parts)][: len(parts) - 1]
    return "".join(itertools.chain.from_iterable(zip(parts, [*between, ""], strict=True)))


def _orders(parts: list[str]) -> Iterator[Sequence[str]]:
    """Yield all orders of a few parts, or some of many."""
    if len(parts) <= FEW_PARTS:
        yield from itertools.permutations(parts)
        return
    rng = random.Random(len(parts))
    for _ in range(ANSWERS):
        first, second = rng.sample(range(len(parts)), 2)
        swapped = list(parts)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        yield swapped


def _other_parts(parts: list[str]) -> Iterator[Sequence[str]]:
    """Yield rows of the same parts with repetition: all of them if they are few."""
    values = sorted(set(parts))
    if len(values) ** len(parts) <= ANSWERS:
        yield from itertools.product(values, repeat=len(parts))
        return
    rng = random.Random(len(parts))
    for _ in range(ANSWERS):
        changed = list(parts)
        changed[rng.randrange(len(parts))] = rng.choice(values)
        yield changed


def _other_numbers(parts: list[str]) -> Iterator[Sequence[str]]:
    """Yield rows of small numbers, if the parts are whole numbers: all of them if they are few."""
    if not all(_WHOLE.fullmatch(part) for part in parts):
        return
    numbers = [int(part) for part in parts]
    low, high = min(0, *numbers), max(numbers) + 1
    if (high - low + 1) ** len(parts) <= ANSWERS:
        yield from (list(map(str, row)) for row in itertools.product(range(low, high + 1), repeat=len(parts)))
        return
    rng = random.Random(len(parts))
    for _ in range(ANSWERS):
        changed = list(numbers)
        for _ in range(rng.choice((1, 1, 2))):
            changed[rng.randrange(len(parts))] = rng.randint(low, high)
        yield list(map(str, changed))


def _choices(parts: list[str]) -> Iterator[Sequence[str]]:
    """Yield fewer, or other, of the things to choose from: of small whole numbers if the parts are such."""
    values = sorted(set(parts))
    if all(_WHOLE.fullmatch(part) for part in parts) and len(values) == len(parts):
        numbers = [int(part) for part in parts]
        low, high = min(numbers), max(numbers)
        if low >= 0 and high < 12:
            values = [str(number) for number in range(min(low, 1), high + 2)]
    sizes = sorted(range(1, len(values) + 1), key=lambda size: abs(size - len(parts)))
    for size in sizes:
        yield from itertools.combinations(values, size)


def _words(text: str) -> Iterator[str]:
    """Yield words of the same length over the same symbols."""
    symbols = sorted(set(text) | ({"0", "1"} if set(text) <= {"0", "1"} else set()))
    if len(symbols) < 2 or len(text) > 64:
        return
    if len(symbols) ** min(len(text), 24) <= MOST_WORDS:
        words = ["".join(word) for word in itertools.product(symbols, repeat=len(text))]
        random.Random(len(text)).shuffle(words)
        yield from words
        return
    rng = random.Random(len(text))
    for _ in range(ANSWERS):
        index = rng.randrange(len(text))
        yield text[:index] + rng.choice(symbols) + text[index + 1 :]


def check_beaten(probes: Sequence[Probe]) -> list[Finding]:
    """Report an answer that is better than the reference, by the scorer's own words or, if searched for, its score."""
    for probe in probes:
        if says_beaten(probe.outcome):
            assert isinstance(probe.outcome, Failed)
            seen = f"{probe.describe()} is better than the scorer takes for possible: {probe.outcome.message}"
            return [finding("L5.reference-beaten", seen, probe.replay)]
        value = _returned(probe.outcome)
        if probe.kind == "searched" and value > BEATEN:
            seen = f"{probe.describe()} scores {value:g}, the reference 1"
            return [finding("L5.reference-beaten", seen, probe.replay)]
    return []


def says_beaten(outcome: Outcome) -> bool:
    """Return whether the scorer gave up on an answer because it was better than the reference."""
    if isinstance(outcome, Ok) or outcome.error != "AssertionError":
        return False
    return _CANNOT_BE.search(outcome.message) is not None


def _returned(outcome: Outcome) -> float:
    """Return what the scorer returned, also if it was refused for being too large; 0 if it returned nothing."""
    if isinstance(outcome, Ok):
        return float(outcome.value)
    return outcome.value or 0.0
