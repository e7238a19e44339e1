"""Our step on the verl engine beside the same work asked of verl's own calls directly, in the same processes.

    ./test verl --collect-only              # makes the environment once
    .venv-verl/bin/python benchmarks/verl_step.py [--world 1] [--rounds 3]

Same model (nano), same number of sampled and trained tokens, one run. "verl" is what a bare loop over verl 0.9.1 must
at least do: its servers' own `generate` for every sample, the reference's pass, forward and backward, the optimiser's
step, new weights. Its recomputation of the sampler's log-probabilities, its data loader and its reward loop are left
out, so the ratio is against less than its V1 trainer does. Medians of the rounds are printed as JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "verl"))

import cpu_platform  # noqa: E402

cpu_platform.prepare()

import ray  # noqa: E402
from verl.utils import tensordict_utils as tu  # noqa: E402

from evoenv.assembly import open_policy  # noqa: E402
from evoenv.config import load_config  # noqa: E402
from evoenv.engines.verl.columns import REFERENCE, columns_of, padded  # noqa: E402
from evoenv.objective import Batch, build_batch  # noqa: E402
from evoenv.presets import preset  # noqa: E402
from evoenv.records import Group, Message, Request  # noqa: E402

PROMPTS, COUNT, MAX_TOKENS = 8, 8, 96


def requests_of(seed: int) -> list[Request]:
    return [
        Request(
            f"r{number}",
            "solver" if number % 2 else "generator",
            (Message("user", f"Sort the numbers {number} 9 4 {number + 3} 7."),),
            count=COUNT,
            max_tokens=MAX_TOKENS,
            seed=seed + number,
            trains=True,
        )
        for number in range(PROMPTS)
    ]


def batch_of(samples: list[Any], config: Any, seed: int) -> Batch:
    groups = []
    for request in requests_of(seed):
        own = tuple(sorted((item for item in samples if item.request_id == request.id), key=lambda item: item.index))
        groups.append(Group(request.id, request.role, own, tuple(float(item.index % 2) for item in own)))
    return build_batch(groups, config.training, update=0)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def bare_sample(policy: Any, seed: int) -> int:
    """Draw the same samples by verl's own `generate`; return their tokens."""
    calls = []
    for number, request in enumerate(requests_of(seed)):
        server = policy.cluster.replicas[number % len(policy.cluster.replicas)].server_handle
        for index in range(request.count):
            params = {
                "temperature": 1.0,
                "top_p": 1.0,
                "max_tokens": MAX_TOKENS,
                "seed": seed + index,
                "logprobs": True,
            }
            calls.append(server.generate.remote(list(policy.encode(request.messages)), params, uuid4().hex))
    return sum(len(answer.token_ids) for answer in ray.get(calls))


def bare_update(policy: Any, batch: Batch) -> None:
    """Ask for the same passes directly."""
    workers = policy.cluster.workers
    columns = columns_of(padded(batch.minibatches[0], policy.cluster.world))
    inputs = {name: columns[name] for name in ("input_ids", "position_ids", "loss_mask", "temperature")}
    scored = workers.compute_ref_log_prob(
        tu.get_tensordict(inputs, {"compute_loss": False, "calculate_entropy": False})
    )
    columns[REFERENCE] = (scored.get() if hasattr(scored, "futures") else scored)["log_probs"]
    workers.forward_backward(tu.get_tensordict(columns, {"calculate_entropy": False})).get()
    workers.step_optimizer(1e-6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    settings = [*cpu_platform.OVERRIDES, f"engine.devices_per_node={arguments.world}", "training.learning_rate=1e-6"]
    config = load_config(preset("nano"), overrides=settings)
    times: dict[str, list[float]] = {}
    tokens: dict[str, list[int]] = {"ours": [], "verl": []}
    with tempfile.TemporaryDirectory() as folder:
        policy: Any = open_policy(config, learns=True, run_directory=Path(folder))
        try:
            batch = batch_of(list(policy.sample(requests_of(0))), config, 0)
            policy.update(batch)  # first calls compile and allocate
            policy.publish()
            for number in range(arguments.rounds):
                seed = 1000 * (number + 1)
                for name, work in {
                    "ours: sampling": lambda seed=seed: list(policy.sample(requests_of(seed))),
                    "ours: update": lambda: policy.update(batch),
                    "ours: new weights": policy.publish,
                    "verl: sampling": lambda seed=seed: bare_sample(policy, seed),
                    "verl: update": lambda: bare_update(policy, batch),
                    "verl: new weights": lambda: policy.cluster.publish(0),
                }.items():
                    seconds, result = timed(work)
                    times.setdefault(name, []).append(seconds)
                    if name == "ours: sampling":
                        tokens["ours"].append(sum(sample.tokens for sample in result))
                    elif name == "verl: sampling":
                        tokens["verl"].append(result)
        finally:
            policy.close()
    medians = {name: round(statistics.median(values), 3) for name, values in times.items()}
    pace = {name: sum(counts) / sum(times[f"{name}: sampling"]) for name, counts in tokens.items()}
    # Samples differ in length with their random streams: sampling is compared per token.
    ratio = {
        "sampling, seconds per token": round(pace["verl"] / pace["ours"], 3),
        "update": round(medians["ours: update"] / medians["verl: update"], 3),
        "new weights": round(medians["ours: new weights"] / medians["verl: new weights"], 3),
    }
    print(json.dumps({"world": arguments.world, "seconds": medians, "ours / verl": ratio}, indent=1))


if __name__ == "__main__":
    main()
