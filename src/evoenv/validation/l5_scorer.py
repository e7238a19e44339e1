"""L5: the scorer can be trusted with rewards.

The reference scores 1 in some plain form; what is changed, malformed, empty, over-long or a flood does
not; nothing raises, hangs or remembers; the prompt does not give the answer away. Families are told by
behaviour, not by name:

- *compare*: only answer and reference matter (another instance with the same reference scores alike).
  Any changed value that still scores 1 is a fault. Some compare first and verify what differs: they verify.
- *verify*: the instance matters: other answers may be valid, so changed answers are judged by their share.
- *graded* (either of the above): some answer scores strictly between 0 and 1. Then wrong answers must score less
  than 1; *exact* scorers must give them 0.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evoenv.records import Finding, Replay
from evoenv.sandbox.outcomes import Failed, Ok, Outcome
from evoenv.validation.codes import finding
from evoenv.validation.evidence import Drawn, Evidence, canonical
from evoenv.validation.forms import plain_text
from evoenv.validation.leaks import check_answer_in_prompt, check_shortcuts
from evoenv.validation.probes import FULL, LENIENT, Probe, Solved, WrongAnswers, answer_options, solve, wrong_answers
from evoenv.validation.rivals import check_options, check_tolerance, check_unique, plan_rivals
from evoenv.validation.search import check_beaten, says_beaten, search
from evoenv.validation.unworked import check_restated, check_special_numbers, plan_unworked
from evoenv.validation.variants import MALFORMED
from evoenv.validation.witness import find_witnesses

REFERENCES = 40
PROBED = 20
PERMISSIVE = 0.5
FOREIGN = 0.6
"""The share of other instances' answers from which on the instance hardly matters."""
ELSEWHERE = 12
"""Accepted changes that are tried on other instances."""
COMPLETENESS = ("extra", "dropped", "first-dropped", "far", "letter-added", "one-only", "first-half")
"""Changes that no valid answer survives for every instance: something is not verified at all."""


@dataclass(frozen=True)
class Family:
    graded: bool
    compares: bool

    @property
    def name(self) -> str:
        return "graded" if self.graded else "exact" if self.compares else "feasibility"


def check_scorer(evidence: Evidence) -> tuple[Family | None, list[Finding]]:
    """Return the scorer's family and every finding of the layer."""
    chosen = evidence.spread(REFERENCES, seconds=2.0)
    if all(instance.full_reference for instance in chosen):
        solved, findings = check_references(evidence, chosen)
    else:
        solved, findings = find_witnesses(evidence, chosen)
    if findings:
        return None, findings
    options = answer_options(solved)
    probed = solved[:: max(1, len(solved) // PROBED)][:PROBED]
    further = [*plan_unworked(probed), *plan_rivals(probed, options, evidence.drawn)]
    wrong = wrong_answers(evidence, probed, options, further)
    family = tell_family(evidence, probed, wrong)
    searched = [] if family.compares else search(evidence, solved)
    beaten = [] if family.compares else check_beaten([*wrong.changed, *wrong.foreign, *searched])
    failing = wrong.all() + searched
    findings += check_failures([probe for probe in failing if not says_beaten(probe.outcome)] if beaten else failing)
    findings += beaten
    findings += check_changed(wrong, family)
    findings += check_decimals(wrong.cut, wrong.forgiving)
    findings += check_special_numbers(wrong.special, family.graded)
    findings += check_restated(wrong.restated)
    findings += check_options(wrong.option)
    findings += check_tolerance(wrong.neighbour, wrong.foreign, family.compares)
    if not family.compares:
        findings += check_unique(evidence, solved, [*wrong.changed, *wrong.foreign, *searched])
    # A flood of answers that are only written differently is no flood.
    alike = {p.instance.key for p in wrong.changed if (p.score or 0.0) >= FULL and lenient(p, wrong)}
    findings += check_flooded([probe for probe in wrong.flooded if probe.instance.key not in alike], family)
    findings += check_malformed(wrong, family, probed)
    findings += check_consolation(wrong, family)
    findings += check_memory(evidence, probed, wrong)
    findings += check_parser(evidence, probed)
    findings += check_answer_in_prompt(solved)
    findings += check_shortcuts(evidence, solved)
    return family, findings


def check_references(evidence: Evidence, chosen: Sequence[Drawn]) -> tuple[list[Solved], list[Finding]]:
    """Check that each reference, written plainly, scores 1."""
    solved, unsolved, broken = solve(evidence, chosen)
    if broken:
        return solved, check_failures(broken)
    if unsolved:
        instance = unsolved[0]
        seen = f"seed {instance.seed}, difficulty {instance.difficulty}: "
        seen += f"no plain form of {instance.answer_key[:80]} scores 1"
        seen += f" ({len(unsolved)} of {len(chosen)} instances)"
        return solved, [finding("L5.reference-rejected", seen, Replay(*instance.key, plain_text(instance.answer)))]
    return solved, []


def tell_family(evidence: Evidence, solved: Sequence[Solved], wrong: WrongAnswers) -> Family:
    """Tell the scorer's family: graded by the scores seen, comparing by swapping references between instances.

    A scorer that takes the reference for right anywhere may still verify whatever differs from it. That shows if it
    accepts changed references, but not for other instances with the same reference.
    """
    graded = any(probe.score is not None and 0.0 < probe.score < FULL for probe in wrong.changed + wrong.foreign)
    pairs = [(solution, solved[(i + 1) % len(solved)]) for i, solution in enumerate(solved)]
    pairs = [
        (solution, other) for solution, other in pairs if solution.instance.answer_key != other.instance.answer_key
    ]
    outcomes = evidence.call(
        "swapped",
        [[list(solution.instance.key), list(other.instance.key), other.text] for solution, other in pairs],
        stop_on_death=False,
    )
    accepted = sum(isinstance(outcome, Ok) and outcome.value >= FULL for outcome in outcomes)
    compares = bool(pairs) and accepted == len(pairs)
    return Family(graded, compares=compares and not _verifies_what_differs(evidence, solved, wrong))


def _verifies_what_differs(evidence: Evidence, solved: Sequence[Solved], wrong: WrongAnswers) -> bool:
    """Return whether most changed references that are accepted are so for their own instance alone.

    Each is tried on the instances before and after, with the reference of its own: a tolerance that grows with the
    instance is wider on one side, and what a comparison forgives it forgives everywhere.
    """
    places = {solution.instance.key: index for index, solution in enumerate(solved)}
    accepted = accepted_changes(wrong)[:ELSEWHERE]
    rows = []
    for probe in accepted:
        for step in (1, -1):
            other = solved[(places[probe.instance.key] + step) % len(solved)].instance
            rows.append([list(other.key), list(probe.instance.key), probe.text])
    outcomes = evidence.call("swapped", rows, stop_on_death=False) if rows else []
    elsewhere = [isinstance(outcome, Ok) and outcome.value >= FULL for outcome in outcomes]
    alone = sum(not (after or before) for after, before in zip(elsewhere[::2], elsewhere[1::2], strict=True))
    return alone * 2 > len(accepted)


# --------------------------------------------------------------------------- judging the probes


def check_failures(probes: Iterable[Probe]) -> list[Finding]:
    """Report each way in which the scorer raised, hung, died or left [0, 1], one finding for each."""
    findings: dict[str, Finding] = {}
    for probe in probes:
        if isinstance(probe.outcome, Failed):
            kind = probe.outcome.kind
            if kind == "aborted":
                continue
            code = {"exception": "L5.scorer-raises", "timeout": "L5.scorer-slow"}.get(kind, "L5.scorer-died")
            if probe.outcome.error == "BadScore":
                code = "L5.score-range"
            findings.setdefault(code, finding(code, f"{probe.describe()}: {probe.outcome.message}", probe.replay))
        elif not 0.0 <= probe.outcome.value <= 1.0:
            seen = f"{probe.describe()} scores {probe.outcome.value}; expected [0, 1]"
            findings.setdefault("L5.score-range", finding("L5.score-range", seen, probe.replay))
    return list(findings.values())


def check_changed(wrong: WrongAnswers, family: Family) -> list[Finding]:
    """Check that a changed reference scores less than 1, and 0 if the scorer compares exactly."""
    scored = [probe for probe in wrong.changed if probe.score is not None and not probe.may_be_valid]
    if family.graded:  # a ratio cannot tell a count of billions from its neighbour; nobody learns from that
        scored = [probe for probe in scored if not probe.negligible]
    accepted = accepted_changes(wrong, scored)
    if family.compares and accepted:
        kind = Counter(probe.kind for probe in accepted).most_common(1)[0][0]
        probe = next(probe for probe in accepted if probe.kind == kind)
        seen = f"{probe.describe()} (reference {kind.partition(':')[2]}) scores 1"
        seen += f"; {len(accepted)} of {len(scored)} changed references do"
        return [finding("L5.perturbed-accepted", seen, probe.replay)]
    if family.compares:
        return check_forgiven(wrong.changed)
    everything = scored + [probe for probe in wrong.foreign if probe.score is not None]
    passing = [probe for probe in everything if (probe.score or 0.0) >= FULL]
    foreign = [probe.score >= FULL for probe in wrong.foreign if probe.score is not None]
    if len(foreign) >= 8 and sum(foreign) > FOREIGN * len(foreign):
        seen = f"{sum(foreign)} of {len(foreign)} right answers of other instances score 1 as well"
        witness = next(probe for probe in wrong.foreign if (probe.score or 0.0) >= FULL)
        return [finding("L5.permissive", seen, witness.replay)]
    if everything and len(passing) > PERMISSIVE * len(everything):
        seen = f"{len(passing)} of {len(everything)} wrong answers score 1; {passing[0].describe()} does"
        return [finding("L5.permissive", seen, passing[0].replay)]
    # A letter behind the answer is no more than a word behind it, which a parser may forgive.
    strict = [p for p in scored if p.kind != "changed:letter-added" or p.instance.key not in wrong.forgiving]
    always = _kinds_always_accepted(strict)
    if always:
        probe = always[0]
        kind = probe.kind.partition(":")[2]
        seen = f"{probe.describe()} scores 1, as does every reference that is changed that way ({kind})"
        return [finding("L5.perturbed-accepted", seen, probe.replay)]
    return check_forgiven(wrong.changed, verified=True)


def accepted_changes(wrong: WrongAnswers, changed: Sequence[Probe] | None = None) -> list[Probe]:
    """Return the changed references that count as right, without those that are only written differently."""
    return [
        probe
        for probe in (wrong.changed if changed is None else changed)
        if not probe.may_be_valid and (probe.score or 0.0) >= FULL and not lenient(probe, wrong)
    ]


LENIENT_CHANGES = ("changed:letter-added", "changed:letter-dropped", "changed:letter-changed")


def lenient(probe: Probe, wrong: WrongAnswers) -> bool:
    """Return whether a changed letter is no more than the word behind the answer that the scorer forgives as well.

    That is a letter behind the answer, its last mark, a mark between words, or a letter of a word that all have.
    """
    if probe.kind not in LENIENT_CHANGES or probe.instance.key not in wrong.forgiving:
        return False
    reference = str(probe.instance.answer).strip()
    if len(reference.split()) < 2:  # one word: its letters are the answer
        return False
    if probe.kind == "changed:letter-added":
        return True
    if probe.kind == "changed:letter-dropped":
        return not reference[-1].isalnum()
    pairs = zip(reference, probe.text, strict=False)
    place = next((index for index, (right, given) in enumerate(pairs) if right != given), 0)
    if not reference[place].isalnum():
        return True
    word = reference[:place].split(" ")[-1] + reference[place:].split(" ")[0]
    return all(word in str(other.instance.answer).split() for other in wrong.changed)


_ORDERED = re.compile(r"\border\b|sequence|left to right|first to last|step by step", re.IGNORECASE)
_SORTED = re.compile(
    r"\b(?:list|give|write|return|output|print|report|answer|arrange|put|rank|name|show|state)\b[^.?!\n]{0,120}"
    r"(?:\bsorted\b|\bfrom (?:the )?\w+est to\b|\b(?:a|de)scending\b|\b(?:in|de)creasing\b|\balphabetical)"
    r"|\bsort (?:the|these|them|this|all)\b",
    re.IGNORECASE,
)
"""An order that the answer should have, not one that the question mentions."""
_UNORDERED = re.compile(r"any order|order (?:does|is) not|whatever order|regardless of order", re.IGNORECASE)
_DECIMALS = re.compile(r"decimal|rounded", re.IGNORECASE)
_TOLERANT = re.compile(r"within|toleran|error|approx|±|close|margin|off by", re.IGNORECASE)


def check_forgiven(changed: Sequence[Probe], *, verified: bool = False) -> list[Finding]:
    """Report an order, or decimals, that the prompt asks for and the scorer does not compare; many tasks forgive these.

    A solution that is `verified` may be as good backwards; it is not as good in any order if it should be sorted.
    """
    forgiven = (
        ("reversed", _ORDERED, _UNORDERED, "order is not compared"),
        ("plus-a-fiftieth", _DECIMALS, _TOLERANT, "the decimals asked for are not compared"),
    )
    for kind, asked, excused, fault in (
        *(() if verified else forgiven),
        ("shuffled", _SORTED, _UNORDERED, "order is not compared"),
    ):
        probes = [probe for probe in changed if probe.kind == f"changed:{kind}" and probe.score is not None]
        stated = probes and asked.search(probes[0].instance.prompt) and not excused.search(probes[0].instance.prompt)
        if stated and len(probes) >= 8 and all((probe.score or 0.0) >= FULL for probe in probes):
            return [finding("L5.perturbed-accepted", f"{probes[0].describe()} scores 1: {fault}", probes[0].replay)]
    return []


def check_decimals(cut: Sequence[Probe], lenient: set[tuple[int, int]]) -> list[Finding]:
    """Check that 17.93 does not pass as 17.

    A parser that picks a whole number out of any text ("17 units") is only lenient.
    """
    for probe in cut:
        decimals = probe.kind != f"cut:{LENIENT}" and probe.score is not None and probe.score >= FULL
        if decimals and probe.instance.key not in lenient:
            return [
                finding(
                    "L5.perturbed-accepted",
                    f"{probe.describe()} scores 1: decimals are cut off or rounded away",
                    probe.replay,
                )
            ]
    return []


def _kinds_always_accepted(scored: Sequence[Probe]) -> list[Probe]:
    """Return one probe of each kind of change that never costs anything."""
    by_kind: defaultdict[str, list[Probe]] = defaultdict(list)
    for probe in scored:
        by_kind[probe.kind].append(probe)
    return [
        probes[0]
        for kind, probes in by_kind.items()
        if kind.partition(":")[2] in COMPLETENESS
        and len(probes) >= 8
        and all((probe.score or 0.0) >= FULL for probe in probes)
    ]


def check_flooded(flooded: Sequence[Probe], family: Family) -> list[Finding]:
    """Check that the right answer among others earns less than alone, and nothing at all if the scorer is exact.

    If answers are verified, a flood may happen to be valid: it must not be so for most instances.
    """
    limit = FULL if family.graded else 1e-12
    paid = [probe for probe in flooded if probe.score is not None and probe.score >= limit]
    if not paid:
        return []
    by_kind = Counter(probe.kind for probe in flooded)
    for kind, count in Counter(probe.kind for probe in paid).most_common():
        if family.compares or count > PERMISSIVE * by_kind[kind]:
            probe = next(probe for probe in paid if probe.kind == kind)
            return [finding("L5.flood-rewarded", f"{probe.describe()} scores {probe.score:g}", probe.replay)]
    return []


def check_malformed(wrong: WrongAnswers, family: Family, solved: Sequence[Solved]) -> list[Finding]:
    """Check that what is no answer earns nothing.

    Two exceptions: if answers are words, a word is at least of the right type; if answers are verified, "nothing" may
    be a valid move, so an empty answer is a fault only if it always pays.
    """
    right = {solution.instance.key: solution.text.strip() for solution in solved}
    judged = [probe for probe in wrong.empty if right.get(probe.instance.key)]
    floor = 0.5 if family.graded and not family.compares else 1e-12
    paid = [probe for probe in judged if probe.score is not None and probe.score >= floor]
    findings: list[Finding] = []
    if paid and (family.compares or len(paid) == len(judged)):
        seen = f"{paid[0].describe()} scores {paid[0].score:g}; expected 0"
        findings.append(finding("L5.empty-rewarded", seen, paid[0].replay))
    wordy = any(isinstance(solution.value, str) and any(c.isalpha() for c in solution.value) for solution in solved)
    for probe in wrong.malformed + wrong.overlong:
        expected = right.get(probe.instance.key, "")
        if not probe.score or not expected or probe.text.strip().casefold() == expected.casefold():
            continue
        if family.graded and wordy and probe.score < 0.5:
            continue
        if probe.kind == "overlong" and family.graded and probe.score < FULL:
            continue  # many numbers, or a huge one, are numbers: graded scorers may say how far off they are
        if not family.compares and probe.score < floor:
            continue
        seen = f"{probe.describe()} scores {probe.score:g}; expected 0"
        findings.append(finding("L5.malformed-rewarded", seen, probe.replay))
        break
    return findings


def check_consolation(wrong: WrongAnswers, family: Family) -> list[Finding]:
    """Report a graded scorer that gives every wrong answer the same credit.

    It only teaches the solver to say something.
    """
    scores = [
        probe.score for probe in wrong.changed + wrong.foreign if probe.score is not None and not probe.may_be_valid
    ]
    wrong_scores = [value for value in scores if value < FULL]
    if family.graded and len(wrong_scores) >= 20 and min(wrong_scores) == max(wrong_scores) > 0.0:
        seen = f"all {len(wrong_scores)} wrong answers tried score {wrong_scores[0]:g}"
        return [finding("L5.consolation", seen)]
    return []


# --------------------------------------------------------------------------- memory and leaks of the parser


def check_memory(evidence: Evidence, solved: Sequence[Solved], wrong: WrongAnswers) -> list[Finding]:
    """Score the same answers in two orders, in a fresh process: each keeps its score, whatever was scored before it.

    First on one long-lived object, wrong answers before right ones; then backwards, each on a new object.
    """
    chosen = _cheapest(evidence, solved, 8)
    changed = {probe.instance.key: probe.text for probe in wrong.changed}
    rows: list[tuple[Drawn, str]] = []
    for solution, other in zip(chosen, [*chosen[1:], chosen[0]], strict=True):
        # `other.text` is right for the next instance: a memory by text alone must get one of the two wrong.
        texts = [other.text, changed.get(solution.instance.key, "?"), "???", solution.text, "???", solution.text]
        rows += [(solution.instance, text) for text in texts]
    known = {(p.instance.key, p.text): _verdict(p.outcome) for p in (*wrong.changed, *wrong.foreign)}
    known |= {(solution.instance.key, solution.text): "1" for solution in chosen}
    worker = evidence.open_worker()
    try:
        for order, args in ((rows, {"shared": True}), (rows[::-1], None)):
            items = [[*instance.key, text] for instance, text in order]
            outcomes = evidence.call("score", items, args, worker=worker, stop_on_death=False)
            for (instance, text), outcome in zip(order, outcomes, strict=True):
                got = _verdict(outcome)
                before = known.setdefault((instance.key, text), got)
                if got != before and UNKNOWN not in (got, before):
                    where = f"seed {instance.seed}, difficulty {instance.difficulty}: the answer {text[:60]!r}"
                    seen = f"{where} scores {before} at one time and {got} after other answers"
                    return [finding("L5.parser-memory", seen)]
    finally:
        worker.close()
    return []


UNKNOWN = "(not known)"


def _verdict(outcome: Outcome) -> str:
    """Write a score, or the error raised, as a text to compare; how long a call took depends on the machine."""
    if isinstance(outcome, Ok):
        return f"{round(outcome.value, 9):g}"
    return f"({outcome.error})" if outcome.kind == "exception" else UNKNOWN


def _cheapest(evidence: Evidence, solved: Sequence[Solved], count: int) -> list[Solved]:
    """Choose instances of several levels that cost little to make again."""
    affordable = [solution for solution in solved if evidence.seconds(solution.instance) < 0.1]
    return affordable[:count] or list(solved[:1])


def check_parser(evidence: Evidence, solved: Sequence[Solved]) -> list[Finding]:
    """Check that `_process` turns no garbage into the reference, and reads the same text the same way each time."""
    garbage = [text for text in MALFORMED if text not in ("None", "null", "[]", "{}", "()")]
    chosen = _cheapest(evidence, solved, 4)
    items = [[*solution.instance.key, text] for solution in chosen for text in garbage]
    owners = [solution for solution in chosen for _ in garbage]
    outcomes = evidence.call("parse", items, stop_on_death=False)
    for solution, item, outcome in zip(owners, items, outcomes, strict=True):
        if isinstance(outcome, Failed) or outcome.value[0] != "value" or outcome.value[1] is None:
            continue
        parsed = canonical(outcome.value[1])
        trivial = parsed in ("[]", "{}", '""', "0", "false")
        if parsed == solution.instance.answer_key and not trivial and str(item[2]).strip() != solution.text.strip():
            where = f"seed {solution.instance.seed}, difficulty {solution.instance.difficulty}"
            return [finding("L5.parser-leaks", f"{where}: _process({item[2]!r}) gives the reference {parsed[:60]}")]
    texts = [[*solution.instance.key, solution.text] for solution in chosen]
    return _check_parser_order(evidence, texts)


def _check_parser_order(evidence: Evidence, texts: list[list[object]]) -> list[Finding]:
    """Parse the same texts forwards and backwards on the shared object; report a text that is read differently."""
    forward = evidence.call("parse", texts, stop_on_death=False)
    backward = evidence.call("parse", texts[::-1], stop_on_death=False)[::-1]
    for text, first, second in zip(texts, forward, backward, strict=True):
        if isinstance(first, Ok) and isinstance(second, Ok) and canonical(first.value) != canonical(second.value):
            before, after = canonical(first.value)[:60], canonical(second.value)[:60]
            seen = f"_process({str(text[2])[:60]!r}) gives {before}, later {after}"
            return [finding("L5.parser-memory", seen)]
    return []
