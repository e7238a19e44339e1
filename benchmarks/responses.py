"""What a solver response costs with the small policy: sampled, and trained on.

    OMP_NUM_THREADS=1 python benchmarks/responses.py [--json] [--model nano]

- sampling: tokens and solver responses per second, eight to a prompt as the loop samples them, and one to a prompt,
  where reading prompts costs more than writing answers; with 64 rows, each response a row of its own by the model's
  own forward, and as the engine does it. The drafts of both are compared token by token.
- training: responses per second of an update on those samples, in float32 and bfloat16 and at several sizes of a
  micro-batch; a third of the groups is silent, which costs nothing.

Beside the wall clock there is CPU time, which holds on a busy machine too. `benchmarks/nano.py` says where the time of
a whole step goes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch

from evoenv.config import Config, load_config
from evoenv.corpus import Author
from evoenv.corpus.compose.screen import load
from evoenv.engines.local.policy import LocalPolicy
from evoenv.objective import build_batch
from evoenv.presets import preset
from evoenv.prompts.solver import solver_messages
from evoenv.records import Group, Request, Sample

ROWS = 64
RESPONSES = 512
MICRO_BATCHES = (2048, 8192)


def solver_requests(config: Config, group: int, *, trains: bool = True) -> list[Request]:
    """Fresh instances of the corpus, to be answered `group` times each."""
    author = Author(1, "train")
    requests = []
    for number in range(RESPONSES // group):
        environment = load(author.compose(number % ROWS).source)
        z, _ = environment._generate(number, 0)
        messages = solver_messages(environment._prompt_generate(z))
        requests.append(
            Request(
                f"r{number}", "solver", messages, count=group, max_tokens=config.solver.max_tokens, seed=number,
                trains=trains,
            )
        )  # fmt: skip
    return requests


class Watch:
    """Wall clock and CPU time of this process."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def rates(self, responses: int, tokens: int) -> dict[str, float]:
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return {
            "responses": responses, "tokens": tokens, "seconds": wall, "cpu_seconds": cpu,
            "tokens_per_second": tokens / wall, "responses_per_second": responses / wall,
            "responses_per_cpu_second": responses / cpu,
        }  # fmt: skip


def sampling(
    policy: LocalPolicy, requests: Sequence[Request], rows: int, shares: bool
) -> tuple[dict[str, float], list[Sample]]:
    """Answer all requests with so many rows at work."""
    policy.decoder.max_rows, policy.decoder.shares = rows, shares
    lean = policy.decoder.lean
    policy.decoder.lean = lean if shares else None
    list(policy.sample(requests[: ROWS // requests[0].count]))  # warm
    watch = Watch()
    samples = list(policy.sample(requests))
    rates = watch.rates(len(samples), sum(sample.tokens for sample in samples))
    policy.decoder.lean = lean
    return {"rows": rows, "threads": torch.get_num_threads(), "per_prompt": requests[0].count, **rates}, samples


def same_drafts(one: Sequence[Sample], other: Sequence[Sample]) -> float:
    """Share of samples that have the same tokens in both."""
    tokens = {(sample.request_id, sample.index): sample.rollout for sample in one}
    pairs = [(tokens[sample.request_id, sample.index], sample.rollout) for sample in other]
    return sum(a is not None and b is not None and a.token_ids == b.token_ids for a, b in pairs) / len(pairs)


def groups_of(samples: Sequence[Sample]) -> list[Group]:
    """Give every other response of a group a reward; in each third group none, which is silent then."""
    by_request: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_request[sample.request_id].append(sample)
    return [
        Group(name, "solver", tuple(own), tuple(float(index % 2 and number % 3 > 0) for index in range(len(own))))
        for number, (name, own) in enumerate(by_request.items())
    ]


def training(config: Config, samples: Sequence[Sample], dtype: str, tokens: int) -> dict[str, Any]:
    """One update on the samples, a third of whose groups has no signal."""
    groups = groups_of(samples)
    model = msgspec.structs.replace(config.model, dtype=dtype)
    settings = msgspec.structs.replace(config.training, micro_batch_tokens=tokens)
    with tempfile.TemporaryDirectory() as checkpoints:
        policy = LocalPolicy.open(model, settings, checkpoints=Path(checkpoints), seed=0)
        policy.update(build_batch(groups[:3], settings))  # warm
        watch = Watch()
        policy.update(build_batch(groups, settings))
        rates = watch.rates(len(samples), sum(sample.tokens for sample in samples))
        policy.close()
    return {"dtype": dtype, "micro_batch_tokens": tokens, **rates}


def responses(config: Config) -> dict[str, Any]:
    """Measure sampling and training by the response."""
    with tempfile.TemporaryDirectory() as checkpoints:
        policy = LocalPolicy.open(config.model, config.training, checkpoints=Path(checkpoints), seed=0)
        chosen = policy.decoder.max_rows
        rates, kept = [], []
        for group in (config.solver.responses_per_prompt, 1):
            requests = solver_requests(config, group)
            measured = [sampling(policy, requests, rows, shares) for rows, shares in ((ROWS, False), (chosen, True))]
            rates += [{**own, "same_drafts": same_drafts(measured[0][1], samples)} for own, samples in measured]
            kept.append(measured[-1][1])
        policy.close()
    updates = [
        training(config, kept[0], dtype, tokens) for dtype in ("float32", "bfloat16") for tokens in MICRO_BATCHES
    ]
    return {"sampling": rates, "training": updates}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--model", default="nano")
    arguments = parser.parse_args()
    config = load_config(preset("nano"), overrides=[f'model.name="{arguments.model}"'])
    rates = responses(config)
    if arguments.json:
        print(json.dumps(rates, indent=1))
        return
    for own in rates["sampling"]:
        print(
            f"sampling: {own['tokens_per_second']:,.0f} tokens/s, {own['responses_per_second']:.1f} responses/s "
            f"({own['responses_per_cpu_second']:.1f} a CPU second) at {own['rows']} rows, {own['per_prompt']} to a "
            f"prompt; {own['same_drafts']:.1%} of the drafts as one by one at {ROWS} rows"
        )
    for own in rates["training"]:
        print(
            f"training: {own['responses_per_second']:.1f} responses/s ({own['responses_per_cpu_second']:.1f} a CPU "
            f"second), {own['dtype']}, micro-batches of {own['micro_batch_tokens']} tokens"
        )


if __name__ == "__main__":
    main()
