"""L2: the class loads, and generate → render → parse → score runs on every seed and level tried.

A crash on one seed in twenty must show: a cheap candidate is drawn hundreds of times. An expensive one is
drawn less often, but never less than twice at each level, so that growth which breaks the limit is seen.
"""

from __future__ import annotations

from typing import Any

from evoenv.records import Finding, Replay
from evoenv.sandbox.outcomes import Failed
from evoenv.validation.codes import finding
from evoenv.validation.evidence import DEEP_LEVELS, Drawn, Evidence, seed_for
from evoenv.validation.forms import plain_text
from evoenv.validation.wire import checked_description

FIRST_SEEDS = 2
SHALLOW_SEEDS = 36
DEEP_SEEDS = 12
MAX_EVIDENCE = 24_000_000
"""Characters that all instances together may take: the host keeps them while it judges."""
SURE = 32
LEVEL_SECONDS = 0.6
"""CPU time that further seeds of one level may take: expensive levels get fewer."""


def check_execution(evidence: Evidence) -> list[Finding]:
    """Load, then draw instances in `evidence` and score each one's reference once."""
    failure = evidence.worker.failure
    if failure is not None:
        return [_load_finding(failure)]
    count = checked_description(evidence.worker.description).get("levels")
    if count is not None:  # explicit knobs: only these levels exist
        evidence.levels = tuple(range(max(1, min(count, 64))))
    findings = _draw(evidence, [(level, range(FIRST_SEEDS)) for level in evidence.levels])
    if not findings:
        plan = []
        for level in evidence.levels:
            wanted = (DEEP_SEEDS if level in DEEP_LEVELS else SHALLOW_SEEDS) * max(1, 4 // len(evidence.levels))
            affordable = int(LEVEL_SECONDS / max(evidence.cost.get(level, 0.0), 1e-6))
            plan.append((level, range(FIRST_SEEDS, max(FIRST_SEEDS + 2, min(wanted, affordable)))))
        findings = _draw(evidence, plan)
    if not findings:
        findings = check_roundtrip(evidence)
    return findings


def _load_finding(failure: Failed) -> Finding:
    if failure.kind == "timeout":
        return finding("L2.too-slow", f"loading the file: {failure.message}")
    if failure.kind == "memory":
        return finding("L2.memory", f"loading the file: {failure.message}")
    if failure.kind in ("killed", "protocol", "oversize"):
        return finding("L2.killed", f"loading the file: {failure.message}")
    return finding("L2.load", failure.message)


def _draw(evidence: Evidence, plan: list[tuple[int, range]]) -> list[Finding]:
    """Draw instances level by level; all failures of one level are reported before the next is tried."""
    for level, indices in plan:
        if evidence.out_of_time:
            return [finding("L2.too-slow", f"the layer's CPU time was used up before level {level} was done")]
        before = evidence.spent()
        failures = _draw_level(evidence, level, indices)
        evidence.cost[level] = (evidence.spent() - before) / max(1, len(indices))
        tried = len(indices)
        if failures and tried < SHALLOW_SEEDS and all(failure.kind == "exception" for _, failure in failures):
            # Whether a crash is the rule or rare must not depend on which seeds came first.
            further = range(indices.stop, indices.stop + SHALLOW_SEEDS)
            failures += _draw_level(evidence, level, further)
            tried += len(further)
        findings = _failure_findings(failures, tried, level) or _shape_findings(evidence.at_level(level))
        size = sum(len(drawn.latent_key) + len(drawn.prompt) for drawn in evidence.drawn)
        if not findings and size > MAX_EVIDENCE:
            seen = f"{len(evidence.drawn)} instances take {size:,} characters"
            findings = [finding("L2.memory", f"difficulty {level}: {seen}; expected at most {MAX_EVIDENCE:,}")]
        if findings:
            return findings
    return []


def _draw_level(evidence: Evidence, level: int, indices: range) -> list[tuple[int, Failed]]:
    """Draw, then parse and score each reference; return what failed, by seed.

    Whether scores are right is L5's question.
    """
    seeds = [seed_for(f"level-{level}", index) for index in indices]
    failures: list[tuple[int, Failed]] = []
    fresh: list[Drawn] = []
    for seed, outcome in zip(seeds, evidence.call("instances", [[seed, level] for seed in seeds]), strict=True):
        if isinstance(outcome, Failed):
            failures.append((seed, outcome))
        else:
            fresh.append(Drawn(seed, level, *outcome.value))
    items = [[*instance.key, plain_text(instance.answer)] for instance in fresh]
    for instance, outcome in zip(fresh, evidence.call("score", items), strict=True):
        if isinstance(outcome, Failed):
            failures.append((instance.seed, outcome))
        elif not 0.0 <= outcome.value <= 1.0:
            seen = f"the reference scores {outcome.value}; expected a finite number in [0, 1]"
            failures.append((instance.seed, Failed("exception", seen, "BadScore", value=outcome.value)))
    evidence.drawn += fresh
    return failures


def _failure_findings(failures: list[tuple[int, Failed]], tried: int, level: int) -> list[Finding]:
    """Make one finding for each kind of failure, with a seed that shows it."""
    seen: dict[str, Finding] = {}
    crashes = [failure for _, failure in failures if failure.kind != "aborted"]
    for seed, failure in failures:
        if failure.kind == "aborted":
            continue
        code = failure_code(failure)
        if code == "L2.raises" and len(crashes) * 4 < tried:
            code = "L2.rare-crash"
        if code not in seen:
            where = f"seed {seed}, difficulty {level}: {failure.message}"
            share = f" ({len(crashes)} of {tried} seeds)" if code == "L2.rare-crash" else ""
            seen[code] = finding(code, where + share, Replay(seed, level))
    if failures and not seen:  # nothing ran, and nobody is to blame but the source
        seen["L2.killed"] = finding("L2.killed", f"difficulty {level}: {failures[0][1].message}")
    return list(seen.values())


def failure_code(failure: Failed) -> str:
    """Return the L2 code of a failed call."""
    by_kind = {"timeout": "L2.too-slow", "memory": "L2.memory", "oversize": "L2.memory"}
    if failure.kind in by_kind:
        return by_kind[failure.kind]
    if failure.kind != "exception":
        return "L2.killed"
    by_error = {
        "NotSerialisable": "L2.not-serialisable",
        "BadResult": "L2.bad-result",
        "BadScore": "L2.score-range",
        "NeedsParameters": "L2.needs-parameters",
        "MemoryError": "L2.memory",
    }
    return by_error.get(failure.error, "L2.raises")


def _shape_findings(fresh: list[Drawn]) -> list[Finding]:
    findings: list[Finding] = []
    for instance in fresh:
        where = f"seed {instance.seed}, difficulty {instance.difficulty}"
        if not instance.prompt.strip():
            findings.append(finding("L2.empty-prompt", f"{where}: the prompt is {instance.prompt!r}", instance.replay))
        if instance.reference is None and instance.full_reference:
            findings.append(finding("L2.no-answer", f"{where}: the reference answer is None", instance.replay))
        if findings:
            break
    return findings


def check_roundtrip(evidence: Evidence) -> list[Finding]:
    """Check that an instance that was encoded and decoded renders and scores as before."""
    chosen = evidence.spread(len(evidence.levels) * 2, seconds=1.0)
    items: list[Any] = [[drawn.seed, drawn.difficulty, plain_text(drawn.answer)] for drawn in chosen]
    for drawn, outcome in zip(chosen, evidence.call("roundtrip", items), strict=True):
        where = f"seed {drawn.seed}, difficulty {drawn.difficulty}"
        if isinstance(outcome, Failed):
            return [finding("L2.roundtrip", f"{where}: after storage, {outcome.message}")]
        renders_alike, prompt_kept, before, after = outcome.value
        # A prompt that is never the same, or that follows the order of a set, is L3's to name.
        if (
            renders_alike
            and not prompt_kept
            and _renders_surely(evidence, drawn)
            and not _follows_hashes(evidence, drawn)
        ):
            return [finding("L2.roundtrip", f"{where}: the prompt changes after storage")]
        if before != after:
            return [finding("L2.roundtrip", f"{where}: scores {before} fresh and {after} after storage")]
    return []


def _renders_surely(evidence: Evidence, drawn: Drawn) -> bool:
    """Return whether the prompt is always the same without storage: a few renderings may agree by chance."""
    outcomes = evidence.call("instances", [list(drawn.key)] * SURE)
    return all(not isinstance(outcome, Failed) and outcome.value[0] == drawn.prompt for outcome in outcomes)


def _follows_hashes(evidence: Evidence, drawn: Drawn) -> bool:
    """Return whether an interpreter with another hash seed renders another prompt."""
    twin = evidence.open_worker(twin=True)
    try:
        (outcome,) = evidence.call("instances", [list(drawn.key)], worker=twin)
    finally:
        twin.close()
    return isinstance(outcome, Failed) or outcome.value[0] != drawn.prompt
