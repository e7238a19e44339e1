"""Seconds of one whole GRPO step (sampling, rewards, update) against TRL's `GRPOTrainer`, and our peak memory.

Work: `prompts` chat prompts × `group` answers whose lengths are fixed beforehand, evenly spread over the prompts; both
sides read and write exactly the same numbers of tokens and train on them, with KL to a frozen reference, all weights
in float32; or, with a rank, a LoRA on all linear layers (PEFT's on both sides). The sides take turns, step by step, and
the median of each counts; TRL runs in its own process and environment, and sits still while we run.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from peer_environments import TRL, peer_python

from evoenv.config import TrainingConfig, load_config
from evoenv.engines.local.packed import pack_frozen
from evoenv.engines.local.policy import LocalPolicy
from evoenv.models.resolve import load_model, load_tokenizer, resolve_model
from evoenv.objective import build_batch
from evoenv.records import Group, Message, Request, Role, Sample
from evoenv.training.update import Trainer

HERE = Path(__file__).parent
LAPTOP = HERE.parent / "configs" / "laptop.toml"
WORDS = "list the numbers in order and then add every second one of them to the sum of the first".split()


class TrlProcess:
    """A `GRPOTrainer` in its own environment, asked for one step at a time."""

    def __init__(self, job: dict[str, Any]) -> None:
        command = [str(peer_python("trl", TRL)), str(HERE / "trl_step.py")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._send(json.dumps(job))

    def step(self) -> dict[str, Any]:
        self._send("step")
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"TRL ended with code {self._process.wait()}; its messages are above")
        facts: dict[str, Any] = json.loads(line)
        return facts

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


def build_requests(prompts: int, group: int, shortest: int, longest: int, words: int) -> list[Request]:
    """One request per prompt; each prompt starts with a word of its own, by which TRL's side knows its length."""
    rng = random.Random(0)
    spread = max(1, prompts - 1)
    return [
        Request(
            id=f"prompt-{number}",
            role="solver",
            messages=(Message("user", f"task{number:03d} " + " ".join(rng.choices(WORDS, k=words))),),
            count=group,
            max_tokens=shortest + (longest - shortest) * number // spread,
            seed=number,
            trains=True,
        )
        for number in range(prompts)
    ]


def score(sample: Sample) -> float:
    """Cheap, and different for different answers: no group may drop out of the work."""
    return sum(sample.text.encode()) % 101 / 100


def run_step(policy: LocalPolicy, training: TrainingConfig, requests: list[Request]) -> dict[str, float]:
    """One step of ours, with its two halves."""
    started, cpu_started = time.perf_counter(), time.process_time()
    by_request: dict[str, list[Sample]] = {request.id: [] for request in requests}
    for sample in policy.sample(requests):
        by_request[sample.request_id].append(sample)
    sampled = time.perf_counter()
    groups = [
        Group(request.id, request.role, tuple(samples), tuple(map(score, samples)))
        for request, samples in zip(requests, by_request.values(), strict=True)
    ]
    batch = build_batch(groups, training)
    metrics = policy.update(batch)
    ended = time.perf_counter()
    assert batch.kept == len(groups), "a group without variance fell out: the work is not equal"
    return {
        "seconds": ended - started,
        "cpu_seconds": time.process_time() - cpu_started,
        "sampling_seconds": sampled - started,
        "update_seconds": ended - sampled,
        "prompt_tokens": sum(len(sample.rollout.prompt_ids) for samples in by_request.values() for sample in samples),
        "completion_tokens": metrics["tokens/solver"] + metrics["tokens/generator"],
    }


def measure_step(arguments: argparse.Namespace) -> dict[str, Any]:
    """Both sides in turn: some steps to warm up, then `repeats` that count."""
    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    path = resolve_model(arguments.model)
    model, tokenizer = load_model(path, "cpu", "float32"), load_tokenizer(path)
    config = TrainingConfig(
        micro_batch_tokens=arguments.micro_batch_tokens, lora_rank=arguments.lora, lora_alpha=2 * max(1, arguments.lora)
    )
    learner = Trainer(model, tokenizer, config)
    if arguments.lora:
        pack_frozen(model, trained=True)  # as the `laptop` preset does
    policy = LocalPolicy(model, tokenizer, learner=learner, end_ids=())
    requests = build_requests(
        arguments.prompts, arguments.group, arguments.step_shortest, arguments.step_longest, arguments.prompt_words
    )
    trl = TrlProcess(
        {
            "model": str(path),
            "threads": arguments.threads,
            "prompts": [[{"role": "user", "content": request.messages[0].content}] for request in requests],
            "lengths": {request.messages[0].content.split()[0]: request.max_tokens for request in requests},
            "group_size": arguments.group,
            "kl": config.kl,
            "lora_rank": config.lora_rank,
            "lora_alpha": config.lora_alpha,
        }
    )
    ours, theirs = [], []
    for turn in range(arguments.warm_up + arguments.repeats):
        print(f"step {turn + 1} of {arguments.warm_up + arguments.repeats}", file=sys.stderr)
        pair = run_step(policy, config, requests), trl.step()
        if any(pair[0][name] != pair[1][name] for name in ("prompt_tokens", "completion_tokens")):
            raise SystemExit(f"unequal work: {pair}")
        if turn >= arguments.warm_up:
            ours.append(pair[0])
            theirs.append(pair[1])
    trl.close()
    mine, peer = (statistics.median(step["seconds"] for step in steps) for steps in (ours, theirs))
    updates = [statistics.median(step["update_seconds"] for step in steps) for steps in (ours, theirs)]
    mine_cpu, peer_cpu = (statistics.median(step["cpu_seconds"] for step in steps) for steps in (ours, theirs))
    return {
        "prompts": arguments.prompts,
        "group": arguments.group,
        "lengths": [arguments.step_shortest, arguments.step_longest],
        "prompt_tokens": ours[0]["prompt_tokens"],
        "completion_tokens": ours[0]["completion_tokens"],
        "evoenv_seconds": mine,
        "evoenv_sampling_seconds": statistics.median(step["sampling_seconds"] for step in ours),
        "evoenv_update_seconds": updates[0],
        "trl_seconds": peer,
        "trl_update_seconds": updates[1],
        "lora_rank": config.lora_rank,
        "update_tokens_per_second": [ours[0]["completion_tokens"] / seconds for seconds in updates],
        "update_speedup": updates[1] / updates[0],
        "ratio": mine / peer,
        "cpu_ratio": mine_cpu / peer_cpu,
        "trl_peak_memory_mb": theirs[-1]["peak_memory_mb"],
        "steps": {"evoenv": ours, "trl": theirs},
    }


def memory_child(model: str) -> dict[str, Any]:
    """One real step at the `laptop` preset: a group of each role, with prompts and answers as long as they may be.

    Memory does not grow with the number of groups: sampling is bounded by its cache budget, the update by its
    micro-batch.
    """
    config = load_config(LAPTOP)
    path = resolve_model(model)
    network, tokenizer = load_model(path, "cpu", "float32"), load_tokenizer(path)
    learner = Trainer(network, tokenizer, config.training)
    if config.model.packed:
        pack_frozen(network, trained=True)
    policy = LocalPolicy(network, tokenizer, learner=learner, batch_tokens=config.model.sample_batch_tokens, end_ids=())
    plan: list[tuple[Role, int, int, int]] = [
        ("solver", config.solver.responses_per_prompt, config.solver.max_prompt_tokens, config.solver.max_tokens),
        (
            "generator",
            config.generator.candidates_per_prompt,
            config.generator.max_prompt_tokens,
            config.generator.max_tokens,
        ),
    ]
    rng = random.Random(0)
    requests = [
        # A word is a token or a little more, and the chat template adds some: 9/10 of the limit come close to it.
        Request(
            id=role,
            role=role,
            messages=(Message("user", " ".join(rng.choices(WORDS, k=prompt * 9 // 10))),),
            count=count,
            max_tokens=tokens,
            trains=True,
        )
        for role, count, prompt, tokens in plan
    ]
    step = run_step(policy, config.training, requests)
    return {
        "preset": "laptop",
        "answers": [{"role": role, "count": count, "tokens": tokens} for role, count, _, tokens in plan],
        "prompt_tokens": step["prompt_tokens"],
        "micro_batch_tokens": config.training.micro_batch_tokens,
        "lora_rank": config.training.lora_rank,
        "seconds": step["seconds"],
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def measure_memory(arguments: argparse.Namespace) -> dict[str, Any]:
    """In a process of its own: a peak cannot be reset."""
    command = [sys.executable, str(HERE / "policy_step.py"), "--memory-child", arguments.model]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    facts: dict[str, Any] = json.loads(result.stdout)
    return facts


if __name__ == "__main__":
    print(json.dumps(memory_child(sys.argv[2])))
