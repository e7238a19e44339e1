"""What a synthesis gives for the tokens that it proposes with, repairs told apart."""

from __future__ import annotations

from dataclasses import dataclass

from evoenv.store.store import Store

LAYERS = 5


@dataclass(frozen=True, slots=True)
class Yield:
    """What one way of proposing came to: at once (`generate`), or by mending what had failed (`repair`)."""

    candidates: int = 0
    validated: int = 0
    """Reached L5."""
    admitted: int = 0
    tokens: int = 0
    """Response tokens; prompts, reviews and calibrations are not counted. 0 if the policy cannot say."""

    def __add__(self, other: Yield) -> Yield:
        return Yield(
            self.candidates + other.candidates,
            self.validated + other.validated,
            self.admitted + other.admitted,
            self.tokens + other.tokens,
        )

    @property
    def validated_per_thousand(self) -> float:
        """Candidates at L5 per thousand tokens."""
        return 1000 * self.validated / self.tokens if self.tokens else 0.0

    @property
    def admitted_per_thousand(self) -> float:
        """Admitted candidates per thousand tokens."""
        return 1000 * self.admitted / self.tokens if self.tokens else 0.0


def read_yields(store: Store, last: int) -> tuple[Yield, Yield]:
    """Count what was proposed at once and what was repaired, in the steps up to `last`."""
    counts = store.query(
        "SELECT q.purpose, count(*), coalesce(sum(r.layer >= ?), 0), coalesce(sum(d.admitted), 0) FROM candidates c "
        "JOIN requests q ON q.id = c.request_id LEFT JOIN reports r ON r.candidate_id = c.id "
        "LEFT JOIN decisions d ON d.candidate_id = c.id WHERE c.step <= ? GROUP BY q.purpose",
        (LAYERS, last),
    )
    tokens = store.query(
        "SELECT q.purpose, coalesce(sum(s.tokens), 0) FROM requests q JOIN samples s ON s.request_id = q.id "
        "WHERE q.step <= ? AND q.purpose IN ('generate', 'repair') GROUP BY q.purpose",
        (last,),
    )
    used = dict(tokens)
    by_purpose = {
        purpose: Yield(int(candidates), int(validated), int(admitted), int(used.get(purpose, 0)))
        for purpose, candidates, validated, admitted in counts
    }
    return by_purpose.get("generate", Yield()), by_purpose.get("repair", Yield())
