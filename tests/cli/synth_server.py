"""An OpenAI-compatible server whose model writes known environments: what `evoenv synth` is tested against.

    python synth_server.py [--delay SECONDS] [--key KEY] [--model NAME] [--port P] [--faults N] [--dead-after N]
                                                       prints its port, then serves until killed

Every Nth completion is garbled with --faults N; from the Nth on, all fail with --dead-after N.

The answer depends on the prompt and the seed alone, so that an interrupted run can be compared with an undisturbed
one. `GET /stats` says how many completions were asked for, and by which kind of prompt.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))
from loop_support import SOURCES

OFFERED = ("fresh", "none", "second", "third", "crash", "lenient", "syntax", "wrong", "unstable", "constant")


GARBLED = (b'{"choices": [', b"<html>busy</html>", b'{"choices": []}', b'{"choices": [{"message": {"content": 5}}]}')


def kind_of(prompt: str) -> str:
    if "VERDICT" in prompt:
        return "review"
    return "generate" if "```python" in prompt else "solve"


def answer(prompt: str, seed: int) -> str:
    if "VERDICT" in prompt:
        return "VERDICT: REJECT" if "kind_wrong" in prompt else "All four steps hold.\nVERDICT: ACCEPT"
    task = re.search(r"counting from (\d+).*Numbers: ([\d ]+)\.", prompt, re.DOTALL)
    if "```python" not in prompt and task:
        first, numbers = int(task[1]), [int(number) for number in task[2].split()]
        right = sum((position + first) * number for position, number in enumerate(numbers))
        return f"<answer>{right + seed % 2}</answer>"
    name = OFFERED[seed % len(OFFERED)]
    return "I have no idea." if name == "none" else f"Here it is.\n```python\n{SOURCES[name].strip()}\n```\n"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    options: argparse.Namespace
    lock = threading.Lock()
    asked = 0
    kinds: ClassVar[Counter[str]] = Counter()

    def log_message(self, *_: object) -> None: ...

    def reply(self, document: Any, status: int = 200) -> None:
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def authorised(self) -> bool:
        got = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.options.key in (None, got):
            return True
        self.reply({"error": {"message": f"Incorrect API key provided: {got}."}}, 401)
        return False

    def do_GET(self) -> None:
        if self.path == "/stats":
            self.reply({"asked": Handler.asked, "kinds": Handler.kinds})
        elif self.authorised():
            self.reply({"data": [{"id": self.options.model}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.authorised():
            return
        prompt = body["messages"][-1]["content"]
        with self.lock:
            Handler.asked += 1
            Handler.kinds[kind_of(prompt)] += 1
            number = Handler.asked
        time.sleep(self.options.delay)
        if self.options.dead_after and number >= self.options.dead_after:
            self.close_connection = True
            self.connection.close()
        elif self.options.faults and number % self.options.faults == 0:
            self.reply(GARBLED[number // self.options.faults % len(GARBLED)])
        else:
            message = {"role": "assistant", "content": answer(prompt, body["seed"])}
            usage = {"prompt_tokens": 100, "completion_tokens": 50}
            self.reply({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--key")
    parser.add_argument("--model", default="author-1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--dead-after", type=int, default=0)
    Handler.options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", Handler.options.port), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
