"""How answers are asked for, parsed and scored: one form per answer type, a few scorers per form."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """The way an answer of one type is written and read."""

    gives: str
    parser: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class ScorerTemplate:
    """A scorer that compares with the reference; verifying scorers belong to their computation."""

    name: str
    gives: frozenset[str]
    codes: tuple[str, ...]
    weight: int
    """How often it is chosen if it fits."""


FORMS: dict[str, Form] = {
    "int": Form(
        "int",
        "try:\n    return int(y)\nexcept ValueError:\n    return None",
        ("Give one integer.", "Answer with a single integer.", "The answer is an integer."),
    ),
    "ints": Form(
        "ints",
        'try:\n    return [int(t) for t in y.replace(",", " ").split()]\nexcept ValueError:\n    return None',
        ("Give the numbers separated by spaces.", "Answer with the numbers in order, separated by spaces."),
    ),
    "word": Form(
        "word",
        "text = y.strip().lower()\nreturn text if text.isalnum() else None",
        ("Give only the resulting text.", "Answer with the text alone."),
    ),
    "yesno": Form(
        "yesno",
        'text = y.strip().lower()\nreturn text if text in ("yes", "no") else None',
        ("Answer yes or no.", "Give one word: yes or no."),
    ),
}

SCORERS: tuple[ScorerTemplate, ...] = (
    ScorerTemplate(
        "exact",
        frozenset({"int", "ints", "word", "yesno"}),
        ("return float(self._process(y) == a)", "return 1.0 if self._process(y) == a else 0.0"),
        weight=6,
    ),
    ScorerTemplate(
        "element-wise",
        frozenset({"ints"}),
        (
            (
                "v = self._process(y)\nif v is None or len(v) != len(a):\n    return 0.0\n"
                "return sum(p == q for p, q in zip(v, a)) / len(a)"
            ),
        ),
        weight=6,
    ),
    ScorerTemplate(
        "near",
        frozenset({"int"}),
        ("v = self._process(y)\nreturn 0.0 if v is None else max(0, 4 - abs(v - a)) / 4",),
        weight=1,
    ),
)
