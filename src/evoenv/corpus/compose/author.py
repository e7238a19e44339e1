"""The procedural author: environments in the functional dialect, composed from parts, one for every index.

>>> program = Author(seed=0, split="train").compose(7)
>>> program.family, program.source                                  # doctest: +SKIP
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from evoenv.corpus.catalogue.domains import DOMAINS
from evoenv.corpus.catalogue.families import Split, families
from evoenv.corpus.catalogue.parts import Computation, Part, imports_of, substitute
from evoenv.corpus.catalogue.scoring import FORMS, SCORERS
from evoenv.corpus.compose.chains import INPUT_SLOT
from evoenv.corpus.compose.planning import ProgramPlan, plan
from evoenv.corpus.compose.rewriting import text_literal
from evoenv.corpus.compose.screen import pointless
from evoenv.errors import InputError
from evoenv.records import derive_seed

DRAWN_PARAMETER = 0.3
"""Share of parameters that are drawn and shown instead of being constants; at most one in a program."""
TRIES = 100
"""Programs of a family that may turn out pointless before the catalogue is to blame."""

SLOT_NAMES: dict[str, tuple[str, ...]] = {
    "XS": ("xs", "nums", "values", "data", "items"),
    "YS": ("ys", "others", "second"),
    "S": ("s", "word", "text"),
    "T": ("t", "target", "other"),
    "N": ("n", "num", "size"),
    "EDGES": ("edges", "links", "pairs"),
    "PARENTS": ("parents", "above"),
    "SPANS": ("spans", "intervals"),
    "ROWS": ("rows", "grid", "matrix"),
    "A": ("lead", "factor", "one"),
    "K": ("k", "m", "bound"),
}
STEP_NAMES = {"ints": ("ys", "zs", "out", "new", "kept", "steps"), "word": ("t", "out", "new", "changed")}
NUMBER_NAMES = ("total", "found", "value", "res")
ANSWER_NAMES = ("a", "a", "ans", "answer", "result")
CONNECTORS = ("", "Then ", "Next, ", "Now ")
LAST_CONNECTORS = ("", "Then ", "Finally, ")
SUFFIXES = ("", "", "", "Task", "Puzzle", "Quiz")
JOINERS = ("**z", "**z", " ", ", ")
"""How lists of numbers are shown: as Python writes them, or joined."""


@dataclass(frozen=True, slots=True)
class Program:
    """An environment's source and what it was made of."""

    source: str
    family: str
    parts: tuple[Part, ...]
    description: str
    name: str

    @property
    def steps(self) -> tuple[Part, ...]:
        """What is computed, in order."""
        return tuple(part for part in self.parts if part.kind == "step")


class Author:
    """Composes programs of one split; the same seed, split and index always give the same program."""

    def __init__(self, seed: int, split: Split = "train") -> None:
        if split not in get_args(Split):
            raise InputError(f"got the split {split!r}; expected one of {', '.join(get_args(Split))}")
        self.seed, self.split = seed, split
        self.families = families(split)

    def compose(self, index: int) -> Program:
        """Compose the program number `index`, of a family drawn at random from the split."""
        rng = random.Random(derive_seed("corpus", self.seed, self.split, index))
        return self._compose(rng, rng.choice(self.families))

    def compose_family(self, family: str, index: int) -> Program:
        """Compose the program number `index` of one family of the split."""
        if family not in self.families:
            raise InputError(f"the split {self.split!r} has no family {family!r}; it has {', '.join(self.families)}")
        rng = random.Random(derive_seed("corpus", self.seed, self.split, family, index))
        return self._compose(rng, family)

    def _compose(self, rng: random.Random, family: str) -> Program:
        for _ in range(TRIES):
            program = _write(rng, family, self.split)
            if not pointless(program.source, program.parts):
                return program
        raise AssertionError(
            f"{TRIES} programs of the family {family!r} were pointless; the last: {program.description}"
        )

    def programs(self, count: int) -> Iterator[Program]:
        """Compose the first `count` programs."""
        return (self.compose(index) for index in range(count))


@dataclass
class _Names:
    """Variable names that clash neither with each other nor with a template's own."""

    rng: random.Random
    taken: set[str]

    def pick(self, pool: Sequence[str], slot: str = "") -> str:
        free = [name for name in pool if name not in self.taken] or [f"{(slot or pool[0]).lower()}{len(self.taken)}"]
        name = self.rng.choice(free)
        self.taken.add(name)
        return name


def _write(rng: random.Random, family: str, split: Split) -> Program:
    planned = plan(rng, family, split)
    chain = planned.chain
    codes = [rng.choice(part.codes) for part in chain]
    names = _Names(rng, _template_names(planned, codes))
    lines, slots, sampler = _sampling(rng, planned, names)
    shown_names = dict(slots)
    parts, steps, sentences, current = [sampler], list[str](), list[str](), ""
    for i, (part, code) in enumerate(zip(chain, codes, strict=True)):
        values = dict(slots) if not i else {INPUT_SLOT[part.takes]: current}
        params, draw = _parameters(rng, part, names, may_draw="K" not in shown_names)
        if draw:
            lines.append(draw)
            shown_names["K"] = params["K"][1:-1]
        values |= {slot: value.strip("{}") for slot, value in params.items()}
        pool = ANSWER_NAMES if part is chain[-1] else STEP_NAMES.get(part.gives, NUMBER_NAMES)
        current = values["OUT"] = names.pick(pool)
        steps.append(substitute(code, values))
        placeholders = {slot: f"{{{name}}}" for slot, name in slots.items()} | params
        sentences.append(_sentence(rng, part, placeholders, i, len(chain)))
        scalars = tuple((slot, f"{{{slots[slot]}}}") for slot in part.draws)
        parts.append(Part("step", part.name, scalars + tuple(params.items())))
    scorer_name, scorer_code = _scorer(rng, chain[-1], slots)
    parts.append(Part("scorer", scorer_name))
    gives = chain[-1].gives
    template = _template(rng, planned, slots, sentences, rng.choice(FORMS[gives].sentences))
    name = "".join(_camel(part.name) for part in chain) + rng.choice(SUFFIXES)
    pairs = ", ".join(f'"{key}": {key}' for key in shown_names.values())
    imports = sorted(("import random", *imports_of("\n".join([*codes, scorer_code]))), key=_import_order)
    source = _PROGRAM.format(
        imports="\n".join(imports),
        name=name,
        template=text_literal(template),
        body=_indent("\n".join([*lines, *steps])),
        instance=f"{{{pairs}}}",
        answer=current,
        render=_render(rng, chain[0], shown_names),
        parser=_indent(FORMS[gives].parser),
        scorer=_indent(scorer_code),
    )
    description = f"{' then '.join(str(part) for part in parts[1:-1])}, on {sampler.name}"
    return Program(source, family, tuple(parts), description, name)


_PROGRAM = """{imports}


class {name}(VerifiableEnvironment):
    prompt_template = {template}

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
{body}
        return {instance}, {answer}

    def _prompt_generate(self, z):
        return self.prompt_template.format({render})

    def _process(self, y):
{parser}

    def scorer(self, y, z, a):
{scorer}
"""


def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line


def _template_names(planned: ProgramPlan, codes: Sequence[str]) -> set[str]:
    code = "\n".join([*codes, planned.sampler.code if planned.sampler else ""])
    return set(re.findall(r"\b[a-z_]\w*\b", code)) | {"rng", "seed", "difficulty", "self", "z", "y"}


def _sampling(rng: random.Random, planned: ProgramPlan, names: _Names) -> tuple[list[str], dict[str, str], Part]:
    """Return the lines that draw the instance, the variable of each slot, and the part."""
    first = planned.chain[0]
    if planned.sampler is None:
        slots = {slot: names.pick(SLOT_NAMES.get(slot, (slot.lower(),)), slot) for slot in first.draws}
        lines = [f"{slots[slot]} = rng.randint({low}, {top})" for slot, (low, top) in first.draws.items()]
        return lines, slots, Part("sampler", "scalars", tuple(slots.items()))
    domain = DOMAINS[first.takes]
    slots = {slot: names.pick(SLOT_NAMES.get(slot, (slot.lower(),)), slot) for slot in domain.slots}
    code = substitute(planned.sampler.code, slots | planned.knobs)
    return [code], slots, Part("sampler", f"{domain.name}/{planned.sampler.name}", tuple(slots.items()))


def _parameters(
    rng: random.Random, part: Computation, names: _Names, *, may_draw: bool
) -> tuple[dict[str, str], str | None]:
    """Choose a constant or a drawn, shown variable for each parameter; also return the line that draws it."""
    params: dict[str, str] = {}
    draw = None
    for slot, (low, high) in part.params.items():
        if may_draw and rng.random() < DRAWN_PARAMETER:
            name = names.pick(SLOT_NAMES.get(slot, (slot.lower(),)), slot)
            params[slot], draw = f"{{{name}}}", f"{name} = rng.randint({low}, {high})"
        else:
            params[slot] = str(rng.randint(low, high))
    return params, draw


def _sentence(rng: random.Random, part: Computation, values: dict[str, str], index: int, count: int) -> str:
    text = _fill(rng.choice(part.sentences), values)
    connector = rng.choice(LAST_CONNECTORS if index == count - 1 else CONNECTORS) if index else ""
    return connector + text[0].lower() + text[1:] if connector else text


def _template(
    rng: random.Random, planned: ProgramPlan, slots: dict[str, str], sentences: Sequence[str], form: str
) -> list[str]:
    """Return the template as pieces, one sentence each, with the separators between them."""
    first = planned.chain[0]
    intros = DOMAINS[first.takes].intros if planned.sampler else ()
    pieces = [*sentences, form]
    if intros:
        intro = _fill(rng.choice(intros), {slot: f"{{{name}}}" for slot, name in slots.items()})
        label = intro[-1] not in ".?"
        if label and rng.random() < 0.3:
            pieces[-1] += "\n"
            pieces.append(intro)
        else:
            pieces.insert(0, intro + ("\n" if label else ""))
    return [piece if piece.endswith("\n") or piece is pieces[-1] else piece + " " for piece in pieces]


def _fill(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\{([A-Z]+)\}", lambda match: values[match.group(1)], text)


def _render(rng: random.Random, first: Computation, shown: dict[str, str]) -> str:
    joiner = rng.choice(JOINERS)
    if joiner == "**z" or not {"XS"} <= shown.keys() or first.takes == "scalars":
        return "**z"
    texts = []
    for slot, key in shown.items():
        value = f'z["{key}"]'
        texts.append(f'{key}="{joiner}".join(map(str, {value}))' if slot in ("XS", "YS") else f"{key}={value}")
    return ", ".join(texts)


def _scorer(rng: random.Random, last: Computation, slots: dict[str, str]) -> tuple[str, str]:
    if last.check is not None:
        return f"verifies {last.name}", substitute(last.check, slots)
    fitting = [scorer for scorer in SCORERS if last.gives in scorer.gives]
    chosen = rng.choices(fitting, [scorer.weight for scorer in fitting])[0]
    return chosen.name, rng.choice(chosen.codes)


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def _indent(code: str) -> str:
    return "\n".join("        " + line for line in code.split("\n"))
