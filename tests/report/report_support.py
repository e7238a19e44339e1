"""Runs to report on: a scripted one through the real loop, and large or hostile ones written straight into a store."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from evoenv.config import load_config, to_mapping
from evoenv.environment.seeds import seed_sources
from evoenv.pool.store import Asked, EnvironmentRecord, Store
from evoenv.pool.tags import tags_of
from evoenv.records import (
    Calibration,
    Candidate,
    Decision,
    Message,
    Novelty,
    Request,
    Review,
    Sample,
    Score,
    ValidationReport,
)
from evoenv.validation.codes import CODES, finding

sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))  # the scripted world of the loop's own tests

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
    request = f"s{step:05d}.g{index // 16:03d}"
    count = index % 16
    store.add_requests(step, [Asked(Request(request, "generator", (Message("user", "write"),), count=16), "generate")])
    store.add_sample(step, Sample(request, count, response))
    candidate = Candidate(f"{request}.c{count:02d}", step, index // 16, count, response, source, **options)  # type: ignore[arg-type]
    store.add_candidates([candidate], {candidate.id: request})
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
    store.add_requests(step, [Asked(request, "solve", environment, 1, 1)])
    for index in range(2):
        store.add_sample(step, Sample(request.id, index, f"<answer>{index}</answer>"))
    store.add_scores(step, {(request.id, 0): Score(1.0), (request.id, 1): Score(float(rng.random() < 0.5))})
