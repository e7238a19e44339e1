"""Run a chain of parts on an instance, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evoenv.corpus.catalogue.families import COMPUTATIONS
from evoenv.corpus.catalogue.parts import Computation, Part, evaluate

INPUT_SLOT = {"ints": "XS", "word": "S", "int": "N"}
"""The slot that takes the value at hand, by its type."""


@dataclass(frozen=True)
class Taken:
    """One step of a chain as it went."""

    computation: Computation
    value: Any
    names: dict[str, Any]
    """Everything the step's code left behind, for its trail of intermediate results."""


def run_chain(parts: Sequence[Part], z: dict[str, Any]) -> list[Taken]:
    """Run every step of a program on an instance; the last value is the answer.

    The parts' own code is run, not the program's source: for programs of this package the two agree.
    """
    taken: list[Taken] = []
    start = {slot: z[key] for slot, key in parts[0].params}
    for part in parts:
        if part.kind != "step":
            continue
        computation = COMPUTATIONS[part.name]
        values = start if not taken else {INPUT_SLOT[computation.takes]: taken[-1].value}
        for slot, text in part.params:
            values = values | {slot: z[text[1:-1]] if text.startswith("{") else int(text)}
        value, names = evaluate(computation, values)
        taken.append(Taken(computation, value, names))
    return taken


def run_pieces(step: Taken) -> list[Taken]:
    """Split a step into the smaller ones that it is made of; return the step itself if there are none."""
    pieces: list[Taken] = []
    for name in step.computation.made_of:
        computation = COMPUTATIONS[name]
        values = {INPUT_SLOT[computation.takes]: pieces[-1].value} if pieces else step.names
        slots = {slot: step.names[slot] for slot in computation.params}
        value, names = evaluate(computation, {**values, **slots})
        pieces.append(Taken(computation, value, names))
    return pieces or [step]


def idle_step(parts: Sequence[Part], instances: Sequence[dict[str, Any]], share: float) -> str:
    """Return the name of a step that changes nothing in at least this share of instances, or an empty text."""
    unchanged: dict[str, int] = {}
    for z in instances:
        before: Any = next((z[key] for _, key in parts[0].params), None)
        for step in run_chain(parts, z):
            unchanged[step.computation.name] = unchanged.get(step.computation.name, 0) + (step.value == before)
            before = step.value
    return next((name for name, count in unchanged.items() if count >= share * len(instances)), "")
