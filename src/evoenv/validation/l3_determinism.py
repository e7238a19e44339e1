"""L3: the same seed gives the same instance, prompt and answer — always.

Four repetitions, each of which catches what the others cannot: again in the same process after other
instances (global random, caches), on one long-lived object (state on self), in a separately started
process with another PYTHONHASHSEED (order of sets, hash(), id()), and in another order.
"""

from __future__ import annotations

from collections.abc import Sequence

from evoenv.records import Finding
from evoenv.sandbox.outcomes import Failed
from evoenv.validation.codes import finding
from evoenv.validation.evidence import Caller, Drawn, Evidence, canonical

REPEATED = 45
REPEAT_SECONDS = 1.5
"""What one repetition may cost: expensive candidates are repeated on fewer instances."""


def check_determinism(evidence: Evidence) -> list[Finding]:
    """Repeat the draws in every way; stop at the first that differs, and report all that differs in it."""
    chosen = evidence.spread(REPEATED, seconds=REPEAT_SECONDS)
    # Backwards: what the first draw of a level left behind (a cache, a counter) must meet another first draw.
    findings = check_same_process(evidence, chosen[::-1])
    if not findings:
        findings = check_other_process(evidence, chosen[::-1])
    if not findings:
        findings = check_shared_object(evidence, chosen)
    return findings


def _differences(
    evidence: Evidence, worker: Caller, chosen: Sequence[Drawn], args: dict[str, bool] | None = None
) -> dict[str, str]:
    """Draw again; return, for each part that differs, one example of what was seen and expected."""
    differences: dict[str, str] = {}
    items = [[drawn.seed, drawn.difficulty] for drawn in chosen]
    outcomes = evidence.call("instances", items, dict(args or {}), worker=worker)
    timed_out = any(isinstance(outcome, Failed) and outcome.kind == "timeout" for outcome in outcomes)
    for drawn, outcome in zip(chosen, outcomes, strict=True):
        where = f"seed {drawn.seed}, difficulty {drawn.difficulty}"
        if isinstance(outcome, Failed):
            if outcome.kind == "aborted" and timed_out:
                continue
            if outcome.kind != "timeout":  # time is L2's matter; here the machine may be busy
                differences.setdefault("instance", f"{where}: worked the first time, then {outcome.message}")
            continue
        prompt, latent, reference, _ = outcome.value
        if canonical(latent) != drawn.latent_key:
            differences.setdefault("instance", f"{where}: {_excerpt(drawn.latent_key, canonical(latent))}")
        if prompt != drawn.prompt:
            differences.setdefault("prompt", f"{where}: {_excerpt(drawn.prompt, prompt)}")
        if canonical(reference) != drawn.answer_key:
            differences.setdefault("answer", f"{where}: {_excerpt(drawn.answer_key, canonical(reference))}")
    return differences


def _excerpt(before: str, after: str) -> str:
    """Quote both texts from shortly before their first difference."""
    start = next((i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), 0)
    start = max(0, start - 15)
    return f"first …{before[start : start + 50]!r}, then …{after[start : start + 50]!r}"


def check_same_process(evidence: Evidence, chosen: Sequence[Drawn]) -> list[Finding]:
    """Repeat the draws in the same process, after everything else was generated in between."""
    differences = _differences(evidence, evidence.worker, chosen)
    return [
        finding(f"L3.{part}-unstable", f"repeated in the same process: {seen}") for part, seen in differences.items()
    ]


def check_other_process(evidence: Evidence, chosen: Sequence[Drawn]) -> list[Finding]:
    """Repeat the draws in a second interpreter with another hash seed and another memory layout."""
    twin = evidence.open_worker(twin=True)
    try:
        differences = _differences(evidence, twin, chosen)
        if not differences:
            return []
        # A fresh process with the first hash seed, same order: what still differs depends on order, not on hashes.
        again = evidence.open_worker(twin=False)
        try:
            elsewhere = _differences(evidence, again, chosen)
        finally:
            again.close()
    finally:
        twin.close()
    if elsewhere:
        code, text = "L3.hidden-state", "in a fresh process, generated in another order"
        return [finding(code, f"{text}: the {part} differs: {seen}") for part, seen in elsewhere.items()]
    return [
        finding("L3.hash-order", f"with another PYTHONHASHSEED the {part} differs: {seen}")
        for part, seen in differences.items()
    ]


def check_shared_object(evidence: Evidence, chosen: Sequence[Drawn]) -> list[Finding]:
    """Repeat the draws on one object that generates everything, in an order that mixes levels, some instances twice."""
    differences = _differences(evidence, evidence.worker, [*chosen, *chosen[::-3]], {"shared": True})
    return [
        finding("L3.hidden-state", f"on an object that generated other instances before, the {part} differs: {seen}")
        for part, seen in differences.items()
    ]
