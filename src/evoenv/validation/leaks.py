"""Answers that need no work: shown in the prompt, or found by a rule that a child would try."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from evoenv.records import Finding
from evoenv.validation.codes import finding
from evoenv.validation.counts import listed
from evoenv.validation.evidence import NUMBER, READ, Drawn, Evidence
from evoenv.validation.forms import FORMS
from evoenv.validation.probes import FULL, Solved, score

LEAK_SHARE = 0.9
SHORTCUT_SHARE = 0.9
MIN_INSTANCES = 12
FEW = 8
PLACES = 8
LONGEST = 300
OCCURRENCES = 60
"""Of the answer in a prompt: a leak does not hide behind more."""

_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ENCLOSED = re.compile(r"[(\"'`]([^()\"'`\n]{1,200})[)\"'`]")


def check_answer_in_prompt(solved: Sequence[Solved]) -> list[Finding]:
    """Report an answer that stands in the prompt at a place that can be told without solving the task.

    An answer that merely occurs is fine (the k-th smallest of a list is in the list). It is a leak if the same words
    always stand right before it.
    """
    considered = [solution for solution in solved if solution.text.strip()]
    texts = Counter(solution.text for solution in considered)
    if len(considered) < MIN_INSTANCES or texts.most_common(1)[0][1] > 0.85 * len(considered):
        return []
    for form in dict.fromkeys([considered[0].form, *FORMS[:7]]):
        written = [(solution, text) for solution in considered if (text := (form(solution.value) or "").strip())]
        by_context: defaultdict[str, list[tuple[Solved, str]]] = defaultdict(list)
        for solution, text in written:
            for context in _contexts(solution.instance.prompt, text):
                by_context[context].append((solution, text))
        for context, occurrences in by_context.items():
            if len(occurrences) >= LEAK_SHARE * len(considered) and _always_after(context, written, len(considered)):
                example, text = occurrences[0]
                seen = f"seed {example.instance.seed}: the prompt says {context + text[:40]!r}"
                return [
                    finding(
                        "L5.answer-in-prompt", f"{seen}, and so in {len(occurrences)} of {len(considered)} instances"
                    )
                ]
    return []


def _contexts(prompt: str, answer: str) -> set[str]:
    """Collect the words right before each place where the answer stands alone."""
    contexts: set[str] = set()
    start = prompt.find(answer)
    for _ in range(OCCURRENCES):
        if start == -1:
            break
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


def _always_after(context: str, written: Sequence[tuple[Solved, str]], total: int) -> bool:
    """Return whether the answer nearly always follows the first, or the last, occurrence of these words."""
    for locate in (str.find, str.rfind):
        hits = 0
        for solution, text in written:
            start = locate(solution.instance.prompt, context)
            hits += start != -1 and solution.instance.prompt[start + len(context) :].startswith(text)
        if hits >= LEAK_SHARE * total:
            return True
    return False


Shortcut = Callable[[str, list[str]], str | None]
"""From the prompt and its numbers to an answer."""


def _whole(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _number_at(index: int) -> Shortcut:
    return lambda prompt, numbers: numbers[index] if -len(numbers) <= index < len(numbers) else None


def _longest_list(prompt: str, numbers: list[str]) -> str | None:
    """Return the longest row of numbers as it stands: right if order is not checked, or nothing is asked."""
    longest: list[str] = []
    row: list[str] = []
    end = -1
    for match in NUMBER.finditer(prompt[:READ]):
        row = [*row, match.group()] if prompt[end : match.start()] in (" ", ", ", ",") else [match.group()]
        end = match.end()
        longest = max(longest, row, key=len)
        if len(row) > LONGEST:
            break
    return " ".join(longest) if len(longest) > 1 else None


def _word_at(index: int) -> Shortcut:
    def rule(prompt: str, numbers: list[str]) -> str | None:
        words = _WORDS.findall(prompt[:READ] if index >= 0 else prompt[-READ:])
        return words[index] if len(words) > abs(index) else None

    return rule


def _longest_word(prompt: str, numbers: list[str]) -> str | None:
    return max(_WORDS.findall(prompt[:READ]), key=len, default=None)


def _line_at(index: int) -> Shortcut:
    def rule(prompt: str, numbers: list[str]) -> str | None:
        lines = [line.strip() for line in prompt.strip().splitlines() if line.strip()]
        return lines[index][:2000] if len(lines) > max(1, abs(index)) else None

    return rule


def _longest_line(prompt: str, numbers: list[str]) -> str | None:
    lines = [line.strip() for line in prompt[:READ].splitlines()[1:]]
    return max(lines, key=len, default="")[:2000] or None


def _after_last_colon(prompt: str, numbers: list[str]) -> str | None:
    return prompt[-READ:].rpartition(":")[2].strip()[:2000] or None


def _enclosed(prompt: str, numbers: list[str]) -> str | None:
    match = _ENCLOSED.search(prompt[:READ])
    return match.group(1) if match else None


def _length_of_list(prompt: str, numbers: list[str]) -> str | None:
    start = prompt.find("[")
    length = listed(prompt[start:READ]) if start >= 0 else None
    return None if length is None else str(length)


SHORTCUTS: dict[str, Shortcut] = {
    "the first word": _word_at(0),
    "the last word": _word_at(-1),
    "the longest word": _longest_word,
    "the first line": _line_at(0),
    "the last line": _line_at(-1),
    "the line before the last": _line_at(-2),
    "the second line": _line_at(1),
    "the third line": _line_at(2),
    "the longest line": _longest_line,
    "what follows the last colon": _after_last_colon,
    "the first text in brackets or quotes": _enclosed,
    "the largest number": lambda prompt, numbers: max(numbers, key=float, default=None),
    "the smallest number": lambda prompt, numbers: min(numbers, key=float, default=None),
    "the count of the numbers": lambda prompt, numbers: str(len(numbers)),
    "the sum of the numbers": lambda prompt, numbers: _whole(sum(float(number) for number in numbers)),
    "the longest list": _longest_list,
    "the length of the first list": _length_of_list,
    **{f"number {place + 1}": _number_at(place) for place in range(PLACES)},
    **{f"number {place + 1} from the end": _number_at(-1 - place) for place in range(PLACES)},
}


def check_shortcuts(evidence: Evidence, solved: Sequence[Solved]) -> list[Finding]:
    """Check that no cheap rule over the prompt's numbers, and no constant, solves the task."""
    chosen = [solution for solution in solved if solution.instance.difficulty >= 1] or list(solved)
    if len(chosen) < MIN_INSTANCES:
        return []
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


def _shares(
    evidence: Evidence, solved: Sequence[Solved], rules: Sequence[str], constants: dict[str, str]
) -> dict[str, float]:
    """Compute the share of instances that each rule solves."""
    rows: list[tuple[Drawn, str, str, bool, str]] = []
    for solution in solved:
        numbers = [text for text in solution.instance.numbers if len(text) < 200]
        for name in rules:
            if name in constants:
                rows.append((solution.instance, name, constants[name], False, ""))
            elif (text := SHORTCUTS[name](solution.instance.prompt, numbers)) is not None:
                rows.append((solution.instance, name, text, False, ""))
    hits = dict.fromkeys(rules, 0)
    for probe in score(evidence, rows):
        hits[probe.kind] += probe.score is not None and probe.score >= FULL
    return {name: count / len(solved) for name, count in hits.items()}


def _common_answers(solved: Sequence[Solved]) -> list[str]:
    """List answers that may be right everywhere: the most frequent ones, and what lazy solvers say."""
    counts: defaultdict[str, int] = defaultdict(int)
    for solution in solved:
        counts[solution.text] += 1
    frequent = sorted(counts, key=lambda text: -counts[text])[:2]
    return list(dict.fromkeys([*frequent, "0", "1", "-1"]))
