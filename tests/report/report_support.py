"""Runs written straight into a store: of any size, or with candidates that attack whoever looks at them."""

from __future__ import annotations

import random
from pathlib import Path

from evoenv.config import load_config, to_mapping
from evoenv.environment.seeds import seed_sources
from evoenv.ids import GeneratorRequestId
from evoenv.pool.tags import tags_of
from evoenv.records import (
    Calibration,
    Candidate,
    Decision,
    Finding,
    Message,
    Novelty,
    Request,
    Review,
    Sample,
    Score,
    ValidationReport,
)
from evoenv.store.store import EnvironmentRecord, Purpose, RequestRecord, Store
from evoenv.validation.codes import CODES, finding

SOURCE = '''
class {name}(VerifiableEnvironment):
    """Count things number {number}."""

    prompt_template = "Count the {kind} in the list: {{items}}"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        items = [rng.randint(1, {number}) for _ in range(5 + difficulty)]
        return items, sum(item % 2 for item in items)  # a comment
'''
KINDS = ("primes", "divisors", "paths of the graph", "subsets", "intervals", "digits", "permutations")
REFUSALS = ("layer", "layer", "layer", "review", "too-hard", "too-easy", "gate", "batch-duplicate")


def begin(directory: Path, steps: int = 5) -> Store:
    """A new run with the ten seeds entered."""
    store = Store.create(directory, to_mapping(load_config({"run": {"steps": steps}})), {"evoenv": "0.1.0"})
    store.set_meta("training", True)
    records = [
        EnvironmentRecord(store.add_source(source), name, original=True, tags=tags_of(source, source))
        for name, source in seed_sources().items()
    ]
    store.add_environments(records)
    return store


def add_candidate(store: Store, step: int, index: int, *, source: str | None, response: str, **options: object) -> str:
    """One candidate with its request and sample; its id."""
    group, index = divmod(index, 16)
    request = Request(str(GeneratorRequestId(step, group)), "generator", (Message("user", "write"),), count=16)
    store.add_requests(step, [RequestRecord(request, "generate")])
    store.add_sample(step, Sample(request.id, index, response))
    candidate = Candidate(step, group, index, response, source, **options)  # type: ignore[arg-type]
    store.add_candidates([candidate])
    return candidate.id


def large_run(directory: Path, steps: int, per_step: int, seed: int = 1) -> None:
    """A finished run of any size, with every fate; nothing is executed."""
    rng = random.Random(seed)
    codes = sorted(CODES)
    with begin(directory, steps) as store:
        admitted = [record.id for record in store.environments()]
        for step in range(1, steps + 1):
            with store.transaction():
                _large_step(store, rng, codes, step, steps, per_step, admitted)


def _large_step(
    store: Store, rng: random.Random, codes: list[str], step: int, steps: int, per_step: int, admitted: list[str]
) -> None:
    decisions, novelties, calibrations, reviews, entered = [], {}, {}, {}, []
    for index in range(per_step):
        number = step * per_step + index
        source = SOURCE.format(name=f"Count{number}", number=number, kind=rng.choice(KINDS))
        parents = tuple(rng.sample(admitted, 3))
        name = add_candidate(store, step, index, source=source, response=f"```python\n{source}```", parents=parents)
        fate = "admitted" if rng.random() < 0.08 else rng.choice(REFUSALS)
        layer = rng.choice((0, 0, 1, 2, 3, 4)) if fate == "layer" else 5
        code = rng.choice([code for code in codes if code.startswith(f"L{min(layer + 1, 5)}.")])
        found = (finding(code, "what was seen"),) if fate == "layer" else ()
        template = f"Count the {rng.choice(KINDS)} in the list"
        store.add_report(step, name, ValidationReport(layer, found, f"Count{number}", "functional", template))
        rate = {"too-hard": 0.0, "too-easy": 1.0}.get(fate, rng.randint(1, 7) / 8)
        similarity = rng.random()
        if layer >= 2:
            novelties[name] = Novelty(similarity, 1 - similarity, rng.random(), rng.choice(parents))
        if layer == 5:
            calibrations[name] = Calibration((1.0,) * round(rate * 8), rate)
            reviews[name] = [Review("reject" if fate == "review" else "accept", "")]
        quality = -1.0 + 0.25 * layer
        decisions.append(Decision(name, layer, quality, quality + 2 * (1 - similarity), fate == "admitted", fate))
        if fate == "admitted":
            tags = tags_of(template, source)
            entered.append(
                EnvironmentRecord(
                    store.add_source(source), f"Count{number}", False, candidate_id=name, admitted_step=step, tags=tags
                )
            )
    store.add_novelties(step, novelties)
    store.add_calibrations(step, calibrations)
    store.add_reviews(step, reviews)
    store.add_decisions(step, decisions)
    store.add_environments(entered)
    admitted += [record.id for record in entered]
    for number, environment in enumerate(rng.sample(admitted, 4)):
        solve(store, step, number, environment, rng)
    progress = step / steps
    store.add_metrics(
        step,
        {
            "solver/score": 0.8 - 0.3 * progress + rng.random() * 0.05,
            "solver/right": 0.7 - 0.3 * progress,
            "solver/zero_variance": 0.4 - 0.2 * progress,
            "novelty/gamma": 2.0,
            "novelty/repetition": 0.3,
            "pool/active": len(admitted),
            "pool/few_shot": 10,
            "pool/admitted": len(admitted),
            "pool/prototypes": 5 + step // 3,
            "time/step": 12.0,
        },
    )
    with store.stage(step, "rotated"):
        pass


def solve(store: Store, step: int, number: int, environment: str, rng: random.Random) -> None:
    """One solver group of two responses on an environment."""
    request = Request(f"s{step:05d}.solve.{number:04d}", "solver", (Message("user", "How many?"),), count=2)
    store.add_requests(step, [RequestRecord(request, "solve", environment, 1, 1)])
    for index in range(2):
        store.add_sample(step, Sample(request.id, index, f"<answer>{index}</answer>"))
    store.add_scores(step, {(request.id, 0): Score(1.0), (request.id, 1): Score(float(rng.random() < 0.5))})


ATTACKS = (
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 2'>",
    '"><svg onload="window.pwned = 3">',
    "<!--<script>",
    "]]><script>window.pwned = 4</script>",
    "javascript:window.pwned=5",
    "{{constructor.constructor('window.pwned=6')()}}",
    "right to left \u202e override, line \u2028 separator, nul \x00, escape \x1b[31m, zero\u200bwidth",
    "$\\frac{broken$ $$",
    "=HYPERLINK(1)",
)


def hostile_run(directory: Path) -> None:
    """Every text that a candidate controls is an attack: name, source, prompt, findings, reviews, responses."""
    with begin(directory, 1) as store, store.transaction():
        decisions, novelties, calibrations, reviews, entered = [], {}, {}, {}, []
        for index, attack in enumerate(ATTACKS):
            source = f"class A{index}:\n    prompt_template = {attack!r}\n    # {attack}\n"
            response = f"{attack} \ud800\n```python\n{source}```"
            name = add_candidate(store, 1, index, source=source, response=response, parents=(attack,))
            passed = index % 2 == 0
            found = () if passed else (Finding("L2.raises", attack, attack),)
            store.add_report(1, name, ValidationReport(5 if passed else 1, found, attack, "functional", attack, attack))
            decisions.append(Decision(name, 5 if passed else 1, 0.5, 1.0, passed, "admitted" if passed else "layer"))
            if passed:
                novelties[name] = Novelty(0.1, 0.9, 0.2, attack)
                calibrations[name] = Calibration((1.0, 0.0), 0.5)
                reviews[name] = [Review("accept", "")]
                _say(store, f"{name}.review", "review", name, attack)
                _say(store, f"{name}.calibrate.00", "calibrate", name, attack)
                identity = store.add_source(source)
                entered.append(EnvironmentRecord(identity, attack, False, candidate_id=name, admitted_step=1))
                _say(store, f"s00001.solve.{index:04d}", "solve", identity, attack)
        store.add_novelties(1, novelties)
        store.add_calibrations(1, calibrations)
        store.add_reviews(1, reviews)
        store.add_decisions(1, decisions)
        store.add_environments(entered)
        store.record_evaluation(1, ATTACKS[0], 0.5, 0.4, 0.6, 10)
        store.add_metrics(1, {"pool/active": 15, "solver/score": 0.5, "novelty/gamma": 2.0})
        with store.stage(1, "rotated"):
            pass


def _say(store: Store, request: str, purpose: Purpose, subject: str, text: str) -> None:
    asked = Request(request, "solver", (Message("user", text),))
    store.add_requests(1, [RequestRecord(asked, purpose, subject, 1, 1)])
    store.add_sample(1, Sample(request, 0, text))
    if purpose != "review":
        store.add_scores(1, {(request, 0): Score(0.0, False, text)})
