"""Worked solutions: a short chain of intermediate results that ends in the final answer."""

from __future__ import annotations

from typing import Any

from evoenv.corpus.catalogue.parts import trail
from evoenv.corpus.compose.author import Program
from evoenv.corpus.compose.chains import run_chain, run_pieces
from evoenv.corpus.compose.screen import answer_text

LONGEST_TRAIL = 100
"""Characters of intermediate results in one line; longer ones would drown the answer."""


def worked_solution(program: Program, z: dict[str, Any], a: Any, *, restate: bool = False) -> str:
    """Write the steps of a program on one instance, one line each, then the answer as the prompt asks for it.

    `restate` begins with what was given: copying it is the first thing that a small model has to learn.
    """
    lines: list[str] = [f"given: {'; '.join(_flat(value) for value in z.values())}"] if restate else []
    taken = run_chain(program.parts, z)
    for step in (piece for whole in taken for piece in run_pieces(whole)):
        result, intermediate = answer_text(step.value), trail(step.computation, step.names)
        way = answer_text(intermediate) if intermediate is not None else result
        way = f"{way} = " if way != result and len(way) <= LONGEST_TRAIL else ""
        lines.append(f"{step.computation.name}: {way}{result}")
    if taken[-1].value != a:
        raise ValueError(
            f"the steps of {program.name} give {taken[-1].value!r}, but the reference is {a!r}; "
            "pass an instance and a reference of this very program"
        )
    return "\n".join([*lines, f"<answer>{answer_text(a)}</answer>"])


def _flat(value: Any) -> str:
    """Write a value as its numbers and words, without brackets."""
    if isinstance(value, list | tuple):
        nested = any(isinstance(item, list | tuple) for item in value)
        return (", " if nested else " ").join(_flat(item) for item in value)
    return str(value)
