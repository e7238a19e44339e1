"""Programs that solve a corpus environment's instances from the values that its prompt shows.

They are what warm starts teach the programmer: as short as the parts allow, and always the same for the same steps, so
that a small model has only the words to go by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from evoenv.corpus.catalogue.families import COMPUTATIONS
from evoenv.corpus.catalogue.parts import Computation, imports_of, substitute
from evoenv.corpus.compose.author import STEP_NAMES, Program
from evoenv.corpus.compose.chains import INPUT_SLOT

ARGUMENT = "values"
"""What `solve` is given: a dictionary of the shown values."""
ANSWER_NAMES = ("ans", "answer", "result")
NUMBER_NAMES = ("total", "found", "value", "res")

_NAME = re.compile(r"\b[a-z_]\w*\b")
_HASHED = re.compile(r"\bset\(EDGES\)")
"""Edges arrive as lists, which cannot be members of a set."""


def solving_program(program: Program) -> str:
    """Write `solve(values)` for a corpus program; a step that is made of others is written as those, in order.

    >>> print(solving_program(program))                             # doctest: +SKIP
    def solve(values):
        nums = values["nums"]
        ys = [v + 5 for v in nums]
        ans = sum(ys)
        return ans
    """
    slots = dict(program.parts[0].params)
    pieces = list(_pieces(program))
    codes = [computation.codes[0] for computation, _ in pieces]
    drawn = [value[1:-1] for _, params in pieces for value in params.values() if value.startswith("{")]
    given = list(dict.fromkeys([*slots.values(), *drawn]))
    taken = {ARGUMENT, *given, *_NAME.findall("\n".join(codes))}
    lines = _reading(given, slots, codes)
    current = ""
    for number, ((computation, params), code) in enumerate(zip(pieces, codes, strict=True)):
        values = {INPUT_SLOT[computation.takes]: current} if number else dict(slots)
        values |= {slot: value.strip("{}") for slot, value in params.items()}
        last = number == len(pieces) - 1
        pool = ANSWER_NAMES if last else STEP_NAMES.get(computation.gives, NUMBER_NAMES)
        current = next(name for name in pool if name not in taken)
        taken.add(current)
        lines += substitute(code, {**values, "OUT": current}).split("\n")
    lines.append(f"return {current}")
    imports = imports_of("\n".join(codes))
    return "\n".join([*imports, f"def solve({ARGUMENT}):", *(f"    {line}" for line in lines)]) + "\n"


def _pieces(program: Program) -> Iterator[tuple[Computation, Mapping[str, str]]]:
    """Yield the computations of a program with their parameters, those that are made of others taken apart."""
    for part in program.steps:
        whole = COMPUTATIONS[part.name]
        params = dict(part.params)
        for name in whole.made_of or (whole.name,):
            computation = COMPUTATIONS[name]
            slots = {*computation.params, *computation.draws}
            yield computation, {slot: value for slot, value in params.items() if slot in slots}


def _reading(given: list[str], slots: Mapping[str, str], codes: list[str]) -> list[str]:
    """Write the lines that read the values; one that has the argument's own name is read last."""
    hashed = {slots["EDGES"]} if any(_HASHED.search(code) for code in codes) else set()
    lines = []
    for name in sorted(given, key=lambda name: name == ARGUMENT):
        value = f'{ARGUMENT}["{name}"]'
        lines.append(f"{name} = list(map(tuple, {value}))" if name in hashed else f"{name} = {value}")
    return lines
