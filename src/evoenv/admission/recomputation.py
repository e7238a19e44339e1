"""Review by recomputation: what K independent programs say about an environment's answers. Pure.

Each program was written from rendered prompts alone and run on the same fresh instances; the environment's own scorer
judged what it returned. Agreement with the reference is evidence that no reading gives, and a contradiction comes with
a witness. A recomputation only opens or closes the door to the pool. It is no argument of `reward`, and neither is the
asymmetry, which compares the programs with the solver; with `generator.reward = "proven"` what the door is closed to
for them is not paid for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from evoenv.equivalence import canonical
from evoenv.records import Recomputation, RecomputationVerdict, Witness

ReviewKind = Literal["reading", "recomputing", "both"]
CONFIRMED: tuple[RecomputationVerdict, ...] = ("confirmed",)


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What one program returned for one instance, and whether the environment's scorer calls it right."""

    answer: str | None
    """None if the program failed there: it then says nothing."""
    right: bool = False


@dataclass(frozen=True, slots=True)
class FreshInstance:
    """An instance that the programs were run on, as a witness shows it."""

    seed: int
    difficulty: int
    prompt: str
    reference: str


def recomputation_of(instances: Sequence[FreshInstance], programs: Sequence[Sequence[Recomputed]]) -> Recomputation:
    """Judge an environment by what its programs said, one row of answers per program.

    `contradicted`: two or more programs agree with each other against the reference on some instance. `confirmed`: at
    least one program is right on all instances, and no two others agree on something else. `unconfirmed`: anything
    else, no instances or no programs among it.
    """
    shares = tuple(sum(item.right for item in row) / len(row) if row else 0.0 for row in programs)
    verdict: RecomputationVerdict = "unconfirmed"
    witness = _witness(instances, programs)
    if witness is not None:
        verdict = "contradicted"
    elif instances and any(row and all(item.right for item in row) for row in programs):
        verdict = "confirmed"
    return Recomputation(verdict, len(instances), shares, witness)


def _witness(instances: Sequence[FreshInstance], programs: Sequence[Sequence[Recomputed]]) -> Witness | None:
    """Return the instance on which most programs agree against the reference; the first among equals."""
    best: Witness | None = None
    for number, instance in enumerate(instances):
        camps: dict[str | Fraction, list[int]] = {}
        for program, row in enumerate(programs):
            said = row[number]
            if said.answer is not None and not said.right:
                camps.setdefault(canonical(said.answer), []).append(program)
        for agreeing in camps.values():
            if len(agreeing) >= 2 and (best is None or len(agreeing) > len(best.programs)):
                answer = programs[agreeing[0]][number].answer or ""
                best = Witness(
                    instance.seed, instance.difficulty, instance.prompt, instance.reference, answer, tuple(agreeing)
                )
    return best


def asymmetry_of(recomputation: Recomputation | None, pass_rate: float | None) -> float | None:
    """Compute by how much programs do better than words: the share of instances that they get right, minus â.

    From −1 to 1; None if no program was written or nothing was calibrated.
    """
    if recomputation is None or not recomputation.shares or pass_rate is None:
        return None
    return recomputation.right - pass_rate


def recomputation_admits(
    recomputation: Recomputation | None,
    kind: ReviewKind,
    *,
    reading_accepts: bool,
    admits: Collection[RecomputationVerdict] = CONFIRMED,
) -> bool:
    """Tell whether a candidate passes its review.

    `reading` asks the readers alone. `recomputing` admits the verdicts of `admits`, by default confirmed ones only.
    `both` admits what reading accepts and recomputation does not contradict. No recomputation at all is unconfirmed.
    """
    verdict = recomputation.verdict if recomputation is not None else "unconfirmed"
    if kind == "reading":
        return reading_accepts
    if kind == "recomputing":
        return verdict in admits
    return reading_accepts and verdict != "contradicted"
