"""How much sooner is a pool synthesised if the stages of a step overlap (engine.overlap)?

    python benchmarks/overlap.py [--candidates 24] [--median 1.0] [--concurrency 8] [--repeats 1]

A server on this machine answers after a delay with a long tail, the same for the same request: environments of the
procedural author as candidates, reviews that accept, wrong solutions. `evoenv.synthesise` runs against it with overlap
off and on, in turn. Printed are the times, their ratio, how busy the server was, and whether both runs hold the same,
by same_run.py. Exit code 1 if not.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import evoenv
from evoenv.environment.sets import load_environments

LIMITS = {"generator": 4000, "reviewer": 2000, "solver": 1000}
"""The server tells the roles apart by these token limits."""
SPREAD = 0.7
"""Of the logarithm of a delay: one answer in a hundred takes five times the median."""
COMPARE = Path(__file__).with_name("same_run.py")


class Server(ThreadingHTTPServer):
    """Answers by a fixed rule, late; counts for how long how many answers were under way."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, sources: list[str], median_s: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.sources = sources
        self.median_s = median_s
        self.lock = threading.Lock()
        self.answers = 0
        self.busy_s = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self.reply({"data": [{"id": "scripted"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        lots = random.Random(f"{body['seed']} {body['messages'][-1]['content']}")
        delay = self.server.median_s * lots.lognormvariate(0.0, SPREAD)
        time.sleep(delay)
        with self.server.lock:
            self.server.answers += 1
            self.server.busy_s += delay
        if body["max_tokens"] == LIMITS["generator"]:
            text = f"```python\n{lots.choice(self.server.sources)}\n```"
        elif body["max_tokens"] == LIMITS["reviewer"]:
            text = "All four steps hold.\nVERDICT: ACCEPT"
        else:
            text = "<answer>-1</answer>"
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 100, "completion_tokens": len(text) // 4}
        self.reply({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})

    def reply(self, document: Any) -> None:
        content = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def synthesise(server: Server, directory: Path, overlap: str, arguments: argparse.Namespace) -> float:
    """Make a pool in one step; return how long it took from its first request on."""
    config = evoenv.load_config(
        {
            "run": {"candidates": arguments.candidates},
            "model": {"base_url": server.url, "name": "scripted"},
            "engine": {"overlap": overlap},
            "endpoint": {"concurrency": arguments.concurrency},
            "generator": {"prompts": -(-arguments.candidates // 4), "candidates_per_prompt": 4,
                          "max_tokens": LIMITS["generator"]},
            "review": {"max_tokens": LIMITS["reviewer"]},
            "solver": {"max_tokens": LIMITS["solver"]},
            "novelty": {"embedder": "hashing"},
        }
    )  # fmt: skip
    result = evoenv.synthesise(config, directory)
    return float(result.steps[0].metrics["time/step"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=24)
    parser.add_argument("--median", type=float, default=1.0, help="seconds that the median answer takes")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    sources = list(load_environments("corpus:train:16").values())
    times: dict[str, list[float]] = {"off": [], "on": []}
    same = True
    with tempfile.TemporaryDirectory() as temporary:
        for repeat in range(arguments.repeats):
            directories = {overlap: Path(temporary) / f"{overlap}-{repeat}" for overlap in times}
            for overlap, directory in directories.items():
                server = Server(sources, arguments.median)
                threading.Thread(target=server.serve_forever, daemon=True).start()
                seconds = synthesise(server, directory, overlap, arguments)
                server.shutdown()
                server.server_close()
                times[overlap].append(seconds)
                busy = server.busy_s / seconds / arguments.concurrency
                print(
                    f"overlap {overlap}: {seconds:.1f} s, {server.answers} answers, server busy {busy:.0%}", flush=True
                )
            told = subprocess.run(
                [sys.executable, str(COMPARE), *map(str, directories.values())], capture_output=True, text=True
            )
            same = same and told.returncode == 0
            print(told.stdout.splitlines()[-1] if same else told.stdout)
    off, on = (statistics.median(times[overlap]) for overlap in ("off", "on"))
    print(f"time with overlap / without: {on / off:.2f} ({on:.1f} s / {off:.1f} s)")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
