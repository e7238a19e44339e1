"""A full answer for environments that store only the answer's value.

Some RLVE-Gym environments keep the best objective (`gold_answer`) but no solution that reaches it. Nothing
can be said about a scorer that was never seen to give 1, so small instances are solved by brute force:
subsets, permutations, and short strings, written plainly. An environment without any is refused.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from evoenv.records import Finding
from evoenv.sandbox.outcomes import Ok
from evoenv.validation.codes import finding
from evoenv.validation.evidence import Drawn, Evidence
from evoenv.validation.forms import plain_text
from evoenv.validation.probes import FULL, Solved, solve

BATCH = 2000
WANTED = 6
MOST_TRIES = 40_000


def find_witnesses(evidence: Evidence, chosen: Sequence[Drawn]) -> tuple[list[Solved], list[Finding]]:
    """Solve instances by the gold value itself if it is the answer, else by search on the easiest."""
    solved, unsolved, broken = solve(evidence, chosen)
    if not unsolved and not broken:
        return solved, []
    witnesses: list[Solved] = []
    easiest = sorted(evidence.drawn, key=lambda instance: (instance.difficulty, len(instance.prompt)))
    tried_in_vain = 0
    for instance in easiest:
        text = _search(evidence, instance)
        if text is not None:
            witnesses.append(Solved(instance, text, plain_text, text))
            if len(witnesses) >= WANTED:
                break
        else:
            tried_in_vain += 1
            if tried_in_vain >= 4 and not witnesses:
                break
            if tried_in_vain >= 10:
                break
    if len(witnesses) >= 2:
        return witnesses, []
    seen = "the environment stores no written answer, at most its value"
    return [], [finding("L5.no-reference", f"{seen}, and no small instance could be solved by search")]


def _search(evidence: Evidence, instance: Drawn) -> str | None:
    texts = guesses(instance.prompt)
    for _ in range(MOST_TRIES // BATCH):
        batch = list(itertools.islice(texts, BATCH))
        if not batch or evidence.out_of_time:
            return None
        outcomes = evidence.call("score", [[*instance.key, text] for text in batch], stop_on_death=False)
        for text, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Ok) and outcome.value >= FULL:
                return text
    return None


def guesses(prompt: str) -> Iterator[str]:
    """Yield short answers in the usual shapes, each once."""
    seen: set[str] = set()
    for text in itertools.chain(_from_prompt(prompt), _shapes()):
        if text not in seen:
            seen.add(text)
            yield text


def _from_prompt(prompt: str) -> Iterator[str]:
    """Yield parts of the prompt's texts, and short rows of its numbers."""
    words = sorted(set(re.findall(r"[A-Za-z0-9]{4,40}", prompt)), key=lambda word: (-sum(map(str.isdigit, word)), word))
    shouted = [word for word in words if word.isupper() or word.isdigit() or len(set(word)) <= 3][:4]
    for word in shouted:
        yield from (word[i:j] for i in range(len(word)) for j in range(i + 1, len(word) + 1))
    numbers = list(dict.fromkeys(re.findall(r"-?[0-9]+", prompt)))[-6:]
    for size in (1, 2, 3, 4):
        yield from (" ".join(row) for row in itertools.product(numbers, repeat=size))


def _partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """Yield every way to split items into groups."""
    if not items:
        yield []
        return
    head, rest = items[0], items[1:]
    for groups in _partitions(rest):
        yield [[head], *groups]
        for index in range(len(groups)):
            yield [*groups[:index], [head, *groups[index]], *groups[index + 1 :]]


def _grids(letters: str, separator: str) -> Iterator[str]:
    for rows, columns in ((1, 2), (2, 2), (1, 3), (2, 3), (3, 2)):
        if len(letters) ** (rows * columns) <= 4096:
            for cells in itertools.product(letters, repeat=rows * columns):
                yield "\n".join(separator.join(cells[r * columns : (r + 1) * columns]) for r in range(rows))


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
        for size in range(2, 6):
            for groups in _partitions(list(range(base, base + size))):
                yield "\n".join(" ".join(map(str, group)) for group in groups)
        for size in range(2, 5):
            subsets = [c for k in range(1, size + 1) for c in itertools.combinations(range(base, base + size), k)]
            for pair in itertools.product(subsets, repeat=2):
                yield "\n".join(" ".join(map(str, part)) for part in pair)
    for letters in ("LRUD", "012", "01"):
        yield from _grids(letters, "")
        yield from _grids(letters, " ")
    for size in range(2, 5):
        yield from (" ".join(map(str, row)) for row in itertools.product(range(1, 9), repeat=size))
    for letters in ("01", "AB", "LR", "()"):
        for size in range(1, 10):
            yield from ("".join(word) for word in itertools.product(letters, repeat=size))
    for size in range(1, 5):
        yield from (" ".join(map(str, row)) for row in itertools.product(range(4), repeat=size))
    for size in range(2, 7):
        yield from (" ".join(row) for row in itertools.product("01", repeat=size))
