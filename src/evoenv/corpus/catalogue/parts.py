"""The kinds of parts that programs are composed of, and the template language they are written in.

A part's code and its sentences are templates over upper-case *slots*: `XS` the list at hand, `OUT` what the part
computes, `K` a parameter. Because the same slots stand in the code and in the words, a program can be read back into
parts, and its prompt compared with its code (`consistency`).
"""

from __future__ import annotations

import collections
import itertools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any

SLOT = re.compile(r"\b[A-Z][A-Z0-9]*\b")
_STRING = re.compile(r'("[^"\n]*")')


@dataclass(frozen=True, slots=True)
class Part:
    """One part as a program uses it: `params` pairs a slot with a constant (`3`) or a shown variable (`{k}`)."""

    kind: str
    """`sampler`, `step` (anything computed) or `scorer`."""
    name: str
    params: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        constants = ", ".join(value for _, value in self.params if self.kind == "step")
        return f"{self.name}({constants})" if constants else self.name


@dataclass(frozen=True)
class Sampler:
    """One way to draw the instances of a domain."""

    name: str
    code: str
    facts: frozenset[str] = frozenset()
    """What holds for its lists: positive, distinct, signed, scaled (multiples of one number)."""
    knobs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Expressions in `difficulty` for SIZE, TOP and the like; the default ones if a knob is not named."""


@dataclass(frozen=True)
class Domain:
    """What a program starts from: its slots, how they are drawn, how they are shown."""

    name: str
    slots: tuple[str, ...]
    samplers: tuple[Sampler, ...]
    intros: tuple[str, ...]


@dataclass(frozen=True)
class Computation:
    """Something that is computed: a step, a quantity, or a last touch on a result."""

    name: str
    area: str
    takes: str
    """A domain, `scalars`, or the type of a value: ints, int, word."""
    gives: str
    """ints, int, word or yesno: the type of what is computed, hence how it is answered."""
    codes: tuple[str, ...]
    sentences: tuple[str, ...]
    params: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Slots filled with a constant, or with a variable that is drawn and shown; the range of both."""
    draws: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """For `scalars`: the least value of each slot and an expression in `difficulty` for the greatest."""
    needs: frozenset[str] = frozenset()
    drops: frozenset[str] = frozenset()
    adds: frozenset[str] = frozenset()
    least: int = 1
    """The fewest elements it takes; 0 if an empty list is fine."""
    loses: int = 0
    """How many elements fewer it gives."""
    filters: bool = False
    """May leave nothing."""
    grows: bool = False
    """Gives much larger numbers: at most one such step in a program."""
    permutes: bool = False
    """Only reorders: pointless unless something after it depends on the order."""
    ordered: bool = False
    """Its result depends on the order of the list."""
    sorts: bool = False
    """Gives a list in order, of which some questions are trivial."""
    alone: bool = True
    """Enough of a task without another step."""
    clashes: frozenset[str] = frozenset()
    """Parts that would make it trivial."""
    last: bool = False
    """A touch on the final number, not a family of its own."""
    check: str | None = None
    """The scorer's body, if answers are verified instead of compared."""
    trail: str | None = None
    """An expression over the code's names: the intermediate results a worked solution shows."""
    made_of: tuple[str, ...] = ()
    """The computations that give the same one after the other: the steps that a worked solution takes."""
    spelled_out: bool = False
    """Its code is theirs, one after the other, and reads back as such."""

    @property
    def imports(self) -> tuple[str, ...]:
        return imports_of("\n".join((*self.codes, self.check or "")))


IMPORTS: tuple[tuple[str, str], ...] = (
    ("Counter", "from collections import Counter"),
    ("itertools", "import itertools"),
    ("math", "import math"),
)
NAMESPACE: dict[str, Any] = {"math": math, "itertools": itertools, "Counter": collections.Counter}


def imports_of(code: str) -> tuple[str, ...]:
    """Return the import lines, besides `import random`, that a piece of code needs."""
    return tuple(line for name, line in IMPORTS if re.search(rf"\b{name}\b", code))


def substitute(template: str, values: Mapping[str, str]) -> str:
    """Fill a code template's slots; slots inside text literals (keys of the instance) are filled as well."""
    return SLOT.sub(lambda match: values.get(match.group(), match.group()), template)


def slots_of(template: str) -> tuple[str, ...]:
    """Return the slots of a template in order of first use."""
    return tuple(dict.fromkeys(SLOT.findall(_STRING.sub("", template))))


@lru_cache(maxsize=4096)
def _compiled(code: str, mode: str) -> CodeType:
    return compile(code, "<corpus part>", mode)


def evaluate(part: Computation, values: Mapping[str, Any], code: str | None = None) -> tuple[Any, dict[str, Any]]:
    """Run a part's own code on values for its slots: what it computes, and every name it leaves behind."""
    names = {**NAMESPACE, **values}
    exec(_compiled(code or part.codes[0], "exec"), names)
    return names["OUT"], names


def trail(part: Computation, names: Mapping[str, Any]) -> Any:
    """Return the intermediate results that a worked solution shows, or None."""
    return eval(_compiled(part.trail, "eval"), dict(names)) if part.trail else None


def texts(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
