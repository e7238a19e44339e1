"""What one step of a paper preset should cost on eight 80 GB GPUs: a simulation, not a measurement.

    python benchmarks/paper_step.py [--preset paper-4b] [--devices 8]

Sampling is simulated token by token in slices (continuous batching, a cache of limited size, one server per
`tensor_parallel` devices); training is counted in floating-point operations. Everything that is assumed is in
`Assumptions` and `LENGTHS`, and printed. docs/scale.md quotes the result.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, fields

from evoenv.config import Config, load_config
from evoenv.presets import preset


@dataclass(frozen=True, slots=True)
class Model:
    """Shape of a dense transformer; by default Qwen3-4B's."""

    weights: float = 4.02e9
    layers: int = 36
    width: int = 2560
    heads: int = 32
    kv_heads: int = 8
    head_size: int = 128
    vocabulary: int = 151_936

    @property
    def cache_bytes(self) -> int:
        """Of one token's keys and values in bfloat16."""
        return 2 * 2 * self.layers * self.kv_heads * self.head_size

    def attention_flops(self, context: float) -> float:
        """Of one token's attention over its context, forward."""
        return 4.0 * self.layers * self.heads * self.head_size * context


MODELS = {
    "paper-4b": Model(),
    "paper-8b": Model(weights=8.19e9, width=4096),
}


@dataclass(frozen=True, slots=True)
class Assumptions:
    """None of these was measured by us; they are what such machines are commonly said to reach."""

    device_flops: float = 989e12  # bfloat16, dense, H100 SXM
    device_bandwidth: float = 3.35e12  # bytes a second
    device_memory: float = 80e9
    training_use: float = 0.35  # share of the peak that forward and backward passes reach
    prefill_use: float = 0.45
    decode_use: float = 0.55  # share of the bandwidth that decoding reaches
    decode_overhead: float = 0.004  # seconds a decoding step costs beside reading memory
    recompute: float = 1.0  # extra forward passes of gradient checkpointing
    server_reserve: float = 6e9  # bytes of a server that hold neither weights nor cache
    publish_seconds: float = 6.0  # wake, gather and send weights
    sleep_seconds: float = 3.0
    disk_bytes: float = 2e9  # a second, for checkpoints
    cores: int = 96
    candidate_seconds: float = 20.0  # CPU seconds to judge one candidate
    response_seconds: float = 0.05  # CPU seconds to score one response
    prompt_tokens: tuple[int, int, int] = (3000, 400, 2500)  # mean of generator, solver, reviewer
    pass_share: float = 0.3  # candidates that reach review and calibration


LENGTHS = {"short": 0.08, "medium": 0.25, "at the limits": 1.0}
"""Mean response as a share of max_tokens; lengths are exponential and cut there. Which one a run has, nobody knows
before: a model that does not think is "short" at first and grows."""
SLICE = 32
"""Tokens by which all rows of a server advance at once."""


ADMITTED_SHARE = 0.8
"""Of a server's cache that may be taken when another row begins: the others will grow."""


@dataclass(slots=True)
class Work:
    """One response to be drawn."""

    prompt: int
    length: int
    done: int = 0


def draw_lengths(count: int, limit: int, share: float, source: random.Random) -> list[int]:
    if share >= 1:
        return [limit] * count
    return [max(16, min(limit, round(source.expovariate(1 / (share * limit))))) for _ in range(count)]


def sample_seconds(groups: Sequence[Sequence[Work]], model: Model, config: Config, given: Assumptions) -> float:
    """Time until the last of all servers is done; a group stays on one server."""
    engine = config.engine
    servers: list[list[Work]] = [[] for _ in range(engine.world // engine.tensor_parallel)]
    loads = [0] * len(servers)
    prefill = [0.0] * len(servers)
    flops = given.device_flops * engine.tensor_parallel * given.prefill_use
    for group in groups:
        target = loads.index(min(loads))
        servers[target] += group
        loads[target] += sum(work.length for work in group)
        prompt = group[0].prompt  # computed once for the group
        prefill[target] += prompt * (2 * model.weights + model.attention_flops(prompt / 2)) / flops
    return max(first + _decode(queue, model, config, given) for first, queue in zip(prefill, servers, strict=True))


def _decode(queue: list[Work], model: Model, config: Config, given: Assumptions) -> float:
    width = config.engine.tensor_parallel
    room = given.device_memory * config.engine.sampler_memory * width - 2 * model.weights - given.server_reserve
    capacity = room / model.cache_bytes
    bandwidth = given.device_bandwidth * width * given.decode_use
    flops = given.device_flops * width * given.prefill_use
    waiting, rows, seconds = list(reversed(queue)), [], 0.0
    while waiting or rows:
        used = sum(work.prompt + work.done for work in rows)
        while rows[1:] and used + len(rows) * SLICE > capacity:
            # The youngest goes back and is computed again later, as vLLM does.
            waiting.append(rows.pop())
            used -= waiting[-1].prompt + waiting[-1].done
        while waiting and len(rows) < config.engine.sampler_rows:
            size = waiting[-1].prompt + waiting[-1].done
            if rows and used + size > ADMITTED_SHARE * capacity:
                break
            rows.append(waiting.pop())
            used += size
            seconds += rows[-1].done * 2 * model.weights / flops
        tokens = sum(work.prompt + work.done for work in rows)
        reading = (2 * model.weights + tokens * model.cache_bytes) / bandwidth
        computing = len(rows) * 2 * model.weights / flops
        seconds += SLICE * (max(reading, computing) + given.decode_overhead)
        for work in rows:
            work.done += SLICE
        rows = [work for work in rows if work.done < work.length]
    return seconds


def training_seconds(works: Sequence[Work], model: Model, config: Config, given: Assumptions) -> tuple[float, float]:
    """Seconds of the reference's pass and of the update, with prompts computed for every response."""
    forward = 0.0
    for work in works:
        tokens = work.prompt + work.length
        forward += tokens * (2 * model.weights + model.attention_flops(tokens / 2))
    pace = given.device_flops * config.engine.world * given.training_use
    reference = forward / pace if config.training.kl > 0 else 0.0
    return reference, forward * (3 + given.recompute) / pace


def memory(model: Model, config: Config) -> dict[str, float]:
    """Gigabytes on each device while training: weights, gradients and AdamW in float32 over all devices."""
    world = config.engine.world
    tokens = max(
        config.training.micro_batch_tokens,
        max(role.max_prompt_tokens + role.max_tokens for role in (config.generator, config.solver)),
    )
    return {
        "weights, gradients, optimiser": 16 * model.weights / world / 1e9,
        "one layer gathered in bfloat16": 2 * 2 * model.weights / model.layers / 1e9,
        f"kept activations of {tokens} tokens": 2 * tokens * model.width * model.layers / 1e9,
        "logits and their gradient (bfloat16), softmax (float32)": tokens * model.vocabulary * (2 + 2 + 4) / 1e9,
    }


def step(config: Config, model: Model, share: float, given: Assumptions) -> dict[str, float]:
    """Simulate one step: seconds by stage, and tokens."""
    source = random.Random(0)
    generator_prompt, solver_prompt, reviewer_prompt = given.prompt_tokens

    def groups(prompts: int, size: int, prompt: int, limit: int) -> list[list[Work]]:
        return [[Work(prompt, length) for length in draw_lengths(size, limit, share, source)] for _ in range(prompts)]

    generator, solver = config.generator, config.solver
    passing = math.ceil(given.pass_share * generator.prompts * generator.candidates_per_prompt)
    candidates = groups(generator.prompts, generator.candidates_per_prompt, generator_prompt, generator.max_tokens)
    judged = groups(passing, config.review.reviews, reviewer_prompt, config.review.max_tokens)
    judged += groups(passing * config.calibration.instances, 1, solver_prompt, solver.max_tokens)
    solved = groups(solver.prompts, solver.responses_per_prompt, solver_prompt, solver.max_tokens)
    trained = [work for group in (*candidates, *solved) for work in group]
    reference, update = training_seconds(trained, model, config, given)
    number = generator.prompts * generator.candidates_per_prompt
    sampled = sum(work.length for group in (*candidates, *judged, *solved) for work in group)
    seconds = {
        "sampling candidates": sample_seconds(candidates, model, config, given),
        "judging candidates (CPU)": number * given.candidate_seconds / given.cores,
        "reviews and calibration": sample_seconds(judged, model, config, given),
        "sampling solutions": sample_seconds(solved, model, config, given),
        "scoring (CPU)": (len(trained) + passing * 8) * given.response_seconds / given.cores,
        "reference's pass": reference,
        "update": update,
        "sleep and new weights": given.publish_seconds + given.sleep_seconds,
        "checkpoint": (4 + 8 + 4) * model.weights / given.disk_bytes,
    }
    return {
        **seconds,
        "a step": sum(seconds.values()),
        "million tokens sampled": sampled / 1e6,
        "million tokens trained on": sum(work.length for work in trained) / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=sorted(MODELS), default="paper-4b")
    parser.add_argument("--devices", type=int, default=8)
    arguments = parser.parse_args()
    config = load_config(preset(arguments.preset), overrides=[f"engine.devices_per_node={arguments.devices}"])
    model, given = MODELS[arguments.preset], Assumptions()
    columns = {name: step(config, model, share, given) for name, share in LENGTHS.items()}
    print(f"{arguments.preset} on {arguments.devices} devices: seconds, for three lengths of responses\n")
    print(f"| | {' | '.join(columns)} |")
    print(f"|---|{'---|' * len(columns)}")
    for row in next(iter(columns.values())):
        values = (f"{column[row]:,.1f}" if "million" in row else f"{column[row]:,.0f}" for column in columns.values())
        print(f"| {row} | {' | '.join(values)} |")
    steps = config.run.steps
    hours = (f"{column['a step'] * steps / 3600:,.0f}" for column in columns.values())
    print(f"| {steps} steps, hours | {' | '.join(hours)} |")
    print("\nMemory of each device while training, GB:")
    for name, size in memory(model, config).items():
        print(f"- {name}: {size:.1f}")
    print("\nAssumed:")
    for item in fields(given):
        print(f"- {item.name} = {getattr(given, item.name)}")


if __name__ == "__main__":
    main()
