"""Deliberately broken variants of sound programs, each with a label: data for reviewers, audits for checks.

`passes` says whether the fault is one that L1–L5 cannot see: the program runs, varies and scores as it should, and
yet its prompt and its code disagree. The other faults are caught by the layer that is named.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from evoenv.corpus.catalogue.families import COMPUTATIONS
from evoenv.corpus.compose.author import Program
from evoenv.corpus.compose.rewriting import off_by_one, other_operator, with_body, with_template
from evoenv.corpus.faults.wrong_code import Breaker, accept_one_only, be_greedy, shift_reference, wrong_code
from evoenv.corpus.faults.wrong_words import (
    ask_other_number,
    ask_other_quantity,
    hide_parameter,
    leave_out_step,
    sentences_of,
    swap_steps,
)
from evoenv.errors import InputError
from evoenv.records import derive_seed


@dataclass(frozen=True, slots=True)
class Broken:
    """A broken environment and what is wrong with it."""

    source: str
    fault: str
    explanation: str
    passes: bool
    """Whether it still passes L1–L5."""
    layer: int
    """The highest layer it is expected to pass."""
    program: Program
    """The sound program that it was."""


def break_program(program: Program, fault: str, seed: int = 0) -> Broken | None:
    """Return the program with one fault, or None if this fault does not fit it."""
    if fault not in FAULTS:
        raise InputError(f"there is no fault called {fault!r}; the faults are {', '.join(FAULTS)}")
    breaker, layer = FAULTS[fault]
    rng = random.Random(derive_seed("broken", seed, fault, program.source))
    broken = breaker(program, rng)
    return None if broken is None else Broken(broken[0], fault, broken[1], layer == 5, layer, program)


def broken_variants(program: Program, seed: int = 0) -> list[Broken]:
    """Return one variant for every fault that fits."""
    variants = (break_program(program, fault, seed) for fault in FAULTS)
    return [broken for broken in variants if broken is not None]


# --------------------------------------------------------------------------- faults that validation catches


def _edit(old: str, new: str, why: str) -> Breaker:
    """Exchange a piece of text that every program has."""

    def breaker(program: Program, rng: random.Random) -> tuple[str, str] | None:
        return (program.source.replace(old, new), why) if old in program.source else None

    return breaker


def _score(code: str, gives: tuple[str, ...], why: str) -> Breaker:
    """Make a fault that puts in another scorer, for answers of some types."""

    def breaker(program: Program, rng: random.Random) -> tuple[str, str] | None:
        last = COMPUTATIONS[program.steps[-1].name]
        return (with_body(program.source, "scorer", code), why) if last.gives in gives and not last.check else None

    return breaker


def _leak(program: Program, rng: random.Random) -> tuple[str, str] | None:
    line = program.source[program.source.index("        return {") :].split("\n")[0]
    answer = line.split("}, ")[1]
    source = program.source.replace(line, line.replace("}, ", f', "note": {answer}}}, '), 1)
    sentences, _ = sentences_of(program)
    source = with_template(source, [*sentences[:-1], sentences[-1].rstrip("\n") + "\n", "For checking: {note}"])
    rendered = "self.prompt_template.format("
    if f"{rendered}**z)" not in source:
        source = source.replace(rendered, f'{rendered}note=z["note"], ')
    return source, "The prompt shows the answer."


def _ignore_difficulty(program: Program, rng: random.Random) -> tuple[str, str] | None:
    head, _, body = program.source.partition("random.Random(seed)\n")
    return head + "random.Random(seed)\n" + re.sub(r"\bdifficulty\b", "2", body), "Difficulty changes nothing."


FAULTS: dict[str, tuple[Breaker, int]] = {
    # What validation cannot see: 5 is the layer that these pass.
    "asks-other-quantity": (ask_other_quantity, 5),
    "asks-other-number": (ask_other_number, 5),
    "leaves-out-step": (leave_out_step, 5),
    "swaps-steps": (swap_steps, 5),
    "off-by-one": (wrong_code(off_by_one, "The code is off by one"), 5),
    "wrong-operator": (wrong_code(other_operator, "The code uses a wrong operator"), 5),
    "greedy": (be_greedy, 5),
    "reference-shifted": (shift_reference, 5),
    "one-answer-only": (accept_one_only, 5),
    # What validation must see, and at which layer it stops.
    "hidden-parameter": (hide_parameter, 3),
    "rare-crash": (
        _edit(
            "rng = random.Random(seed)\n", "rng = random.Random(seed)\n        1 // (seed % 3)\n", "Some seeds crash."
        ),
        1,
    ),
    "global-random": (_edit("random.Random(seed)", "random", "Instances come from the global random."), 2),
    "fixed-instance": (_edit("random.Random(seed)", "random.Random(7)", "The seed is ignored."), 3),
    "difficulty-ignored": (_ignore_difficulty, 3),
    "answer-leaked": (_leak, 4),
    "anything-goes": (
        _score("return float(self._process(y) is not None)", ("int", "ints", "word", "yesno"), "Any answer scores 1."),
        4,
    ),
    "tolerant": (
        _score(
            "v = self._process(y)\nreturn float(v is not None and abs(v - a) <= 1)",
            ("int",),
            "Answers that are off by one score 1.",
        ),
        4,
    ),
    "length-unchecked": (
        _score(
            "v = self._process(y)\nreturn 0.0 if v is None else sum(p == q for p, q in zip(v, a)) / len(a)",
            ("ints",),
            "Extra numbers after the right ones cost nothing.",
        ),
        4,
    ),
    "substring": (_score("return float(str(a) in y)", ("int", "yesno"), "The answer may hide among others."), 4),
    "consolation": (
        _score("return 1.0 if self._process(y) == a else 0.1", ("int", "ints", "word"), "Wrong answers earn a tenth."),
        4,
    ),
    "parser-raises": (
        _edit(
            "        try:\n            return int(y)\n        except ValueError:\n            return None\n",
            "        return int(y)\n",
            "The parser raises on text that is no number.",
        ),
        4,
    ),
    "parser-mismatch": (
        _edit(
            "return int(y)",
            'return int(y.removeprefix("x=")) if y.startswith("x=") else None',
            "The parser wants a form that the prompt does not ask for.",
        ),
        4,
    ),
}
