"""An OpenAI-compatible server whose model writes known environments: what `evoenv synth` is tested against.

    python synth_server.py [--delay SECONDS]       prints its port, then serves until killed

The answer depends on the prompt and the seed alone, so that an interrupted run can be compared with an undisturbed
one. `GET /stats` says how many completions were asked for.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))
from loop_support import SOURCES

OFFERED = ("fresh", "none", "second", "third", "crash", "lenient", "syntax", "wrong", "unstable", "constant")


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
    delay = 0.0
    lock = threading.Lock()
    asked = 0

    def log_message(self, *_: object) -> None: ...

    def reply(self, document: Any) -> None:
        content = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        self.reply({"asked": Handler.asked} if self.path == "/stats" else {"data": [{"id": "author-1"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.lock:
            Handler.asked += 1
        time.sleep(self.delay)
        message = {"role": "assistant", "content": answer(body["messages"][-1]["content"], body["seed"])}
        usage = {"prompt_tokens": 100, "completion_tokens": 50}
        self.reply({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0)
    Handler.delay = parser.parse_args().delay
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
