"""Our step on the verl engine beside verl's own V1 trainer (GRPO), and beside the same calls asked of verl directly.

    ./test verl --collect-only              # makes the environment once
    .venv-verl/bin/python benchmarks/verl_step.py [--world 1] [--rounds 4]

Same model (nano), prompts, samples and lengths, one run; one after the other, because each takes all cores.

- "trainer" is verl 0.9.1's `PPOTrainerSync` with its agent loop, queue, reward workers and its own loss: a whole step
  of GRPO with a KL term (`verl_plain.py`).
- "ours" is what a step of our loop asks of the engine: sample, build the batch, update, new weights.
- "bare" is the least that any loop over verl must do, in the processes of "ours": its servers' own `generate`, the
  reference's pass, forward and backward, the optimiser's step, new weights.

Samples differ in length with their random streams, so everything is compared per sampled token; every sampled token is
trained on. Seconds of the clock mean something on an idle machine only; the CPU seconds of all processes beside them
hardly change with the load. The first round is not counted: it compiles and allocates.

verl's trainer leaves its buffers in /dev/shm (`psm_*`, 0.4 GB) behind: remove them if nothing runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "verl"), str(HERE)]

import cpu_platform  # noqa: E402

cpu_platform.prepare()

import psutil  # noqa: E402
import ray  # noqa: E402
from verl.utils import tensordict_utils as tu  # noqa: E402
from verl_work import COUNT, MAX_TOKENS, PROMPTS, config_of, requests_of  # noqa: E402

from evoenv.assembly import open_policy  # noqa: E402
from evoenv.config import Config  # noqa: E402
from evoenv.engines.verl.columns import REFERENCE, columns_of, padded  # noqa: E402
from evoenv.objective import Batch, build_batch  # noqa: E402
from evoenv.records import Group, Sample  # noqa: E402

POLL_SECONDS = 0.05


def cpu_seconds(process: psutil.Process) -> float:
    """CPU time that a process and all its living descendants have used so far."""
    total = 0.0
    for member in (process, *process.children(recursive=True)):
        try:
            times = member.cpu_times()
        except psutil.Error:  # ended meanwhile
            continue
        total += times.user + times.system
    return total


def measured(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Clock and CPU seconds of some work, and its result."""
    this = psutil.Process()
    began, used = time.perf_counter(), cpu_seconds(this)
    result = work()
    return time.perf_counter() - began, cpu_seconds(this) - used, result


# --------------------------------------------------------------------------- verl's own trainer


def run_trainer(world: int, rounds: int) -> list[dict[str, float]]:
    """Run verl's trainer in a process of its own; its metrics of each step, with the CPU seconds since the last one."""
    steps: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        output, log = Path(folder) / "metrics.jsonl", Path(folder) / "log"
        command = [sys.executable, str(HERE / "verl_plain.py"), str(output), "--world", str(world)]
        with log.open("wb") as stream:
            child = psutil.Popen([*command, "--steps", str(rounds + 1)], stdout=stream, stderr=stream)
            used = 0.0
            while child.poll() is None:
                lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
                if len(lines) > len(steps):
                    now = cpu_seconds(child)
                    steps.append({**json.loads(lines[len(steps)])["data"], "cpu": now - used})
                    used = now
                time.sleep(POLL_SECONDS)
        if child.returncode or len(steps) != rounds + 1:
            raise SystemExit(
                f"verl's trainer ended with {child.returncode}:\n{log.read_text(errors='replace')[-5000:]}"
            )
    return steps[1:]


# --------------------------------------------------------------------------- ours, and the same calls directly


def batch_of(samples: Sequence[Sample], config: Config, seed: int) -> Batch:
    groups = []
    for request in requests_of(seed):
        own = tuple(sorted((item for item in samples if item.request_id == request.id), key=lambda item: item.index))
        groups.append(Group(request.id, request.role, own, tuple(float(item.index % 2) for item in own)))
    return build_batch(groups, config.training, update=0)


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
            calls.append(server.generate.remote(list(policy.encode(request.messages).token_ids), params, uuid4().hex))
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


def run_ours(world: int, rounds: int) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Take steps by our engine, and by bare calls on its processes."""
    config = config_of(world)
    ours: list[dict[str, float]] = []
    bare: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        policy: Any = open_policy(config, learns=True, run_directory=Path(folder))
        try:
            for number in range(rounds + 1):
                seed = 1000 * (number + 1)
                gen, gen_cpu, samples = measured(lambda seed=seed: list(policy.sample(requests_of(seed))))
                build, build_cpu, batch = measured(lambda seed=seed, s=samples: batch_of(s, config, seed))
                update, update_cpu, _ = measured(lambda batch=batch: policy.update(batch))
                publish, publish_cpu, _ = measured(policy.publish)
                ours.append(
                    {
                        "sampling": gen,
                        "update": update,
                        "new weights": publish,
                        "step": gen + build + update + publish,
                        "cpu": gen_cpu + build_cpu + update_cpu + publish_cpu,
                        "tokens": float(sum(sample.tokens for sample in samples)),
                    }
                )
                gen, gen_cpu, tokens = measured(lambda seed=seed: bare_sample(policy, seed))
                update, update_cpu, _ = measured(lambda batch=batch: bare_update(policy, batch))
                publish, publish_cpu, _ = measured(lambda: policy.cluster.publish(0))
                bare.append(
                    {
                        "sampling": gen,
                        "update": update,
                        "new weights": publish,
                        "step": gen + update + publish,
                        "cpu": gen_cpu + update_cpu + publish_cpu,
                        "tokens": float(tokens),
                    }
                )
        finally:
            policy.close()
    return ours[1:], bare[1:]


def trainer_step(metrics: dict[str, float]) -> dict[str, float]:
    """verl's metrics of a step by our names."""
    timing = {name.removeprefix("timing_s/"): value for name, value in metrics.items() if name.startswith("timing_s/")}
    return {
        "sampling": timing["gen"],
        "update": sum(timing.get(name, 0.0) for name in ("old_log_prob", "ref", "adv", "update_actor")),
        "new weights": timing.get("update_weights", 0.0),
        "step": timing["step"],
        "cpu": metrics["cpu"],
        "tokens": metrics["response_length/mean"] * PROMPTS * COUNT,
    }


def per_token(steps: Sequence[dict[str, float]], name: str) -> float:
    """The median over rounds, in milliseconds a sampled token."""
    return statistics.median(1000 * step[name] / step["tokens"] for step in steps)


def outside(steps: Sequence[dict[str, float]]) -> float:
    """The median share of a step that is neither sampling nor training: new weights, and what is in between."""
    return statistics.median(1 - (step["sampling"] + step["update"]) / step["step"] for step in steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    trainer = [trainer_step(metrics) for metrics in run_trainer(arguments.world, arguments.rounds)]
    ours, bare = run_ours(arguments.world, arguments.rounds)
    table = {
        name: {
            "trainer": round(per_token(trainer, name), 3),
            "ours": round(per_token(ours, name), 3),
            "bare": round(per_token(bare, name), 3),
            "ours / trainer": round(per_token(ours, name) / max(per_token(trainer, name), 1e-9), 3),
            "ours / bare": round(per_token(ours, name) / max(per_token(bare, name), 1e-9), 3),
        }
        for name in ("sampling", "update", "new weights", "step", "cpu")
    }
    tokens = {
        name: round(statistics.mean(step["tokens"] for step in steps))
        for name, steps in (("trainer", trainer), ("ours", ours), ("bare", bare))
    }
    shares = {name: round(outside(steps), 4) for name, steps in (("trainer", trainer), ("ours", ours), ("bare", bare))}
    result = {
        "world": arguments.world,
        "tokens a step": tokens,
        "ms a token": table,
        "share outside sampling and training": shares,
        "rounds of ours": [{name: round(value, 3) for name, value in step.items()} for step in ours],
        "rounds of verl's trainer": [{name: round(value, 3) for name, value in step.items()} for step in trainer],
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
