"""L4: it is a task: prompts and answers vary, difficulty does something, and the prompt determines the answer.

The last is the deepest. Equal prompts with different answers are looked for twice: by chance among the
drawn instances, and on purpose by counterfactual runs that change one random draw, or one use of the
difficulty, at a time. Same prompt, other answer: the oracle used something that the solver never sees.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from evoenv.records import Finding
from evoenv.sandbox.outcomes import Failed, Ok
from evoenv.validation.codes import finding
from evoenv.validation.evidence import Drawn, Evidence, canonical
from evoenv.validation.texts import FORMS, PART_FORMS
from evoenv.validation.wire import checked_description

FEW_PROMPTS = 12
NEARLY_CONSTANT = 0.9
COUNTERFACTUAL_INSTANCES = 4
COUNTERFACTUAL_DRAWS = 40
COUNTERFACTUAL_SECONDS = 3.0
POSITIONS = 10
"""Numbers of the prompt that are compared one by one, from either end."""
SEPARATION = 0.3
"""Kolmogorov–Smirnov distance between a feature at two levels that counts as a change."""


def check_variation(evidence: Evidence) -> list[Finding]:
    """Every check of the layer; their findings together."""
    findings = check_prompts_vary(evidence.drawn)
    findings += check_answers_vary(evidence.drawn)
    findings += check_difficulty_matters(evidence)
    findings += check_equal_prompts(evidence)
    if not findings:
        findings = check_counterfactuals(evidence)
    return findings


def check_prompts_vary(drawn: Sequence[Drawn]) -> list[Finding]:
    by_level: defaultdict[int, set[str]] = defaultdict(set)
    for instance in drawn:
        by_level[instance.difficulty].add(instance.prompt)
    prompts = set().union(*by_level.values()) if by_level else set()
    if all(len(seen) == 1 for seen in by_level.values()):
        return [finding("L4.constant-prompt", f"{len(drawn)} instances show one prompt per level")]
    if len(prompts) < min(FEW_PROMPTS, len(drawn) // 4):
        return [finding("L4.few-prompts", f"{len(drawn)} instances show only {len(prompts)} different prompts")]
    return []


def check_answers_vary(drawn: Sequence[Drawn]) -> list[Finding]:
    drawn = [instance for instance in drawn if instance.full_reference or instance.reference is not None]
    if not drawn:
        return []  # only the scorer knows what is right: L5 looks for an answer
    answers = Counter(instance.answer_key for instance in drawn)
    text, count = answers.most_common(1)[0]
    if len(answers) == 1:
        return [finding("L4.constant-answer", f"all {len(drawn)} instances have the answer {text[:60]}")]
    if count >= NEARLY_CONSTANT * len(drawn):
        share = f"{count} of {len(drawn)} instances have the answer {text[:60]}"
        return [finding("L4.answer-nearly-constant", f"{share}; expected less than {NEARLY_CONSTANT:.0%}")]
    return []


# --------------------------------------------------------------------------- difficulty

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WORD = re.compile(r"[A-Za-z]{2,}|[^\sA-Za-z0-9]")


def _numbers(value: Any) -> Iterable[float]:
    """Every number inside an encoded value, and the size of its texts."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, bool):
            yield float(part)
        elif isinstance(part, int | float):
            yield _bounded(part)
        elif isinstance(part, str):
            yield float(len(part))
        elif isinstance(part, list):
            stack += part
        elif isinstance(part, dict):
            stack += part.values()


def _bounded(value: float) -> float:
    """An integer of any size as a float."""
    return float(value) if abs(value) < 1e300 else (1e300 if value > 0 else -1e300)


def _magnitude(value: float) -> float:
    return math.copysign(math.log1p(abs(value)), value)


def features(instance: Drawn) -> dict[str, float]:
    """What difficulty may change: sizes, counts and magnitudes of prompt, latent and answer."""
    shown = [float(text) for text in _NUMBER.findall(instance.prompt) if len(text) < 300]
    latent, answer = list(_numbers(instance.latent)), list(_numbers(instance.reference))
    values = {
        "prompt length": float(len(instance.prompt)),
        "numbers in the prompt": float(len(shown)),
        "words in the prompt": float(len(_WORD.findall(instance.prompt))),
        "values in the instance": float(len(latent)),
        "values in the answer": float(len(answer)),
    }
    for name, numbers in (("shown", shown), ("latent", latent), ("answer", answer)):
        if numbers:
            values[f"largest {name}"] = _magnitude(max(numbers))
            values[f"smallest {name}"] = _magnitude(min(numbers))
            values[f"sum {name}"] = _magnitude(sum(numbers))
    # One number among many: the fifth of the prompt, the latent called "steps".
    values |= {f"shown {index}": number for index, number in enumerate(shown[:POSITIONS])}
    values |= {f"shown {index - POSITIONS} from the end": number for index, number in enumerate(shown[-POSITIONS:])}
    if isinstance(instance.latent, dict):
        for key, value in instance.latent.items():
            if isinstance(value, int | float | str):
                values[f"latent {key}"] = float(len(value)) if isinstance(value, str) else _bounded(value)
            elif isinstance(value, list):
                values[f"size of {key}"] = float(len(value))
    return values


def ks_distance(left: Sequence[float], right: Sequence[float]) -> float:
    """The greatest gap between two empirical distribution functions."""
    points = sorted({*left, *right})
    a, b, i, j, gap = sorted(left), sorted(right), 0, 0, 0.0
    for point in points:
        while i < len(a) and a[i] <= point:
            i += 1
        while j < len(b) and b[j] <= point:
            j += 1
        gap = max(gap, abs(i / len(a) - j / len(b)))
    return gap


def check_difficulty_matters(evidence: Evidence) -> list[Finding]:
    """Low levels against high ones: some feature, or the vocabulary of the prompts, must differ."""
    levels = [level for level in evidence.levels if evidence.at_level(level)]
    if len(levels) < 2:
        return []
    half = len(levels) // 2
    low = [instance for level in levels[: min(2, half)] for instance in evidence.at_level(level)]
    high = [instance for level in levels[-max(2, half) :] for instance in evidence.at_level(level)]
    rows_low, rows_high = [features(instance) for instance in low], [features(instance) for instance in high]
    needed = max(SEPARATION, 1.63 * math.sqrt((len(low) + len(high)) / (len(low) * len(high))))
    for name in set().union(*rows_low, *rows_high):
        left, right = [row.get(name, 0.0) for row in rows_low], [row.get(name, 0.0) for row in rows_high]
        if ks_distance(left, right) >= needed:
            return []
    words_low, words_high = _word_shares(low), _word_shares(high)
    if any(abs(words_low.get(word, 0.0) - words_high.get(word, 0.0)) >= needed for word in words_low | words_high):
        return []
    seen = (
        f"levels {levels[0]}–{levels[-1]} have the same sizes, values and words over {len(low) + len(high)} instances"
    )
    return [finding("L4.difficulty-ignored", seen)]


def _word_shares(drawn: Sequence[Drawn]) -> dict[str, float]:
    shares: Counter[str] = Counter()
    for instance in drawn:
        for word in set(_WORD.findall(instance.prompt)):
            shares[word] += 1
    return {word: count / len(drawn) for word, count in shares.items()}


# --------------------------------------------------------------------------- the prompt determines the task


def accepts(evidence: Evidence, instance: Drawn, answer: Any) -> bool:
    """Whether the instance's scorer takes another reference as fully right (several valid answers)."""
    texts = dict.fromkeys(text for form in FORMS + PART_FORMS if (text := form(answer)) is not None)
    outcomes = evidence.call("score", [[*instance.key, text] for text in texts], stop_on_death=False)
    return any(isinstance(outcome, Ok) and outcome.value >= 1.0 for outcome in outcomes)


def check_equal_prompts(evidence: Evidence) -> list[Finding]:
    """Among the instances at hand: equal prompts must have answers that each other's scorer accepts."""
    by_prompt: defaultdict[str, list[Drawn]] = defaultdict(list)
    for instance in evidence.drawn:
        by_prompt[instance.prompt].append(instance)
    for group in by_prompt.values():
        first = group[0]
        for other in group[1:]:
            if other.answer_key != first.answer_key and not accepts(evidence, first, other.answer):
                seen = f"seeds {first.seed} and {other.seed} render the same prompt"
                return [
                    finding(
                        "L4.ambiguous-prompt",
                        f"{seen}; the answers are {first.answer_key[:60]} and {other.answer_key[:60]}",
                    )
                ]
    return []


def check_counterfactuals(evidence: Evidence) -> list[Finding]:
    """Change one draw or one use of the difficulty: if the prompt stays, the answer must stay valid."""
    worker = evidence.open_worker(instrument=True)
    try:
        if worker.failure is not None:
            return []  # the plain source loaded; a source that notices the instrument keeps its verdict
        shallow = [level for level in evidence.levels if level <= 3] or list(evidence.levels[:1])
        chosen = [row[0] for level in shallow if (row := evidence.at_level(level))][-COUNTERFACTUAL_INSTANCES:]
        left = COUNTERFACTUAL_SECONDS
        counts = evidence.call("draws", [list(instance.key) for instance in chosen], worker=worker)
        sites = checked_description(worker.description).get("sites", 0)
        items: list[list[int]] = []
        owners: list[Drawn] = []
        for instance, count in zip(chosen, counts, strict=True):
            if isinstance(count, Failed):
                continue
            step = max(1, math.ceil(count.value / COUNTERFACTUAL_DRAWS))
            changes = [(draw, -1) for draw in range(0, count.value, step)]
            changes += [
                (draw, -1) for draw in range(max(0, count.value - 3), count.value)
            ]  # parameters are often drawn last
            changes += [(-1, site) for site in range(min(sites, 12))]
            for draw, site in dict.fromkeys(changes):
                for shift in (0, 1):
                    left -= evidence.seconds(instance)
                    if left > 0:
                        items.append([*instance.key, draw, site, shift])
                        owners.append(instance)
        outcomes = evidence.call("perturbed", items, worker=worker, stop_on_death=False)
    finally:
        worker.close()
    suspects: dict[str, tuple[Drawn, Any]] = {}
    for instance, outcome in zip(owners, outcomes, strict=True):
        if isinstance(outcome, Failed):
            continue
        prompt, reference = outcome.value
        if prompt == instance.prompt and canonical(reference) != instance.answer_key:
            suspects.setdefault(canonical([instance.seed, instance.difficulty, reference]), (instance, reference))
    for instance, reference in list(suspects.values())[:24]:
        changed = Drawn(instance.seed, instance.difficulty, instance.prompt, None, reference)
        if not accepts(evidence, instance, changed.answer):
            seen = f"seed {instance.seed}, difficulty {instance.difficulty}: changing one value that the oracle uses"
            return [
                finding(
                    "L4.hidden-latent",
                    f"{seen} leaves the prompt as it is but turns the answer {instance.answer_key[:60]} into "
                    f"{changed.answer_key[:60]}",
                )
            ]
    return []
