"""A full answer for environments that store only the answer's value.

Some RLVE-Gym environments keep the best objective (`gold_answer`) but no solution that reaches it. Nothing
can be said about a scorer that was never seen to give 1, so small instances are solved by brute force:
subsets, permutations, and short strings, written plainly. An environment where none is found is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from evoenv.records import Finding
from evoenv.sandbox.outcomes import Ok
from evoenv.validation.codes import finding
from evoenv.validation.evidence import Drawn, Evidence
from evoenv.validation.probes import FULL, Solved, solve
from evoenv.validation.texts import plain_text

BATCH = 2000
WANTED = 6
MOST_TRIES = 24_000


def find_witnesses(evidence: Evidence, chosen: Sequence[Drawn]) -> tuple[list[Solved], list[Finding]]:
    """Solved instances, by the gold value itself where it is the answer, else by search on the easiest."""
    solved, unsolved, broken = solve(evidence, chosen)
    if not unsolved and not broken:
        return solved, []
    found: list[Solved] = []
    easiest = sorted(evidence.drawn, key=lambda instance: (instance.difficulty, len(instance.prompt)))
    tried_in_vain = 0
    for instance in easiest:
        text = _search(evidence, instance)
        if text is not None:
            found.append(Solved(instance, text, plain_text, text))
            if len(found) >= WANTED:
                break
        else:
            tried_in_vain += 1
            if tried_in_vain >= 4 and not found:
                break
            if tried_in_vain >= 10:
                break
    if len(found) >= 2:
        return found, []
    seen = "the environment stores the value of the best answer but no answer"
    return [], [finding("L5.no-reference", f"{seen}, and no small instance could be solved by search")]


def _search(evidence: Evidence, instance: Drawn) -> str | None:
    guesses = _guesses()
    for _ in range(MOST_TRIES // BATCH):
        batch = list(itertools.islice(guesses, BATCH))
        if not batch:
            return None
        outcomes = evidence.worker.call("score", [[*instance.key, text] for text in batch], stop_on_death=False)
        for text, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Ok) and outcome.value >= FULL:
                return text
    return None


def _guesses() -> Iterator[str]:
    """Short answers in the usual shapes, each once."""
    seen: set[str] = set()
    for text in _shapes():
        if text not in seen:
            seen.add(text)
            yield text


def _shapes() -> Iterator[str]:
    yield from (str(n) for n in range(-5, 60))
    for base in (0, 1):
        for size in range(1, 7):
            for order in itertools.permutations(range(base, base + size)):
                yield " ".join(map(str, order))
        for size in range(1, 9):
            for count in range(1, size + 1):
                for subset in itertools.combinations(range(base, base + size), count):
                    yield " ".join(map(str, subset))
    for letters in ("01", "AB", "LR", "()"):
        for size in range(1, 10):
            yield from ("".join(word) for word in itertools.product(letters, repeat=size))
    for size in range(1, 5):
        yield from (" ".join(map(str, row)) for row in itertools.product(range(4), repeat=size))
    for size in range(2, 7):
        yield from (" ".join(row) for row in itertools.product("01", repeat=size))
