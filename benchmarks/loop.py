"""What the loop costs beside the policy: novelty, admission, the store, and one whole step.

    python benchmarks/loop.py [--json] [--environments 100000] [--candidates 100000] [--laptop 0.125]

- novelty: a batch of 128 candidates measured against `--environments` admitted ones, and decided.
- store: a run of `--candidates` candidates, opened (pool, counts and one step's candidates read); bytes per candidate.
- step: one iteration at the paper's batch (16 × 8 candidates, 64 × 8 responses) with a policy that answers at once, so
  that all of its time is ours. Half of the candidates are sound: the seeds with other names.
- laptop (`--laptop SHARE`): one step of the laptop preset with its real model, batches and texts cut to SHARE: it all
  takes hours on two cores. The model really samples and learns. It would write hardly a sound candidate, though, and
  then there would be nothing to validate: the text of each candidate is therefore that of `step`, half of them sound,
  each of which is reviewed and calibrated. Batches cut both sides of the ratio alike; shorter texts cut the policy's
  side alone, so that the measured share beside the policy is above that of the whole. Goal: at most 5%.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evoenv.admission.admission import Evaluated, decide_admissions
from evoenv.admission.novelty import NoveltyCache, gamma, measure_batch
from evoenv.config import Config, load_config
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.environment.seeds import seed_sources
from evoenv.evolve import evolve
from evoenv.ids import GeneratorRequestId
from evoenv.models.embedder import MiniLMEmbedder
from evoenv.presets import preset
from evoenv.records import Candidate, Message, Request, Sample, ValidationReport, derive_seed, environment_id
from evoenv.run import create, prepare
from evoenv.sandbox.host import Sandbox
from evoenv.store.store import EnvironmentRecord, RequestRecord, Store

if TYPE_CHECKING:
    from evoenv.engines.local.policy import LocalPolicy

DIMENSION = 384
BATCH = 128


def novelty(environments: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    cache = NoveltyCache(DIMENSION)
    for start in range(0, environments, 10_000):
        count = min(10_000, environments - start)
        block = rng.standard_normal((count, DIMENSION), dtype=np.float32)
        cache.add([f"{start + number}" for number in range(count)], block, block[:, ::-1].copy())
    names = [f"c{number:03d}" for number in range(BATCH)]
    prompts, codes = (rng.standard_normal((BATCH, DIMENSION), dtype=np.float32) for _ in range(2))
    config = Config()
    began = time.perf_counter()
    measured = measure_batch(names, prompts, codes, cache, config.novelty)
    batch = [Evaluated(name, name, 5, True, 0.25, measured[name]) for name in names]
    decided = decide_admissions(batch, gamma(0.5, config.novelty), config)
    seconds = time.perf_counter() - began
    return {"environments": environments, "seconds": seconds, "admitted": sum(item.admitted for item in decided)}


def store(candidates: int) -> dict[str, float]:
    source = next(iter(seed_sources().values()))
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "run"
        with Store.create(directory, {}, {}) as writer, writer.transaction():
            for step in range(1, candidates // BATCH + 1):
                _write_step(writer, step, source)
        began = time.perf_counter()
        with Store.open(directory) as reader:
            members, last = len(reader.pool().members), len(reader.candidates(candidates // BATCH))
            size = reader.size()
        seconds = time.perf_counter() - began
    assert (members, last) == (size["candidates"], BATCH)
    return {
        "candidates": size["candidates"],
        "seconds_to_open": seconds,
        "bytes_per_candidate": size["bytes"] / size["candidates"],
    }


def _write_step(writer: Store, step: int, source: str) -> None:
    """A step of candidates with all that usually comes with them: text, source, report, vectors."""
    for group in range(16):
        messages = (Message("user", f"prompt {step}.{group} " * 50),)
        request = Request(str(GeneratorRequestId(step, group)), "generator", messages, count=8)
        writer.add_requests(step, [RequestRecord(request, "generate")])
        for index in range(8):
            name = str(GeneratorRequestId(step, group).candidate(index))
            own = f"# {derive_seed(name)}\n{source}"
            writer.add_sample(step, Sample(request.id, index, f"Here it is.\n```python\n{own}\n```"))
            writer.add_candidates([Candidate(step, group, index, "", own, ("a", "b"))])
            writer.add_report(step, name, ValidationReport(5, prompt_template=source[:400]))
            vector = np.random.default_rng(derive_seed(name)).standard_normal((2, DIMENSION), dtype=np.float32)
            writer.add_vectors({environment_id(own): (vector[0], vector[1])})
            writer.add_environments([EnvironmentRecord(environment_id(own), name, False)])


class HashedEmbedder:
    """Another vector for every text, at no cost: the embedder's time is not what is measured here."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack(
            [np.random.default_rng(derive_seed(text)).standard_normal(DIMENSION, dtype=np.float32) for text in texts]
        )


SEEDS = tuple(seed_sources().values())


def respond(request: Request, index: int) -> str:
    """Every role at once; candidates are by turns a seed with another name and half a class."""
    if request.role == "reviewer":
        return "VERDICT: ACCEPT"
    if request.role == "solver":
        return f"<answer>{index}</answer>"
    number = derive_seed(request.id, index)
    if index % 2:
        return "```python\nclass Half:\n```"
    source = re.sub(r"class (\w+)", rf"class \g<1>{number % 10_000}", SEEDS[number % len(SEEDS)], count=1)
    return f"```python\n{source}\n```"


def step() -> dict[str, float]:
    config = load_config({"run": {"steps": 1}})
    with tempfile.TemporaryDirectory() as place, Sandbox() as sandbox:
        opened, config = create(Path(place) / "run", config)
        run = prepare(opened, config, ScriptedPolicy(respond), sandbox, HashedEmbedder())
        metrics = evolve(run, 1).metrics
        opened.close()
    policy = metrics["time/sampling"] + metrics["time/updating"]
    names = ("propose", "judge", "decide", "solve", "update")
    return {
        "seconds_beside_policy": metrics["time/step"] - policy,
        "l5": metrics["funnel/l5"],
        **{f"seconds_{name}": metrics[f"time/{name}"] for name in names},
    }


def sound_author(policy: LocalPolicy) -> LocalPolicy:
    """Make candidates of a real policy read like those of `respond`: the same tokens and time, another text."""
    sample_requests = policy.sample

    def sample(requests: Sequence[Request]) -> Iterator[Sample]:
        generators = {request.id: request for request in requests if request.role == "generator"}
        for sample in sample_requests(requests):
            request = generators.get(sample.request_id)
            yield sample if request is None else replace(sample, text=respond(request, sample.index))

    policy.sample = sample  # type: ignore[method-assign]
    return policy


def laptop(share: float) -> dict[str, float]:
    from evoenv.engines.local.policy import LocalPolicy

    whole = load_config(preset("laptop"))
    cut = {
        "generator": {
            "prompts": max(1, round(share * whole.generator.prompts)),
            "max_tokens": round(share * whole.generator.max_tokens),
        },
        "solver": {
            "prompts": max(1, round(share * whole.solver.prompts)),
            "max_tokens": round(share * whole.solver.max_tokens),
        },
        "review": {"max_tokens": round(share * whole.review.max_tokens)},
        "run": {"steps": 1},
    }
    config = load_config(preset("laptop"), cut)
    with tempfile.TemporaryDirectory() as place, Sandbox() as sandbox:
        checkpoints = Path(place) / "run" / "checkpoints"
        policy = sound_author(LocalPolicy.open(config.model, config.training, checkpoints=checkpoints))
        embedder = MiniLMEmbedder(config.novelty.embedder)
        opened, config = create(Path(place) / "run", config)
        with prepare(opened, config, policy, sandbox, embedder) as run:
            metrics = evolve(run, 1).metrics
    return {
        "share_of_batches_and_texts": share,
        "candidates": metrics["funnel/candidates"],
        "l5": metrics["funnel/l5"],
        "seconds": metrics["time/step"],
        "seconds_sampling": metrics["time/sampling"],
        "seconds_updating": metrics["time/updating"],
        "tokens_per_second": metrics.get("time/tokens_per_second", 0.0),
        "share_beside_policy": metrics["time/overhead_share"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--environments", type=int, default=100_000)
    parser.add_argument("--candidates", type=int, default=100_000)
    parser.add_argument("--laptop", type=float, default=0.0, metavar="SHARE", help="also one step of the laptop preset")
    parser.add_argument("--only-laptop", action="store_true")
    arguments = parser.parse_args()
    result: dict[str, Any] = {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    if not arguments.only_laptop:
        result |= {"novelty": novelty(arguments.environments), "store": store(arguments.candidates), "step": step()}
    if arguments.laptop or arguments.only_laptop:
        result["laptop"] = laptop(arguments.laptop or 0.125)
    if arguments.json:
        json.dump(result, sys.stdout, indent=2)
        print()
        return
    for name, values in result.items():
        shown = (
            values
            if not isinstance(values, dict)
            else ", ".join(f"{key} {value:,.3f}" for key, value in values.items())
        )
        print(f"{name:8} {shown}")


if __name__ == "__main__":
    main()
