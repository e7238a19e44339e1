"""Answers that skip the work: numbers that are none, and the question given back as its own answer.

`nan` compares as neither right nor wrong, so a scorer that looks for a difference finds none. A scorer that
evaluates answers takes "12 + 7" for the answer to "12 + 7", an integral for an integral, and "24 * 1" for a way to
make 24 of other numbers.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evoenv.admission.source_tree import parse_source
from evoenv.records import Finding
from evoenv.validation.codes import finding
from evoenv.validation.forms import items_of
from evoenv.validation.probes import FULL, Planned, Probe, Solved
from evoenv.validation.variants import NUMBER, made_of_numbers

TRIED = 6
"""Instances that these are tried on: they are wrong for every instance or for none."""
MOST_OF = 0.5
READ = 4000
LONGEST = 200
EXPRESSIONS = 3
"""Of a prompt, the longest: one of them may be an example of how to write answers."""

_ARITHMETIC = re.compile(r"-?[0-9(][0-9.()+\-*/×÷^ ]*[0-9)]")
_SYMBOLIC = re.compile(r"-?[0-9a-zA-Z(][0-9a-zA-Z_.()+\-*/^ ]*[0-9a-zA-Z)]")
_OPERATOR = re.compile(r"[0-9a-zA-Z)]\s*(?:\*\*|[+\-*/×÷^])\s*[0-9a-zA-Z(]")
_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WORD = re.compile(r"\b(?!(?:sin|cos|tan|exp|log|ln|sqrt)\b)[A-Za-z]{2,}\b")
"""Ends an expression: functions aside, variables have one letter."""
_VARIABLE = re.compile(r"(?<![A-Za-z])([a-zA-Z])(?![A-Za-z])")


def plan_unworked(solved: Sequence[Solved]) -> list[Planned]:
    """Plan both kinds of answer for a few instances, spread over the levels."""
    chosen = solved[:: max(1, len(solved) // TRIED)][:TRIED]
    rows: list[Planned] = []
    for solution in chosen:
        rows += [(solution.instance, f"special:{kind}", text, False, "") for kind, text in special_numbers(solution)]
        rows += [(solution.instance, f"restated:{kind}", text, False, "") for kind, text in restated(solution)]
    return rows


# --------------------------------------------------------------------------- numbers that are none


def special_numbers(solution: Solved) -> Iterator[tuple[str, str]]:
    """Yield the answer with `nan` or `inf` in place of some or all of its numbers, if it has several."""
    items = items_of(solution.value)
    if items is not None and len(items) > 1 and all(type(item) in (int, float) for item in items):
        for kind, changed in _replaced(len(items)):
            text = solution.form(
                [float(changed.get(index, item)) if index in changed else item for index, item in enumerate(items)]
            )
            if text is not None:
                yield kind, text
    elif isinstance(solution.value, str):
        numbers = list(NUMBER.finditer(solution.value))
        if 1 < len(numbers) <= 64 and made_of_numbers(solution.value):
            for kind, changed in _replaced(len(numbers)):
                yield kind, _with_numbers(solution.value, numbers, changed)


def _replaced(count: int) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield the ways to replace numbers of an answer: a label, and the new text by position."""
    yield "nan everywhere", dict.fromkeys(range(count), "nan")
    yield "nan first", {0: "nan"}
    yield "nan last", {count - 1: "nan"}
    if count > 2:
        yield "nan but for the last", dict.fromkeys(range(count - 1), "nan")
    yield "inf everywhere", dict.fromkeys(range(count), "inf")


def _with_numbers(text: str, numbers: Sequence[re.Match[str]], changed: dict[int, str]) -> str:
    parts: list[str] = []
    end = 0
    for index, match in enumerate(numbers):
        parts += [text[end : match.start()], changed.get(index, match.group())]
        end = match.end()
    return "".join([*parts, text[end:]])


def check_special_numbers(special: Sequence[Probe], graded: bool) -> list[Finding]:
    """Check that what is not a number never counts as a right one, for any task."""
    limit = FULL if graded else 1e-12
    for probe in special:
        if probe.score is not None and probe.score >= limit:
            seen = f"{probe.describe()} scores {probe.score:g}; expected 0"
            return [finding("L5.not-a-number", seen, probe.replay)]
    return []


# --------------------------------------------------------------------------- the question as its own answer


def restated(solution: Solved) -> Iterator[tuple[str, str]]:
    """Yield the question, or the number that it asks for, written as if it were an answer."""
    text, prompt = solution.text.strip(), solution.instance.prompt[:READ]
    if len(text) > LONGEST:
        return
    if re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", text):
        question = _longest(_ARITHMETIC, prompt)
        if question is not None and len(_DIGITS.findall(question)) > 1:
            yield "question", question
    elif _OPERATOR.search(text) and _ARITHMETIC.fullmatch(text):
        yield from _other_numbers(text, prompt)
    elif _OPERATOR.search(text) or _VARIABLE.search(text):
        yield from _unevaluated(text, prompt)


def _longest(pattern: re.Pattern[str], prompt: str) -> str | None:
    expressions = [
        text for match in pattern.finditer(prompt) if _OPERATOR.search(text := match.group()) and _balanced(text)
    ]
    return max(expressions, key=len, default=None)


def _balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0


def _other_numbers(text: str, prompt: str) -> Iterator[tuple[str, str]]:
    """Yield expressions of the same value that ignore the numbers which the prompt gives."""
    value, used = value_of(text), Counter(_DIGITS.findall(text))
    if value is None or value != int(value) or not 1 < abs(value) < 10**9 or used - Counter(_DIGITS.findall(prompt)):
        return
    number = int(value)
    for other in (f"{number} + 0", f"{number} * 1", f"{number + 7} - 7"):
        if Counter(_DIGITS.findall(other)) - used:
            yield "other numbers", other


def _unevaluated(text: str, prompt: str) -> Iterator[tuple[str, str]]:
    """Yield the prompt's longest expressions in the answer's variable, each as an integral and as a derivative."""
    names = _VARIABLE.findall(text)
    if not names:
        return
    variable = Counter(names).most_common(1)[0][0]
    symbols = _WORD.sub("\n", prompt)
    expressions = [match.group().strip() for match in _SYMBOLIC.finditer(symbols)]
    expressions = [
        part
        for part in expressions
        if _OPERATOR.search(part) and variable in _VARIABLE.findall(part) and _balanced(part)
    ]
    different = {_plain(part): part for part in expressions if _plain(part) != _plain(text)}
    for question in sorted(different.values(), key=len, reverse=True)[:EXPRESSIONS]:
        yield "integral", f"Integral({question}, {variable})"
        yield "derivative", f"Derivative({question}, {variable})"


def _plain(text: str) -> str:
    return text.replace(" ", "").replace("**", "^")


def check_restated(probes: Sequence[Probe]) -> list[Finding]:
    """Check that the question, given back as the answer, does not count for most instances."""
    by_kind: defaultdict[str, list[Probe]] = defaultdict(list)
    for probe in probes:
        by_kind[probe.kind].append(probe)
    for kind, row in by_kind.items():
        paid = [probe for probe in row if probe.score is not None and probe.score >= FULL]
        instances, solved = ({probe.instance.key for probe in probes} for probes in (row, paid))
        if len(instances) >= 3 and len(solved) > MOST_OF * len(instances):
            what = "an expression that ignores the given numbers" if kind.endswith("numbers") else "the question itself"
            seen = f"{paid[0].describe()} scores 1: {what} counts as an answer"
            return [finding("L5.question-as-answer", seen, paid[0].replay)]
    return []


# --------------------------------------------------------------------------- arithmetic

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def value_of(text: str) -> float | None:
    """Return the value of plain arithmetic over small numbers; None for anything else."""
    try:
        match parse_source(text.replace("×", "*").replace("÷", "/").strip()).body:
            case [ast.Expr(expression)]:
                value = _value(expression)
            case _:
                return None
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
        return None
    return value if math.isfinite(value) else None


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return float(_BINARY[type(node.op)](_value(node.left), _value(node.right)))
    raise ValueError("not plain arithmetic")
