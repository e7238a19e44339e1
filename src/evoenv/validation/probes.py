"""What the scorer said to right, wrong and absurd answers: the raw material of L5 (and of reviews).

Everything is scored in a few batched calls; the judging is in `l5_scorer`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from evoenv.records import Replay
from evoenv.sandbox.outcomes import Failed, Ok, Outcome
from evoenv.validation.evidence import Drawn, Evidence
from evoenv.validation.forms import FORMS, PART_FORMS, Render
from evoenv.validation.variants import EMPTY, MALFORMED, ODD, join_options, overlong, padded, variants

RIGHT = 1.0 - 1e-9
"""A right answer may lose this much to rounding."""
FULL = 1.0 - 1e-13
"""A wrong answer from here on is taken for right: a ratio of counts near a billion is not."""
OPTIONS_AT_MOST = 8
LENIENT = " units"
"""Behind a right answer: who forgives it picks answers out of a text."""
_WHOLE = re.compile(r"-?[0-9]+")


Planned: TypeAlias = tuple[Drawn, str, str, bool, str]
"""(instance, kind, text, may_be_valid, label): an answer that is going to be scored."""


@dataclass(frozen=True)
class Probe:
    """One answer given to one instance's scorer."""

    instance: Drawn
    kind: str
    text: str
    outcome: Outcome
    may_be_valid: bool = False
    label: str = ""
    negligible: bool = False
    """Changed by less than a billionth."""

    @property
    def score(self) -> float | None:
        return self.outcome.value if isinstance(self.outcome, Ok) else None

    @property
    def replay(self) -> Replay:
        return Replay(self.instance.seed, self.instance.difficulty, self.text)

    def describe(self) -> str:
        answer = self.label or (repr(self.text) if len(self.text) <= 60 else repr(self.text[:57]) + "…")
        return f"seed {self.instance.seed}, difficulty {self.instance.difficulty}: the answer {answer}"


@dataclass(frozen=True)
class Solved:
    """An instance with an answer text that scores 1, the form it is written in, and the value it writes."""

    instance: Drawn
    text: str
    form: Render
    value: Any


def score(evidence: Evidence, items: Sequence[Planned], **args: Any) -> list[Probe]:
    """Score (instance, kind, text, may_be_valid, label) items in one batch."""
    calls = [[instance.seed, instance.difficulty, text] for instance, _, text, _, _ in items]
    outcomes = evidence.call("score", calls, args or None, stop_on_death=False)
    return [
        Probe(instance, kind, text, outcome, may_be_valid, label, negligible=_negligible(instance.answer, text))
        for (instance, kind, text, may_be_valid, label), outcome in zip(items, outcomes, strict=True)
    ]


def _negligible(answer: Any, text: str) -> bool:
    """Return whether a number was changed by less than a billionth of itself."""
    number = str(answer).strip()
    if not 10 <= len(number) <= 4000 or len(text) > 4000 or not (_WHOLE.fullmatch(number) and _WHOLE.fullmatch(text)):
        return False
    return abs(int(number) - int(text)) * 10**9 < abs(int(number))


# --------------------------------------------------------------------------- right answers


def solve(evidence: Evidence, chosen: Sequence[Drawn]) -> tuple[list[Solved], list[Drawn], list[Probe]]:
    """Write each reference so that it scores 1: (solved, unsolved, what failed instead of scoring).

    The form that works for the first instances is tried first for the rest: most candidates need one call.
    """
    ranking: Counter[Render] = Counter()
    solved: list[Solved] = []
    unsolved: list[Drawn] = []
    broken: list[Probe] = []
    pending = list(chosen)
    while pending:
        batch, pending = (pending[:4], pending[4:]) if not ranking else (pending, [])
        best = [form for form, _ in ranking.most_common(2)]
        left = _try_forms(evidence, batch, best, ranking, solved, broken) if best else batch
        left = _try_forms(evidence, left, FORMS, ranking, solved, broken)
        left = _try_forms(evidence, left, PART_FORMS, ranking, solved, broken)
        unsolved += left
        if broken:
            break
    return solved, unsolved, broken


def _try_forms(
    evidence: Evidence,
    batch: Sequence[Drawn],
    forms: Sequence[Render],
    ranking: Counter[Render],
    solved: list[Solved],
    broken: list[Probe],
) -> list[Drawn]:
    """Solve what these forms can solve; return what is left."""
    items: list[Planned] = []
    used: list[Render] = []
    for instance in batch:
        texts: dict[str, Render] = {}
        for form in forms:
            text = form(instance.answer)
            if text is not None:
                texts.setdefault(text, form)
        for text, form in texts.items():
            items.append((instance, "reference", text, False, ""))
            used.append(form)
    solved_keys: set[tuple[int, int]] = set()
    for probe, form in zip(score(evidence, items), used, strict=True):
        if isinstance(probe.outcome, Failed):
            broken.append(probe)
        elif probe.score is not None and probe.score >= RIGHT and probe.instance.key not in solved_keys:
            solved_keys.add(probe.instance.key)
            ranking[form] += 1
            solved.append(Solved(probe.instance, probe.text, form, probe.instance.answer))
    return [instance for instance in batch if instance.key not in solved_keys]


# --------------------------------------------------------------------------- wrong answers


@dataclass
class WrongAnswers:
    """Probes of one kind each, by what they test."""

    changed: list[Probe] = field(default_factory=list)
    foreign: list[Probe] = field(default_factory=list)
    """References of other instances."""
    flooded: list[Probe] = field(default_factory=list)
    malformed: list[Probe] = field(default_factory=list)
    empty: list[Probe] = field(default_factory=list)
    cut: list[Probe] = field(default_factory=list)
    """The right answer with a word, or a whole number with decimals, behind it."""

    @property
    def forgiving(self) -> set[tuple[int, int]]:
        """Instances whose scorer forgives a word behind the right answer."""
        return {p.instance.key for p in self.cut if p.kind == f"cut:{LENIENT}" and (p.score or 0.0) >= FULL}

    odd: list[Probe] = field(default_factory=list)
    """Odd ways to write a number or a right answer: they may earn what they say, but must not raise."""
    overlong: list[Probe] = field(default_factory=list)
    special: list[Probe] = field(default_factory=list)
    """With `nan` or `inf` in place of numbers."""
    restated: list[Probe] = field(default_factory=list)
    """The question as its own answer."""
    option: list[Probe] = field(default_factory=list)
    """The other options, if there are only a few."""
    neighbour: list[Probe] = field(default_factory=list)
    """The nearest answer of another instance, of decimals."""

    def all(self) -> list[Probe]:
        return [
            *self.changed,
            *self.foreign,
            *self.flooded,
            *self.malformed,
            *self.empty,
            *self.cut,
            *self.odd,
            *self.overlong,
            *self.special,
            *self.restated,
            *self.option,
            *self.neighbour,
        ]


def wrong_answers(
    evidence: Evidence, solved: Sequence[Solved], options: Sequence[str], further: Sequence[Planned] = ()
) -> WrongAnswers:
    """Score, in one batch, every wrong answer that the instances at hand suggest, and those planned elsewhere."""
    plan: list[Planned] = [row for row in further if row[2].strip()]
    for index, solution in enumerate(solved):
        plan += _changed(solution)
        plan += _foreign(solution, solved, index)
        plan += _flooded(solution, options)
        plan += _whole_number_texts(solution)
    for solution in [*solved[:3], *solved[-2:]]:
        plan += [(solution.instance, "malformed", text, False, "") for text in MALFORMED]
        plan += [(solution.instance, "odd", text, False, "") for text in ODD]
        plan += [(solution.instance, "empty", text, False, "") for text in EMPTY]
    if solved:
        middle = solved[len(solved) // 2]
        plan += [(middle.instance, "overlong", text, False, name) for name, text in overlong()]
        plan += [(middle.instance, "odd", text, False, name) for name, text in padded(middle.text)]
    result = WrongAnswers()
    for probe in score(evidence, list(dict.fromkeys(plan))):
        family = probe.kind.partition(":")[0]
        getattr(result, family).append(probe)
    return result


def _changed(solution: Solved) -> list[Planned]:
    """Plan variants of the value, written in the form that works."""
    rows = []
    for variant in variants(solution.value):
        text = solution.form(variant.value)
        if text is None and isinstance(solution.value, tuple):
            text = solution.form(tuple(variant.value))
        if text is not None and text.strip() and text.strip() != solution.text.strip():
            rows.append((solution.instance, f"changed:{variant.kind}", text, variant.may_be_valid, ""))
    return rows


def _foreign(solution: Solved, solved: Sequence[Solved], index: int) -> list[Planned]:
    """Plan right answers of other instances, of the same level if there are any."""
    ring = [*solved[index + 1 :], *solved[:index]]
    ring.sort(key=lambda other: other.instance.difficulty != solution.instance.difficulty)
    texts = dict.fromkeys(
        other.text for other in ring if other.text.strip() and other.text.strip() != solution.text.strip()
    )
    return [(solution.instance, "foreign", text, False, "") for text in list(texts)[:3]]


def _whole_number_texts(solution: Solved) -> list[Planned]:
    """Plan a whole number with decimals behind it, and any answer with a word: parsers may forgive the word alone."""
    text = solution.text.strip()
    tails = (".4", ".93", LENIENT) if _WHOLE.fullmatch(text) and len(text) <= 15 else (LENIENT,)
    return [(solution.instance, f"cut:{tail}", text + tail, False, "") for tail in tails]


def _flooded(solution: Solved, options: Sequence[str]) -> list[Planned]:
    """Plan the right answer hidden among wrong ones: never first, never last, so that no honest parser finds it."""
    text = solution.text
    wrong = list(
        dict.fromkeys(
            rendered for v in variants(solution.value) if (rendered := solution.form(v.value)) and rendered.strip()
        )
    )
    wrong = [other for other in wrong if other.strip() != text.strip()][:4]
    rows: list[Planned] = []
    if len(wrong) >= 2:
        for separator in (" ", ", ", "\n"):
            rows.append((solution.instance, "flooded:listed", separator.join([wrong[0], text, *wrong[1:]]), False, ""))
        rows.append((solution.instance, "flooded:or", f"{wrong[0]} or {text} or {wrong[1]}", False, ""))
    if _WHOLE.fullmatch(text) and len(text) < 7:
        middle = int(text)
        counted = " ".join(str(n) for n in range(middle - 60, middle + 61))
        rows.append((solution.instance, "flooded:counted", counted, False, "every number around the right one"))
    if isinstance(solution.value, list | tuple | set | frozenset) and len(solution.value) >= 2:
        many = [other.value for other in variants(list(solution.value)) if other.kind in ("extra", "first-changed")]
        flooded = [*solution.value, *(item for value in many for item in value)]
        long = solution.form(flooded)
        if long is not None:
            rows.append((solution.instance, "flooded:extended", long, False, ""))
        first = next(iter(solution.value))
        echoed = solution.form([first] * len(solution.value))
        if echoed is not None and any(item != first for item in solution.value):
            rows.append((solution.instance, "flooded:echoed", echoed, False, ""))
    if 2 <= len(options) <= OPTIONS_AT_MOST and text in options:
        rows += [(solution.instance, "flooded:options", listed, False, "") for listed in join_options(options)]
        rows += [(solution.instance, "flooded:options", listed, False, "") for listed in join_options(options[::-1])]
    return rows


def answer_options(solved: Sequence[Solved]) -> list[str]:
    """Return the answers if there are only a few words to choose from, else an empty list."""
    if not all(solution.instance.full_reference for solution in solved):
        return []  # found by search on tiny instances: one of several right answers, and few only because they are tiny
    texts = Counter(solution.text for solution in solved)
    if 2 <= len(texts) <= OPTIONS_AT_MOST and not all(_WHOLE.fullmatch(text) for text in texts):
        return sorted(texts)
    return []
