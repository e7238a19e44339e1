"""Other answers that score like the right one: several options, neighbours within a tolerance, second solutions.

Several right answers are fine if the task admits them. They are a fault if there is one answer to choose from a few
options, if the tolerance is as wide as the answers lie apart, and if the prompt promises a unique solution.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence

from evoenv.records import Finding
from evoenv.validation.codes import finding
from evoenv.validation.evidence import Drawn, Evidence
from evoenv.validation.probes import FULL, Planned, Probe, Solved, score
from evoenv.validation.variants import NUMBER
from evoenv.validation.witness import guesses

OPTIONS_SHARE = 0.25
NEIGHBOURS_SHARE = 0.75
FOREIGN_SHARE = 0.15
FEWEST = 3
SEARCHED = 3
GUESSES = 200
"""Small answers in the usual shapes, tried on the easiest instances."""

_SEVERAL = re.compile(
    r"\bany\b|\bone of\b|\ba valid\b|\ban? (?:possible|example)\b|multiple (?:answers|solutions)"
    r"|all (?:that )?(?:are )?appl",
    re.IGNORECASE,
)
_TOLERANT = re.compile(r"within|toleran|error|approx|±|close|margin|off by|estimate", re.IGNORECASE)
_UNIQUE = re.compile(
    r"unique(?:ly)? (?:solution|answer|solvable|determined|arrangement|assignment)|(?:solution|answer) is unique"
    r"|guaranteed to be unique|(?:only|exactly|just) one (?:valid |correct |possible |right )?(?:solution|answer|way)"
    r"|the only (?:valid |correct |possible |right )?(?:solution|answer)",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"\b(?:find|give|write|return|output|print|report|answer)\b[^.?!\n]{0,120}"
    r"\blexicographically (?:smallest|largest|least|greatest|first|last|earliest|latest|minimal|maximal)",
    re.IGNORECASE,
)
"""Asks for the first of all answers in an order, of which there is one."""
_PART = re.compile(r"[^\s,;]+")
_ESSENTIAL = frozenset(
    "symbol-changed plus-one minus-one last-plus-one first-changed last-changed middle-changed value-changed balanced "
    "shifted letter-changed".split()
)
"""Changes that make another answer, not another way to write the same one."""


def plan_rivals(solved: Sequence[Solved], options: Sequence[str], drawn: Sequence[Drawn]) -> list[Planned]:
    """Plan every other option, if there are only a few; the nearest other answer, if answers are decimals."""
    rows: list[Planned] = []
    values = _decimal_answers(drawn)
    for solution in solved:
        if solution.text in options:
            rows += [(solution.instance, "option", text, False, "") for text in options if text != solution.text]
        nearest = _nearest(solution, values)
        if nearest is not None and (text := solution.form(nearest)) is not None:
            rows.append((solution.instance, "neighbour", text, False, ""))
    return rows


def _decimal(value: object) -> float | None:
    if type(value) is float:
        return value
    if isinstance(value, str) and "." in value and len(value) < 40 and NUMBER.fullmatch(value.strip()):
        return float(value)
    return None


def _decimal_answers(drawn: Sequence[Drawn]) -> dict[int, list[tuple[float, object]]]:
    values: defaultdict[int, list[tuple[float, object]]] = defaultdict(list)
    for instance in drawn:
        number = _decimal(instance.answer)
        if number is not None:
            values[instance.difficulty].append((number, instance.answer))
    return values


def _nearest(solution: Solved, values: dict[int, list[tuple[float, object]]]) -> object | None:
    number = _decimal(solution.value)
    if number is None:
        return None
    others = [
        row
        for row in values.get(solution.instance.difficulty, ())
        if abs(row[0] - number) > 1e-6 * max(1.0, abs(number))
    ]
    return min(others, key=lambda row: abs(row[0] - number))[1] if others else None


def check_options(options: Sequence[Probe]) -> list[Finding]:
    """Check that only one of a few options is right, unless the prompt says that several may be."""
    by_instance: defaultdict[tuple[int, int], list[Probe]] = defaultdict(list)
    for probe in options:
        if not _SEVERAL.search(probe.instance.prompt):
            by_instance[probe.instance.key].append(probe)
    doubled = [row for row in by_instance.values() if any((probe.score or 0.0) >= FULL for probe in row)]
    if len(doubled) >= FEWEST and len(doubled) >= OPTIONS_SHARE * len(by_instance):
        probe = next(probe for probe in doubled[0] if (probe.score or 0.0) >= FULL)
        seen = f"{probe.describe()} scores 1 beside the reference {probe.instance.answer_key[:40]}"
        message = f"{seen}; so it is in {len(doubled)} of {len(by_instance)} instances"
        return [finding("L5.several-options", message, probe.replay)]
    return []


def check_tolerance(neighbours: Sequence[Probe], foreign: Sequence[Probe], compares: bool) -> list[Finding]:
    """Check that a tolerance is narrower than the answers of different instances lie apart."""
    judged = [probe for probe in neighbours if probe.score is not None and not _TOLERANT.search(probe.instance.prompt)]
    paid = [probe for probe in judged if (probe.score or 0.0) >= FULL]
    if not judged or not compares:
        return []
    # Neighbours may be close by chance; answers of other instances, drawn at random, are not.
    others = [probe for probe in foreign if probe.score is not None and _differ(probe)]
    paid_others = [probe for probe in others if (probe.score or 0.0) >= FULL]
    wide = len(paid_others) >= FEWEST and len(paid_others) >= FOREIGN_SHARE * len(others)
    if wide or (len(judged) >= 8 and len(paid) >= NEIGHBOURS_SHARE * len(judged)):
        probe = (paid_others or paid)[0]
        row, all_ = (paid_others, others) if wide else (paid, judged)
        reference = probe.instance.answer_key[:40]
        seen = f"{probe.describe()}, right for another instance, scores 1 for the reference {reference}"
        return [finding("L5.tolerance", f"{seen}; so do {len(row)} of {len(all_)} such answers", probe.replay)]
    return []


def _differ(probe: Probe) -> bool:
    right, given = _decimal(probe.instance.answer), NUMBER.fullmatch(probe.text.strip())
    return right is not None and given is not None and abs(right - float(given.group())) > 1e-6 * max(1.0, abs(right))


def check_unique(evidence: Evidence, solved: Sequence[Solved], probes: Sequence[Probe]) -> list[Finding]:
    """Report a second solution of a task that promises one: found among the changed answers, or by a short search."""
    first = {solution.instance.key for solution in solved if _FIRST.search(solution.instance.prompt)}
    promised = [
        solution for solution in solved if solution.instance.key in first or _UNIQUE.search(solution.instance.prompt)
    ]
    if len(promised) < FEWEST:
        return []
    right = {solution.instance.key: _essence(solution.text) for solution in solved}
    seconds = [probe for probe in probes if probe.kind.partition(":")[2] in _ESSENTIAL and not probe.may_be_valid]
    seconds += [probe for probe in probes if probe.kind == "foreign"]
    parts = {solution.instance.key: sorted(_PART.findall(solution.text)) for solution in solved}
    # The same parts in another order are another answer only if the task says so.
    seconds += [
        probe
        for probe in probes
        if probe.kind == "searched"
        and (probe.instance.key in first or sorted(_PART.findall(probe.text)) != parts.get(probe.instance.key))
    ]
    easiest = sorted(promised, key=lambda solution: (solution.instance.difficulty, len(solution.instance.prompt)))[
        :SEARCHED
    ]
    seconds += score(
        evidence,
        [
            (solution.instance, "guess", text, False, "")
            for solution in easiest
            for text in itertools.islice(guesses(solution.instance.prompt), GUESSES)
        ],
    )
    keys = {solution.instance.key for solution in promised}
    seconds = [
        probe
        for probe in seconds
        if probe.instance.key in keys
        and (probe.score or 0.0) >= FULL
        and _essence(probe.text) != right.get(probe.instance.key)
    ]
    if len({probe.instance.key for probe in seconds}) < 2:
        return []
    seen = f"{seconds[0].describe()} scores 1 beside the reference {seconds[0].instance.answer_key[:40]}"
    promise = "asks for the first" if seconds[0].instance.key in first else "promises one solution"
    return [finding("L5.not-unique", f"{seen}, but the prompt {promise}", seconds[0].replay)]


def _essence(text: str) -> str:
    """Reduce a text to its letters and digits, so that ways of writing it do not matter."""
    return "".join(char for char in text.casefold() if char.isalnum())
