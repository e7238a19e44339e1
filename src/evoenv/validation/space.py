"""How many different instances a level has, estimated from repetitions among the drawn ones. Part of L4.

With n draws from N equally likely instances, N · (1 − (1 − 1/N)ⁿ) of them are expected to be different; the
estimate is the N that explains what was seen. No repetition among n draws says (at 95 %) that N is at least
n (n − 1) / 6.

Instances may differ in what does not matter. "How many ways are there to choose 6 of these nine numbers?" has nine
answers, whatever the numbers are: if one number of the prompt has few values at all levels and tells the answer, these
are all the instances that there are to learn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from evoenv.records import Finding, LevelSpace
from evoenv.sandbox.outcomes import Ok
from evoenv.validation.codes import finding
from evoenv.validation.evidence import Drawn, Evidence, seed_for

MEMORISABLE = 20
"""Instances of the largest level up to which an environment is refused. Larger spaces can be learnt by heart, too, with
more steps: the estimate is reported, so that its reader can decide."""
FURTHER = 300
FURTHER_SECONDS = 1.0
FEWEST_DRAWS = 8
POSITIONS = 10
"""Numbers of the prompt that are tried one by one, from either end."""
COINCIDENCE = 1e-6
"""How likely it may be, at most, that a number which has nothing to do with the answer seems to tell it."""


def estimate(draws: int, distinct: int) -> LevelSpace | None:
    """Estimate the size of the space behind `distinct` different ones of `draws`; the caller fills in the level."""
    if draws < 2:
        return None
    if distinct == draws:
        return LevelSpace(0, max(draws, draws * (draws - 1) // 6), at_least=True)
    low, high = float(distinct), float(distinct)
    while _expected(high, draws) < distinct:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _expected(middle, draws) < distinct else (low, middle)
    return LevelSpace(0, max(distinct, round(high)), at_least=False)


def _expected(size: float, draws: int) -> float:
    return size * (1.0 - (1.0 - 1.0 / size) ** draws) if size > 1 else size


def spaces(drawn: Sequence[Drawn]) -> tuple[LevelSpace, ...]:
    """Make one estimate for each level that was drawn often enough."""
    prompts: defaultdict[int, list[str]] = defaultdict(list)
    for instance in drawn:
        prompts[instance.difficulty].append(instance.prompt)
    result: list[LevelSpace] = []
    for level, row in sorted(prompts.items()):
        size = estimate(len(row), len(set(row)))
        if size is not None:
            result.append(LevelSpace(level, size.size, size.at_least))
    return tuple(result)


def check_space(evidence: Evidence) -> list[Finding]:
    """Check that some level has more instances than can be learnt by heart."""
    evidence.spaces = spaces(evidence.drawn)
    counted = [space for space in evidence.spaces if len(evidence.at_level(space.level)) >= FEWEST_DRAWS]
    if not counted or any(space.at_least or space.size > 2 * MEMORISABLE for space in counted):
        return []
    largest = max(counted, key=lambda space: space.size)
    refined = _refined(evidence, largest.level)
    evidence.spaces = tuple(refined if space.level == refined.level else space for space in evidence.spaces)
    if refined.at_least or refined.size > MEMORISABLE:
        return []
    seen = f"about {refined.size} different instances at difficulty {refined.level}, and no more at the other levels"
    return [finding("L4.small-space", f"{seen}; expected more than {MEMORISABLE}")]


def _refined(evidence: Evidence, level: int) -> LevelSpace:
    """Repeat the estimate for one level from more draws, as many as about a second allows."""
    count = min(FURTHER, int(FURTHER_SECONDS / max(evidence.cost.get(level, 0.0), 1e-4)))
    items = [[seed_for("space", index), level] for index in range(count)]
    prompts = [instance.prompt for instance in evidence.at_level(level)]
    prompts += [outcome.value[0] for outcome in evidence.call("instances", items) if isinstance(outcome, Ok)]
    size = estimate(len(prompts), len(set(prompts)))
    assert size is not None, "levels with fewer than two draws are not refined"
    return LevelSpace(level, size.size, size.at_least)


# --------------------------------------------------------------------------- one number tells the answer


def check_one_number(drawn: Sequence[Drawn]) -> list[Finding]:
    """Check that no single number of the prompt, with few values at all levels, tells the answer.

    Where only the best value is known and not what reaches it, the number tells nothing of how to answer.
    """
    if not all(instance.full_reference for instance in drawn):
        return []
    answers = [instance.answer_key for instance in drawn]
    usual = max(Counter(answers).values(), default=0)
    if not 0 < usual < len(drawn):
        return []
    for place, values in _slots(drawn):
        table = dict(zip(values, answers, strict=True))
        # With nothing to do with the answer, each repetition of a value would still meet the usual answer that often.
        lucky = (usual / len(drawn)) ** (len(values) - len(table))
        shown = all(value == answer.strip('"') for value, answer in table.items())  # a leak, which L5 calls by its name
        if len(table) > MEMORISABLE or lucky > COINCIDENCE or shown:
            continue
        if all(table[value] == answer for value, answer in zip(values, answers, strict=True)):
            seen = f"the {place} of the prompt has {len(table)} values at all levels together and tells the answer"
            return [finding("L4.small-space", f"{seen}; expected more than {MEMORISABLE} different tasks")]
    return []


def _slots(drawn: Sequence[Drawn]) -> Iterator[tuple[str, list[str]]]:
    """Yield what all prompts have as their first, second … number, and as the last, the last but one …"""
    numbers = [instance.numbers for instance in drawn]
    shared = min(POSITIONS, *map(len, numbers))
    for position in range(shared):
        yield f"number {position + 1}", [row[position] for row in numbers]
        yield f"number {position + 1} from the end", [row[-position - 1] for row in numbers]
