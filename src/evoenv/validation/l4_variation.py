"""L4: it is a task: prompts and answers vary, difficulty does something, and the prompt determines the answer.

The last is the deepest. Equal prompts with different answers are looked for twice: by chance among the
drawn instances, and on purpose by counterfactual runs that change one random draw, or one use of seed or
difficulty, at a time. Same prompt, other answer: the oracle used something that the solver never sees.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from evoenv.records import Finding
from evoenv.sandbox.outcomes import Failed, Ok
from evoenv.validation.codes import finding
from evoenv.validation.counts import check_counts
from evoenv.validation.difficulty import check_difficulty_matters
from evoenv.validation.evidence import Drawn, Evidence, canonical
from evoenv.validation.forms import FORMS, PART_FORMS
from evoenv.validation.space import check_one_number, check_space

FEW_PROMPTS = 12
NEARLY_CONSTANT = 0.9
ENOUGH_AT_LEVEL = 8
COUNTERFACTUAL_INSTANCES = 3
COUNTERFACTUAL_DRAWS = 48
DEEP_DRAWS = 12
COUNTERFACTUAL_SECONDS = 3.0


def check_variation(evidence: Evidence) -> list[Finding]:
    """Run every check of the layer and return their findings together."""
    findings = check_prompts_vary(evidence.drawn) or check_space(evidence) or check_one_number(evidence.drawn)
    findings += check_answers_vary(evidence.drawn)
    findings += check_difficulty_matters(evidence)
    findings += check_counts(evidence.drawn)
    findings += check_equal_prompts(evidence) or check_counterfactuals(evidence)
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
    by_level: defaultdict[int, list[str]] = defaultdict(list)
    for instance in drawn:
        by_level[instance.difficulty].append(instance.answer_key)
    rows = [row for row in by_level.values() if len(row) >= ENOUGH_AT_LEVEL]
    guessed, tried = sum(Counter(row).most_common(1)[0][1] for row in rows), sum(map(len, rows))
    if guessed >= NEARLY_CONSTANT * tried > 0:
        share = f"the usual answer of each level is right for {guessed} of {tried} instances"
        return [finding("L4.answer-nearly-constant", f"{share}; expected less than {NEARLY_CONSTANT:.0%}")]
    return []


# --------------------------------------------------------------------------- the prompt determines the task


def accepts(evidence: Evidence, instance: Drawn, answer: Any) -> bool:
    """Return whether the instance's scorer takes another reference as fully right (several valid answers)."""
    texts = dict.fromkeys(text for form in FORMS + PART_FORMS if (text := form(answer)) is not None)
    outcomes = evidence.call("score", [[*instance.key, text] for text in texts], stop_on_death=False)
    return any(isinstance(outcome, Ok) and outcome.value >= 1.0 for outcome in outcomes)


def check_equal_prompts(evidence: Evidence) -> list[Finding]:
    """Check that instances at hand with equal prompts have answers that each other's scorer accepts."""
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
                        other.replay,
                    )
                ]
    return []


def _counterfactual_instances(evidence: Evidence) -> list[Drawn]:
    """Choose a few instances of low levels, and one of each of the two highest: long lists are cut short only there."""
    shallow = [level for level in evidence.levels if level <= 3] or list(evidence.levels[:1])
    deep = [level for level in evidence.levels[-2:] if level not in shallow]
    return [row[0] for level in [*shallow[-COUNTERFACTUAL_INSTANCES:], *deep] if (row := evidence.at_level(level))]


def check_counterfactuals(evidence: Evidence) -> list[Finding]:
    """Change one draw or one use of seed or difficulty: if the prompt stays, the answer must stay valid."""
    worker = evidence.open_worker(instrument=True)
    try:
        if worker.failure is not None:
            return []  # the plain source loaded; a source that notices the instrument keeps its verdict
        chosen = _counterfactual_instances(evidence)
        left = COUNTERFACTUAL_SECONDS
        counts = evidence.call("draws", [list(instance.key) for instance in chosen], worker=worker)
        items: list[list[int]] = []
        owners: list[Drawn] = []
        for number, (instance, count) in enumerate(zip(chosen, counts, strict=True)):
            if isinstance(count, Failed):
                continue
            wanted = COUNTERFACTUAL_DRAWS if instance.difficulty <= 3 else DEEP_DRAWS
            draws, sites, _ = count.value
            step = max(1, math.ceil(draws / wanted))
            # Another offset for each instance: a value that is always drawn at the same place must be met.
            changes = [(draw, -1) for draw in range(number % step, draws, step)]
            changes += [(draw, -1) for draw in range(max(0, draws - 3), draws)]  # parameters are often drawn last
            changes += [(-1, site) for site in range(min(sites, 24))]
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
                    instance.replay,
                )
            ]
    return []
