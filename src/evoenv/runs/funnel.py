"""Fates and funnels: what becomes of candidates, in words and in counts.

A candidate's *state* is what it is now (a refusal, or where an admitted one stands). Its *fate* is its state as of its
decision: `pool`, `retired` and `entering` are all `admitted`. A *funnel* counts, along FUNNEL, the candidates that
passed each test and all before it; a count is None if it is not known yet, or if the curriculum has no such test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from evoenv.store.store import Store

STATES: dict[str, str] = {
    "pool": "In the pool",
    "retired": "Retired",
    "entering": "Admitted, entering the pool",
    "malformed": "Rejected as malformed",
    "l1": "Rejected at L1: source",
    "l2": "Rejected at L2: execution",
    "l3": "Rejected at L3: determinism",
    "l4": "Rejected at L4: variation",
    "l5": "Rejected at L5: scorer",
    "review": "Rejected by review",
    "too-hard": "Rejected as too hard",
    "too-easy": "Rejected as too easy",
    "asymmetry": "Rejected as no easier for programs than in words",
    "gate": "Rejected as not novel",
    "batch-duplicate": "Rejected as a duplicate in its batch",
    "judging": "Passed validation, not decided yet",
    "undecided": "Not decided yet",
}
"""What became of a candidate or an original, in the order in which the rules are asked."""
FUNNEL = ("proposed", "L1", "L2", "L3", "L4", "L5", "review", "calibration", "admitted")
"""What each count of a funnel is: the candidates that passed it; the last, novelty's, are the admitted."""
LAYERS = ("l1", "l2", "l3", "l4", "l5")
REFUSED = (*LAYERS, "review", "too-hard", "too-easy", "asymmetry", "gate", "batch-duplicate")
DECIDED = ("malformed", *REFUSED[len(LAYERS) :], "admitted")
"""Fates that only a decision gives."""
INSIDE = ("pool", "retired", "entering")
"""States of an admitted candidate."""

Funnel: TypeAlias = tuple[int | None, ...]
"""Counts along FUNNEL."""
NO_FUNNEL: Funnel = (None,) * len(FUNNEL)


def state_of(layer: int | None, reason: str | None, *, active: bool | None = None) -> str:
    """Name a candidate's state.

    `layer`: how far it came in validation, None before that; `reason`: what its decision says, None before that;
    `active`: whether it is in the pool, None if it never entered.
    """
    if active is not None:
        return "pool" if active else "retired"
    if reason is not None and reason != "layer":
        return "entering" if reason == "admitted" else reason
    if layer is None:
        return "undecided"
    return f"l{layer + 1}" if layer < len(LAYERS) else "judging"


def fate_of(state: str) -> str:
    """Name the fate of a candidate in this state."""
    return "admitted" if state in INSIDE else state


def refusals_of(fates: Mapping[str, int]) -> Counter[str]:
    """Count refusals by rule, as decisions name them: the five layers are one rule, `layer`."""
    counts = Counter({name: fates.get(name, 0) for name in ("malformed", *REFUSED) if name not in LAYERS})
    counts["layer"] = sum(fates.get(name, 0) for name in LAYERS)
    return +counts


def funnel_of(fates: Mapping[str, int], *, decided: bool = True, questions: bool = False) -> Funnel:
    """Count who passed which test.

    `decided`: whether the rules after L5 were asked; until then those counts are None. `questions` (r-zero) have no
    layers: they are malformed or not, and then the band decides.
    """
    proposed = sum(fates.values())
    if questions:
        kept = (proposed - fates.get("malformed", 0), fates.get("admitted", 0)) if decided else (None, None)
        return (proposed, *(None,) * 6, *kept)
    left = proposed - fates.get("undecided", 0)
    counts = [proposed]
    for name in LAYERS:
        left -= fates.get(name, 0)
        counts.append(left)
    if not decided:
        return (*counts, None, None, None)
    left -= fates.get("judging", 0)
    for names in (("review",), ("too-hard", "too-easy", "asymmetry"), ("gate", "batch-duplicate")):
        left -= sum(fates.get(name, 0) for name in names)
        counts.append(left)
    return tuple(counts)


def add_funnels(funnels: Iterable[Funnel]) -> Funnel:
    """Add funnels up; what is known of no step stays None."""
    totals = NO_FUNNEL
    for counts in funnels:
        totals = tuple(
            count if total is None else total + (count or 0) for total, count in zip(totals, counts, strict=True)
        )
    return totals


@dataclass(frozen=True, slots=True)
class Fates:
    """What became of the candidates of a step so far."""

    counts: Counter[str]
    decided: bool = False
    questions: bool = False

    @property
    def funnel(self) -> Funnel:
        """Counts along FUNNEL."""
        return funnel_of(self.counts, decided=self.decided, questions=self.questions)


NO_FATES = Fates(Counter())


def read_fates(store: Store, first: int, last: int) -> dict[int, Fates]:
    """Count the fates of the steps from `first` to `last` that proposed anything; reads no texts."""
    candidates = store.query(
        "SELECT step, layer, reason, count(*) FROM decisions WHERE step BETWEEN ? AND ? GROUP BY step, layer, reason",
        (first, last),
    )
    # A step whose candidates are all decided needs no look at each of them: in a long run that is every step but one.
    decided = Counter[int]()
    for step, _, _, count in candidates:
        decided[step] += count
    proposed = store.query(
        "SELECT step, count(*) FROM candidates WHERE step BETWEEN ? AND ? GROUP BY step ORDER BY step", (first, last)
    )
    for step, count in proposed:
        if decided[step] < count:
            candidates += store.query(
                "SELECT c.step, r.layer, NULL, count(*) FROM candidates c LEFT JOIN reports r ON r.candidate_id = c.id "
                "WHERE c.step = ? AND NOT EXISTS (SELECT 1 FROM decisions d WHERE d.candidate_id = c.id) "
                "GROUP BY r.layer",
                (step,),
            )
    questions = store.query(
        "SELECT q.step, NULL, d.reason, count(*) FROM questions q LEFT JOIN question_decisions d "
        "ON d.question_id = q.id WHERE q.step BETWEEN ? AND ? GROUP BY q.step, d.reason",
        (first, last),
    )
    by_step: dict[int, Fates] = {}
    for rows, are_questions in ((candidates, False), (questions, True)):
        for step, layer, reason, count in rows:
            known = by_step.get(step, NO_FATES)
            counts = known.counts + Counter({fate_of(state_of(layer, reason)): count})
            by_step[step] = Fates(counts, known.decided or reason is not None, are_questions)
    return by_step


def read_funnel(store: Store, step: int) -> Funnel:
    """Count who passed which test in a step; cheap enough to be asked again and again."""
    return read_fates(store, step, step).get(step, NO_FATES).funnel
