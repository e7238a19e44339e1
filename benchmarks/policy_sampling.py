"""Tokens per second of sampling: LocalPolicy against plain transformers `generate`, on the same work.

    python benchmarks/policy_sampling.py [--json] [--model NAME] [--rows 64] [--shortest 8] [--longest 256]

Work: `rows` answers whose lengths are drawn uniformly from shortest..longest (by per-request limits; end tokens are
switched off so that both sides write exactly these lengths). `generate` gets all rows as one left-padded batch and
runs until the longest is done, as it does. Two cases: every prompt different, and groups of eight per prompt. Only
wanted tokens are counted. The two sides take turns, and the best of `--repeats` runs of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from evoenv.engines.local.policy import LocalPolicy
from evoenv.engines.local.prompts import encode_prompt
from evoenv.models.resolve import load_model, load_tokenizer, resolve_model
from evoenv.records import Message, Request

WORDS = "list the numbers in order and then add every second one of them to the sum of the first".split()


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    prompts: int
    samples: int
    prompt_words: int


@dataclass(frozen=True, slots=True)
class Result:
    case: str
    rows: int
    tokens: int
    generate_tokens_per_s: float
    local_tokens_per_s: float
    ratio: float
    generate_tokens_per_cpu_s: float
    local_tokens_per_cpu_s: float
    cpu_ratio: float
    """From processor time: what the ratio is worth on a machine that has other work too."""


def machine() -> dict[str, Any]:
    import torch
    import transformers

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            model = next(line.split(":", 1)[1].strip() for line in stream if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def build_requests(case: Case, shortest: int, longest: int, seed: int = 0) -> list[Request]:
    """One request per row in the mixed case; in the grouped case one per prompt, its samples sharing a limit."""
    rng = random.Random(seed)
    requests = []
    for number in range(case.prompts):
        words = rng.choices(WORDS, k=rng.randint(case.prompt_words * 3 // 4, case.prompt_words))
        requests.append(
            Request(
                id=f"{case.name}-{number}",
                role="solver",
                messages=(Message("user", " ".join(words)),),
                count=case.samples,
                max_tokens=rng.randint(shortest, longest),
                seed=number,
            )
        )
    return requests


def run_local(policy: LocalPolicy, requests: list[Request]) -> int:
    return sum(sample.tokens for sample in policy.sample(requests))


def run_generate(model: Any, tokenizer: Any, requests: list[Request]) -> int:
    """The usual way: one padded batch, sampled at temperature 1 until the longest row is done."""
    import torch

    prompts = [
        encode_prompt(tokenizer, request.messages).token_ids for request in requests for _ in range(request.count)
    ]
    limits = [request.max_tokens for request in requests for _ in range(request.count)]
    width = max(map(len, prompts))
    pad = tokenizer.pad_token_id
    ids = torch.tensor([[pad] * (width - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    with torch.inference_mode():
        output = model.generate(
            input_ids=ids.to(model.device),
            attention_mask=mask.to(model.device),
            do_sample=True,
            temperature=1.0,
            top_p=1.0,
            top_k=0,
            max_new_tokens=max(limits),
            pad_token_id=pad,
        )
    assert output.shape[1] - width == max(limits)
    return sum(limits)


@dataclass(frozen=True, slots=True)
class Rate:
    tokens: int
    per_s: float
    per_cpu_s: float


def rate(work: Callable[[], int]) -> Rate:
    started, started_cpu = time.perf_counter(), time.process_time()
    tokens = work()
    wall, cpu = time.perf_counter() - started, time.process_time() - started_cpu
    return Rate(tokens, tokens / wall, tokens / cpu)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    facts = machine()
    path = resolve_model(arguments.model)
    model, tokenizer = load_model(path, arguments.device), load_tokenizer(path)
    model.generation_config.eos_token_id = None
    policy = LocalPolicy(model, tokenizer, end_ids=(), max_rows=arguments.rows)
    group = min(8, arguments.rows)
    cases = [
        Case("every prompt different", arguments.rows, 1, 80),
        Case(f"groups of {group}", max(1, arguments.rows // group), group, 80),
    ]
    results = []
    for case in cases:
        requests = build_requests(case, arguments.shortest, arguments.longest)
        local: list[Rate] = []
        plain: list[Rate] = []
        for _ in range(arguments.repeats):
            local.append(rate(lambda: run_local(policy, requests)))  # noqa: B023 - called at once
            plain.append(rate(lambda: run_generate(model, tokenizer, requests)))  # noqa: B023
            assert local[-1].tokens == plain[-1].tokens, "unequal work"
        per_s = [max(run.per_s for run in side) for side in (plain, local)]
        per_cpu_s = [max(run.per_cpu_s for run in side) for side in (plain, local)]
        results.append(
            Result(
                case=case.name,
                rows=case.prompts * case.samples,
                tokens=local[0].tokens,
                generate_tokens_per_s=per_s[0],
                local_tokens_per_s=per_s[1],
                ratio=per_s[1] / per_s[0],
                generate_tokens_per_cpu_s=per_cpu_s[0],
                local_tokens_per_cpu_s=per_cpu_s[1],
                cpu_ratio=per_cpu_s[1] / per_cpu_s[0],
            )
        )
    return {
        "benchmark": "policy sampling",
        "model": arguments.model,
        "lengths": [arguments.shortest, arguments.longest],
        "machine": facts,
        "results": [asdict(result) for result in results],
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def show(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    facts = report["machine"]
    table = Table(
        title=f"Sampling, {report['model']}, answers of {report['lengths'][0]}-{report['lengths'][1]} tokens",
        caption=f"{facts['cpu']}, {facts['threads']} threads, torch {facts['torch']}, load {facts['load_before']:.1f}",
    )
    for heading in ("case", "rows", "tokens", "generate tok/s", "LocalPolicy tok/s", "ratio", "by CPU time"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for result in report["results"]:
        table.add_row(
            result["case"],
            str(result["rows"]),
            str(result["tokens"]),
            f"{result['generate_tokens_per_s']:.1f}",
            f"{result['local_tokens_per_s']:.1f}",
            f"{result['ratio']:.2f}x",
            f"{result['cpu_ratio']:.2f}x",
        )
    Console().print(table)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="SmolLM2-135M-Instruct")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--shortest", type=int, default=8)
    parser.add_argument("--longest", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="0: what torch chooses")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
    arguments = parser.parse_args(argv)
    report = measure(arguments)
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        show(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
