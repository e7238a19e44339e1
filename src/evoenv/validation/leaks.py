"""Answers that need no work: shown in the prompt, or found by a rule that a child would try."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

from evoenv.records import Finding
from evoenv.validation.codes import finding
from evoenv.validation.evidence import Drawn, Evidence
from evoenv.validation.probes import FULL, Solved, score

LEAK_SHARE = 0.9
SHORTCUT_SHARE = 0.9
MIN_INSTANCES = 12
FEW = 8
PLACES = 12

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def check_answer_in_prompt(
    drawn: Sequence[Drawn], texts: dict[tuple[int, int], str], solved: Sequence[Solved]
) -> list[Finding]:
    """The answer stands in the prompt at a place that can be told without solving the task.

    An answer that merely occurs is fine (the k-th smallest of a list is in the list). It is a leak where the
    same words always stand right before it.
    """
    shown: defaultdict[str, list[Solved]] = defaultdict(list)
    considered = [one for one in solved if one.text.strip()]
    if len({one.text for one in considered}) < 3 or len(considered) < MIN_INSTANCES:
        return []
    for one in considered:
        for context in _contexts(one.instance.prompt, one.text.strip()):
            shown[context].append(one)
    for context, found in shown.items():
        if len(found) >= LEAK_SHARE * len(considered) and _always_after(context, considered):
            example = found[0]
            seen = f"seed {example.instance.seed}: the prompt says {context + example.text.strip()[:40]!r}"
            return [finding("L5.answer-in-prompt", f"{seen}, and so in {len(found)} of {len(considered)} instances")]
    return []


def _contexts(prompt: str, answer: str) -> set[str]:
    """The words right before each place where the answer stands alone."""
    contexts: set[str] = set()
    start = prompt.find(answer)
    while start != -1 and len(contexts) < 20:
        end = start + len(answer)
        before, after = prompt[max(0, start - 1) : start], prompt[end : end + 1]
        alone = not (before.isalnum() or before in ("-", ".")) and not after.isalnum()
        if alone:
            words = re.search(r"[^\d\n]{0,24}$", prompt[max(0, start - 24) : start])
            context = words.group() if words else ""
            if sum(c.isalpha() for c in context) >= 3:
                contexts.add(context)
        start = prompt.find(answer, start + 1)
    return contexts


def _always_after(context: str, solved: Sequence[Solved]) -> bool:
    """What follows the first or the last occurrence of these words is the answer, nearly always."""
    for locate in (str.find, str.rfind):
        hits = 0
        for one in solved:
            start = locate(one.instance.prompt, context)
            hits += start != -1 and one.instance.prompt[start + len(context) :].startswith(one.text.strip())
        if hits >= LEAK_SHARE * len(solved):
            return True
    return False


Shortcut = Callable[[list[str]], str]


def _whole(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


SHORTCUTS: dict[str, Shortcut] = {
    "the first number": lambda numbers: numbers[0],
    "the last number": lambda numbers: numbers[-1],
    "the largest number": lambda numbers: max(numbers, key=float),
    "the smallest number": lambda numbers: min(numbers, key=float),
    "the count of the numbers": lambda numbers: str(len(numbers)),
    "the sum of the numbers": lambda numbers: _whole(sum(float(number) for number in numbers)),
}


def check_shortcuts(evidence: Evidence, solved: Sequence[Solved]) -> list[Finding]:
    """One cheap rule over the prompt's numbers, or one constant, must not solve the task."""
    chosen = [one for one in solved if one.instance.difficulty >= 1] or list(solved)
    if len(chosen) < MIN_INSTANCES:
        return []
    place = _fixed_place(chosen)
    if place is not None:
        return [finding("L5.shortcut", f"the answer is always {place} of the prompt ({len(chosen)} instances)")]
    constants = {f"the constant {text!r}": text for text in _common_answers(chosen)}
    # A few instances rule out nearly every rule; only what survives them is tried on all.
    few = chosen[:: max(1, len(chosen) // FEW)][:FEW]
    suspects = [
        name for name, share in _shares(evidence, few, [*SHORTCUTS, *constants], constants).items() if share >= 0.7
    ]
    for name, share in _shares(evidence, chosen, suspects, constants).items():
        if share >= SHORTCUT_SHARE:
            place = "" if name in constants else " of the prompt"
            return [
                finding("L5.shortcut", f"answering with {name}{place} solves {share:.0%} of {len(chosen)} instances")
            ]
    return []


def _fixed_place(solved: Sequence[Solved]) -> str | None:
    """The place in the row of the prompt's numbers at which the answer stands, if it is always the same."""
    if len({one.text for one in solved}) < 3:
        return None
    rows = [_NUMBER.findall(one.instance.prompt) for one in solved]
    for place in range(PLACES):
        for name, index in ((f"number {place + 1}", place), (f"number {place + 1} from the end", -1 - place)):
            hits = sum(
                len(row) > place and row[index] == one.text.strip() for row, one in zip(rows, solved, strict=True)
            )
            if hits >= SHORTCUT_SHARE * len(solved):
                return name
    return None


def _shares(
    evidence: Evidence, solved: Sequence[Solved], rules: Sequence[str], constants: dict[str, str]
) -> dict[str, float]:
    """The share of instances that each rule solves."""
    rows: list[tuple[Drawn, str, str, bool, str]] = []
    for one in solved:
        numbers = [text for text in _NUMBER.findall(one.instance.prompt) if len(text) < 200][:4000]
        for name in rules:
            if name in constants:
                rows.append((one.instance, name, constants[name], False, ""))
            elif numbers:
                rows.append((one.instance, name, SHORTCUTS[name](numbers), False, ""))
    hits = dict.fromkeys(rules, 0)
    for probe in score(evidence, rows):
        hits[probe.kind] += probe.score is not None and probe.score >= FULL
    return {name: count / len(solved) for name, count in hits.items()}


def _common_answers(solved: Sequence[Solved]) -> list[str]:
    """Answers that may be right everywhere: the most frequent ones, and what lazy solvers say."""
    counts: defaultdict[str, int] = defaultdict(int)
    for one in solved:
        counts[one.text] += 1
    frequent = sorted(counts, key=lambda text: -counts[text])[:2]
    return list(dict.fromkeys([*frequent, "0", "1", "-1"]))
