"""Tokens per second of sampling: LocalPolicy in float32 against llama.cpp's server with the model's 4-bit file.

    python benchmarks/policy_llama.py FILE.gguf [--json] [--model Qwen2.5-Coder-0.5B-Instruct] [--rows 64]
                                      [--tokens 96] [--threads 1] [--lora 0]

Work: `rows` answers of `tokens` tokens each, eight to a prompt of about a hundred tokens; end tokens are switched off,
so that both write the same lengths. The server has a slot for each row and gets one request for each prompt, with
`n = 8`, so that it may share the prompt as we do. Both have the same threads and take turns. Beside the wall clock
there is CPU time, which holds on a busy machine too. The two do not compute the same: one reads 4-bit weights, the
other the floats that the trainer has.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import peer_environments
import torch
from policy_sampling import Case, build_requests, machine

from evoenv.config import ModelConfig, TrainingConfig
from evoenv.engines.local.policy import LocalPolicy
from evoenv.records import Request

GROUP = 8
CLOCK_TICKS = 100
STARTS = "http://"


@contextmanager
def llama_server(path: str, threads: int, rows: int, context: int) -> Iterator[tuple[str, int]]:
    """Start the server; give its address and process id."""
    python = peer_environments.peer_python("xllamacpp", peer_environments.XLLAMACPP)
    script = Path(__file__).with_name("llama_server.py")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(python), str(script), path, str(port), str(threads), str(rows), str(context)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        if not address.startswith(STARTS):
            raise SystemExit(f"the llama.cpp server did not start with {path}; is it a GGUF file?")
        yield address, server.pid
    finally:
        server.kill()
        server.wait()


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def ask(address: str, request: Request) -> int:
    """Let the server answer one request; the number of tokens that it wrote."""
    body = {
        "messages": [{"role": message.speaker, "content": message.content} for message in request.messages],
        "model": "any", "n": request.count, "max_tokens": request.max_tokens, "seed": request.seed,
        "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "ignore_eos": True,
    }  # fmt: skip
    call = urllib.request.Request(
        f"{address}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(call) as reply:
        return int(json.load(reply)["usage"]["completion_tokens"])


def sample_by_server(address: str, requests: list[Request]) -> int:
    """Send all requests at once; the tokens of all answers."""
    counts: list[int] = []
    askers = [threading.Thread(target=lambda one=one: counts.append(ask(address, one))) for one in requests]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    return sum(counts)


def rates(tokens: int, wall: float, cpu: float) -> dict[str, float]:
    return {
        "tokens": tokens,
        "seconds": wall,
        "tokens_per_second": tokens / wall,
        "tokens_per_cpu_second": tokens / cpu,
    }


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    torch.set_num_threads(arguments.threads)
    training = TrainingConfig(lora_rank=arguments.lora) if arguments.lora else None
    opened = LocalPolicy.open(ModelConfig(name=arguments.model, device="cpu", dtype="float32"), training)
    policy = LocalPolicy(opened.model, opened.tokenizer, end_ids=(), max_rows=arguments.rows)
    case = Case(f"groups of {GROUP}", arguments.rows // GROUP, GROUP, 80)
    requests = build_requests(case, arguments.tokens, arguments.tokens)
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    with llama_server(arguments.gguf, arguments.threads, arguments.rows, 512) as (address, process):
        for _ in range(arguments.repeats):
            wall, cpu = time.perf_counter(), cpu_seconds(process)
            tokens = sample_by_server(address, requests)
            theirs.append(rates(tokens, time.perf_counter() - wall, cpu_seconds(process) - cpu))
            wall, cpu = time.perf_counter(), time.process_time()
            tokens = sum(sample.tokens for sample in policy.sample(requests))
            ours.append(rates(tokens, time.perf_counter() - wall, time.process_time() - cpu))
    best = [max(side, key=lambda one: one["tokens_per_cpu_second"]) for side in (ours, theirs)]
    return {
        "benchmark": "sampling against llama.cpp", "model": arguments.model, "rows": arguments.rows, "group": GROUP,
        "threads": arguments.threads, "machine": machine(), "evoenv": best[0], "llama.cpp": best[1],
        "ratio": best[0]["tokens_per_second"] / best[1]["tokens_per_second"],
        "cpu_ratio": best[0]["tokens_per_cpu_second"] / best[1]["tokens_per_cpu_second"],
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", metavar="FILE.gguf")
    parser.add_argument("--model", default="Qwen2.5-Coder-0.5B-Instruct")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--lora", type=int, default=0, help="rank of the adapter that is sampled with; 0: none")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
    arguments = parser.parse_args()
    report = measure(arguments)
    if arguments.json:
        print(json.dumps(report, indent=1))
        return 0
    for name in ("evoenv", "llama.cpp"):
        own = report[name]
        print(
            f"{name}: {own['tokens_per_second']:.1f} tokens/s, {own['tokens_per_cpu_second']:.1f} a CPU second "
            f"({own['tokens']} tokens, {report['rows']} rows, {report['threads']} threads)"
        )
    print(f"ratio {report['ratio']:.2f}, by CPU time {report['cpu_ratio']:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
