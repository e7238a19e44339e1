"""Faults in the words: the prompt asks for something else than the code computes."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from evoenv.corpus.catalogue.families import COMPUTATIONS, HELD_OUT
from evoenv.corpus.catalogue.parts import Part
from evoenv.corpus.compose.author import Program
from evoenv.corpus.compose.chains import run_chain
from evoenv.corpus.compose.rewriting import template_of, with_template
from evoenv.corpus.compose.screen import load
from evoenv.corpus.read.words import sentence_kind, split_sentences

DIFFERS = 0.3
"""The least share of instances on which a wrong quantity must differ from the right one."""
SAMPLE = [(level, seed) for level in (0, 1, 2, 3, 5) for seed in range(6)]


def sentences_of(program: Program) -> tuple[list[str], list[int]]:
    """Return the template as sentences with their separators, and the indices of those that are steps."""
    template = template_of(program.source)
    pieces = split_sentences(template)
    separated, rest = [], template
    for i, piece in enumerate(pieces):
        end = rest.index(piece) + len(piece)
        following = rest.index(pieces[i + 1], end) if i + 1 < len(pieces) else len(rest)
        separated.append(rest[:following])
        rest = rest[following:]
    return separated, [i for i, piece in enumerate(pieces) if sentence_kind(piece) == "step"]


def _differs(program: Program, steps: Sequence[Part]) -> bool:
    """Return whether another chain of steps gives other answers on a good share of instances."""
    environment = load(program.source)
    parts = [program.parts[0], *steps]
    different = 0
    for level, seed in SAMPLE:
        z, a = environment._generate(seed, level)
        try:
            different += run_chain(parts, z)[-1].value != a
        except (ValueError, IndexError, KeyError, ZeroDivisionError, StopIteration, TypeError):
            return False
    return different >= DIFFERS * len(SAMPLE)


def _said(part: Part, rng: random.Random, places: dict[str, str]) -> str:
    values = places | dict(part.params)
    text = rng.choice(COMPUTATIONS[part.name].sentences)
    return re.sub(r"\{([A-Z]+)\}", lambda found: values[found.group(1)], text)


def ask_other_quantity(program: Program, rng: random.Random) -> tuple[str, str] | None:
    """Exchange one sentence for that of another computation on the same kind of value."""
    steps = list(program.steps)
    sentences, where = sentences_of(program)
    places = {slot: f"{{{key}}}" for slot, key in program.parts[0].params}
    order = list(range(len(steps)))
    rng.shuffle(order)
    held_out = any(step.name in HELD_OUT for step in steps)
    for i in order:
        mine = COMPUTATIONS[steps[i].name]
        others = [
            part
            for part in COMPUTATIONS.values()
            if (part.takes, part.gives, set(part.draws)) == (mine.takes, mine.gives, set(mine.draws))
            and (part.check is None) == (mine.check is None)
            and part.name not in {step.name for step in steps}
        ]
        rng.shuffle(others)
        drawn = next((value for slot, value in steps[i].params if slot in mine.params and value.startswith("{")), None)
        for other in others[:12]:
            if other.name in HELD_OUT and not held_out:
                continue  # a train program's fault would show it
            if drawn and not other.params:
                continue  # the drawn number would be left unexplained
            params = tuple((slot, places[slot]) for slot in other.draws)
            params += tuple((slot, drawn or str(rng.randint(*ends))) for slot, ends in other.params.items())
            part = Part("step", other.name, params)
            if _differs(program, [*steps[:i], part, *steps[i + 1 :]]):
                sentences[where[i]] = _said(part, rng, places) + _space(sentences[where[i]])
                why = f"The prompt asks for {other.name} where the code computes {mine.name}."
                return with_template(program.source, sentences), why
    return None


def _space(sentence: str) -> str:
    return sentence[len(sentence.rstrip()) :]


def ask_other_number(program: Program, rng: random.Random) -> tuple[str, str] | None:
    """Put another constant in the prompt than in the code."""
    steps = list(program.steps)
    sentences, where = sentences_of(program)
    for i, step in enumerate(steps):
        for slot, value in step.params:
            if not value.isdigit() or slot not in COMPUTATIONS[step.name].params:
                continue
            low, high = COMPUTATIONS[step.name].params[slot]
            wrong = str(rng.choice([n for n in range(low, high + 2) if n != int(value)]))
            part = Part("step", step.name, tuple((s, wrong if s == slot else v) for s, v in step.params))
            if _differs(program, [*steps[:i], part, *steps[i + 1 :]]):
                places = {key: f"{{{name}}}" for key, name in program.parts[0].params}
                sentences[where[i]] = _said(part, rng, places) + _space(sentences[where[i]])
                why = f"The prompt says {wrong} where the code of {step.name} uses {value}."
                return with_template(program.source, sentences), why
    return None


def leave_out_step(program: Program, rng: random.Random) -> tuple[str, str] | None:
    """Leave out of the prompt a step that the code takes."""
    steps = list(program.steps)
    sentences, where = sentences_of(program)
    for i in rng.sample(range(len(steps)), len(steps)):
        step = COMPUTATIONS[steps[i].name]
        drawn = any(value.startswith("{") for _, value in steps[i].params)
        if len(steps) > 1 and step.takes == step.gives and not drawn and _differs(program, steps[:i] + steps[i + 1 :]):
            del sentences[where[i]]
            return with_template(
                program.source, sentences
            ), f"The code takes the step {step.name}; the prompt does not."
    return None


def swap_steps(program: Program, rng: random.Random) -> tuple[str, str] | None:
    """Name two steps in the wrong order in the prompt."""
    steps = list(program.steps)
    sentences, where = sentences_of(program)
    for i in range(len(steps) - 1):
        first, second = COMPUTATIONS[steps[i].name], COMPUTATIONS[steps[i + 1].name]
        if not first.takes == first.gives == second.takes == second.gives:
            continue
        if _differs(program, [*steps[:i], steps[i + 1], steps[i], *steps[i + 2 :]]):
            places = {slot: f"{{{key}}}" for slot, key in program.parts[0].params}
            for index, part in ((where[i], steps[i + 1]), (where[i + 1], steps[i])):
                sentences[index] = _said(part, rng, places) + _space(sentences[index])
            why = f"The code does {first.name} before {second.name}; the prompt has them the other way round."
            return with_template(program.source, sentences), why
    return None


def hide_parameter(program: Program, rng: random.Random) -> tuple[str, str] | None:
    """Hide a value that the answer depends on."""
    for step in program.steps:
        for _, value in reversed(step.params):
            if value.startswith("{"):
                sentences, _ = sentences_of(program)
                hidden = [sentence.replace(value, "a certain number") for sentence in sentences]
                return with_template(program.source, hidden), f"The answer depends on {value[1:-1]}; it is not shown."
    return None
