"""Faults in the code: it runs and varies, but computes something else than the prompt asks for."""

from __future__ import annotations

import random
from collections.abc import Callable

from evoenv.corpus.catalogue.families import COMPUTATIONS
from evoenv.corpus.catalogue.parts import substitute
from evoenv.corpus.catalogue.scoring import SCORERS
from evoenv.corpus.compose.author import Program
from evoenv.corpus.compose.rewriting import Change, changed_statements, method_of, with_body, with_statements
from evoenv.corpus.compose.screen import load, pointless
from evoenv.corpus.faults.wrong_words import DIFFERS, SAMPLE
from evoenv.corpus.read.patterns import match, statements

Breaker = Callable[[Program, random.Random], "tuple[str, str] | None"]
"""A broken source and what is wrong with it; None if the fault does not fit the program."""


def wrong_code(change: Change, what: str) -> Breaker:
    def breaker(program: Program, rng: random.Random) -> tuple[str, str] | None:
        if any(COMPUTATIONS[step.name].check for step in program.steps):
            return None  # the scorer verifies: a wrong reference would be found out
        first = 1 + _sampling_length(program)
        for source, before, after in changed_statements(program.source, change, rng, first):
            if _answers_differ(program.source, source):
                return source, f"{what}: {_first_difference(before, after)}."
        return None

    return breaker


def _sampling_length(program: Program) -> int:
    """Count the statements of `_generate` that draw the instance."""
    body = method_of(program.source, "_generate").body[1:-1]
    step = COMPUTATIONS[program.steps[0].name]
    for start in range(len(body)):
        for code in step.codes:
            if match(code, body[start : start + len(statements(code))]):
                return start
    raise AssertionError(f"{program.name} does not start with its first step")


def _first_difference(before: str, after: str) -> str:
    for mine, theirs in zip(before.split("\n"), after.split("\n"), strict=False):
        if mine != theirs:
            return f"`{theirs.strip()}` where `{mine.strip()}` is right"
    return f"`{after}` where `{before}` is right"


def _answers_differ(right: str, wrong: str) -> bool:
    """Return whether a changed source still makes tasks, with other answers to the same prompts often enough."""
    before, after = load(right), load(wrong)
    different = 0
    for level, seed in SAMPLE:
        z, a = before._generate(seed, level)
        try:
            other_z, b = after._generate(seed, level)
        except Exception:  # a change that fails is caught by L2; the fault wanted here is one that runs
            return False
        if z != other_z or type(a) is not type(b) or (isinstance(b, list) and not b):
            return False
        different += a != b
    return different >= DIFFERS * len(SAMPLE) and not pointless(wrong)


SHORT_CUTS: dict[str, tuple[str, str]] = {
    "fewest-coins": (
        (
            "OUT, rest = 0, N\nfor coin in sorted((1, P, Q), reverse=True):\n"
            "    OUT, rest = OUT + rest // coin, rest % coin"
        ),
        "always takes the largest coin that fits",
    ),
    "apart-sum": ("OUT = max(sum(XS[::2]), sum(XS[1::2]))", "only tries every second number"),
    "longest-increasing": (
        "runs = [1]\nfor v, w in zip(XS, XS[1:]):\n    runs.append(runs[-1] + 1 if v < w else 1)\nOUT = max(runs)",
        "only looks at consecutive numbers",
    ),
    "best-stretch": ("OUT = max(max(XS), sum(XS))", "only tries single numbers and the whole list"),
    "ends-game": (
        (
            "row, lead, sign = list(XS), 0, 1\nfor _ in XS:\n"
            "    lead, sign = lead + sign * row.pop(0 if row[0] > row[-1] else -1), -sign\nOUT = lead"
        ),
        "lets both players take the larger end",
    ),
    "common-subsequence": (
        "OUT, start = 0, 0\nfor c in S:\n    if c in T[start:]:\n        OUT, start = OUT + 1, T.index(c, start) + 1",
        "matches each letter at the first chance",
    ),
    "cheapest-path": (
        (
            "i = j = 0\nOUT, last = ROWS[0][0], len(ROWS) - 1\nwhile i < last or j < last:\n"
            "    if j == last or i < last and ROWS[i + 1][j] < ROWS[i][j + 1]:\n        i += 1\n    else:\n"
            "        j += 1\n    OUT += ROWS[i][j]"
        ),
        "always steps to the smaller neighbour",
    ),
    "most-disjoint": (
        "OUT, end = 0, -1\nfor l, r in sorted(SPANS):\n    if l > end:\n        OUT, end = OUT + 1, r",
        "takes intervals by their left ends",
    ),
}
"""Greedy methods for tasks that ask for an optimum: the classic semantic fault."""


def be_greedy(program: Program, rng: random.Random) -> tuple[str, str] | None:
    body = method_of(program.source, "_generate").body
    for step in program.steps:
        if step.name not in SHORT_CUTS:
            continue
        for code in COMPUTATIONS[step.name].codes:
            count = len(statements(code))
            for start in range(1, len(body) - count):
                binding = match(code, body[start : start + count])
                if binding is None:
                    continue
                wrong, how = SHORT_CUTS[step.name]
                source = with_statements(program.source, body[start : start + count], substitute(wrong, binding.slots))
                if _answers_sometimes_differ(program.source, source):
                    return source, f"The prompt asks for an optimum ({step.name}); the code {how}."
    return None


def _answers_sometimes_differ(right: str, wrong: str) -> bool:
    """Return whether some answer differs. Greedy methods are often right: one difference is enough."""
    before, after = load(right), load(wrong)
    rows = [(before._generate(seed, level), after._generate(seed, level)) for level, seed in SAMPLE]
    return any(a != b for (_, a), (_, b) in rows) and not pointless(wrong)


def shift_reference(program: Program, rng: random.Random) -> tuple[str, str] | None:
    if COMPUTATIONS[program.steps[-1].name].gives != "int" or COMPUTATIONS[program.steps[-1].name].check:
        return None
    line = program.source[program.source.index("        return {") :].split("\n")[0]
    wrong = line + rng.choice((" + 1", " - 1"))
    return program.source.replace(line, wrong, 1), "The reference is off by one from what was computed."


def accept_one_only(program: Program, rng: random.Random) -> tuple[str, str] | None:
    """Accept only the reference although many answers are right."""
    if not COMPUTATIONS[program.steps[-1].name].check:
        return None
    return with_body(
        program.source, "scorer", SCORERS[0].codes[0]
    ), "Only the reference scores; other right answers do not."
