"""Read a prompt template back: every sentence is looked up among the sentences of the parts."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache

from evoenv.corpus.catalogue.domains import DOMAINS
from evoenv.corpus.catalogue.families import COMPUTATIONS
from evoenv.corpus.catalogue.scoring import FORMS
from evoenv.corpus.read.code import ReadStep, Unreadable

_VALUE = re.compile(r"\{\w+\}|(?<![\w-])\d+(?!\w)|(?<=\{)[A-Z]+(?=\})")
_CONNECTOR = re.compile(r"^(?:then|next,|now|finally,|first,|after that,)\s+")


@dataclass(frozen=True)
class Meaning:
    """What a sentence says: an introduction, a computation or a form; and which slot each value fills."""

    kind: str
    name: str
    values: tuple[str, ...]
    """In order: `{XS}` for a slot, `1` for a number that must stand there."""


@dataclass(frozen=True)
class WordReading:
    """What a template asks for."""

    steps: tuple[ReadStep, ...]
    intro: dict[str, str]
    """The place that shows each slot of the domain, if there is an introduction."""
    domain: str | None
    form: str
    places: tuple[str, ...] = field(default=())
    """Every place of the template."""


def sentence_key(sentence: str) -> tuple[str, tuple[str, ...]]:
    """Return a sentence without its values, and the values."""
    text = _CONNECTOR.sub("", " ".join(sentence.split()).strip().lower()) if "{" not in sentence else _lowered(sentence)
    values = tuple(_VALUE.findall(text))
    return _VALUE.sub("#", text), values


def _lowered(sentence: str) -> str:
    """Lower case outside the places, whose names are significant."""
    pieces = re.split(r"(\{\w+\})", " ".join(sentence.split()).strip())
    return _CONNECTOR.sub("", "".join(piece if piece.startswith("{") else piece.lower() for piece in pieces))


def split_sentences(template: str) -> list[str]:
    return [piece for piece in re.split(r"(?<=[.?!])\s+|\n+", template.strip()) if piece.strip()]


@lru_cache(maxsize=1)
def meanings() -> dict[str, tuple[Meaning, ...]]:
    """Return the meanings of every known sentence."""
    table: defaultdict[str, list[Meaning]] = defaultdict(list)
    known = [("step", part.name, text) for part in COMPUTATIONS.values() for text in part.sentences]
    known += [("intro", domain.name, text) for domain in DOMAINS.values() for text in domain.intros]
    known += [("form", form.gives, text) for form in FORMS.values() for text in form.sentences]
    for kind, name, text in known:
        key, values = sentence_key(text)
        table[key].append(Meaning(kind, name, values))
    return {key: tuple(entries) for key, entries in table.items()}


def sentence_kind(sentence: str) -> str | None:
    """Return `intro`, `step` or `form`; None if no part says this."""
    key, values = sentence_key(sentence)
    kinds = [meaning.kind for meaning in meanings().get(key, ()) if _bind(meaning.values, values) is not None]
    return kinds[0] if kinds else None


def read_words(template: str) -> WordReading:
    """Read the steps that a template asks for; raise Unreadable with the sentence that is unknown."""
    steps: list[ReadStep] = []
    intros: list[tuple[str, dict[str, str]]] = []
    forms: list[str] = []
    for sentence in split_sentences(template):
        key, values = sentence_key(sentence)
        readings = [
            (meaning, bound)
            for meaning in meanings().get(key, ())
            if (bound := _bind(meaning.values, values)) is not None
        ]
        if not readings:
            raise Unreadable(f"no part says {sentence!r}")
        kinds = {meaning.kind for meaning, _ in readings}
        if kinds == {"intro"}:
            if not all(value.startswith("{") for _, bound in readings for value in bound.values()):
                raise Unreadable(f"{sentence!r} shows a number where the instance belongs")
            intros += [(meaning.name, _places(bound)) for meaning, bound in readings]
        elif kinds == {"form"}:
            forms.append(readings[0][0].name)
        else:
            meaning, bound = readings[0]
            steps.append(ReadStep(meaning.name, bound))
    if len(set(forms)) != 1 or not steps:
        raise Unreadable("the template does not say what is asked for and how to answer, each once")
    fitting = [(name, slots) for name, slots in intros if name == COMPUTATIONS[steps[0].name].takes]
    if intros and not fitting:
        raise Unreadable(f"the introduction is one of {intros[0][0]}, not of {COMPUTATIONS[steps[0].name].takes}")
    domain, intro = fitting[0] if fitting else (None, {})
    places = tuple(dict.fromkeys(re.findall(r"\{(\w+)\}", template)))
    return WordReading(tuple(steps), intro, domain, forms[0], places)


def _places(bound: dict[str, str]) -> dict[str, str]:
    return {slot: value[1:-1] for slot, value in bound.items()}


def _bind(template: tuple[str, ...], seen: tuple[str, ...]) -> dict[str, str] | None:
    """Fill the sentence's slots with the values seen; None if a fixed number differs."""
    bound: dict[str, str] = {}
    if len(template) != len(seen):  # a "#" in the text looks like a value in its key
        return None
    for mine, theirs in zip(template, seen, strict=True):
        if mine.startswith("{"):
            if bound.setdefault(mine[1:-1], theirs) != theirs:
                return None
        elif mine != theirs:
            return None
    return bound
