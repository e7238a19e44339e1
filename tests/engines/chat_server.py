"""A small OpenAI-compatible chat server for the tests, run as a process of its own on loopback.

    python chat_server.py [--key KEY] [--model-dir DIR]      prints its port, then serves until killed

Without --model-dir it answers by a fixed rule; with it, a real model writes the answers. A prompt that begins with
`[fault]` or `[fault*2]` meets that fault always or for its first two tries:

    429 500 400   that status; 429 asks for a pause of 0.05 s      close       no reply, the connection ends
    hang          silence for 30 s                                 malformed   200 with text that is no JSON
    shape         200 with JSON that is no completion              slow        the answer after 0.15 s
    reasoning nousage length stop   variants of a good answer
    drip stall cut   a stream of six parts, 0.7 s apart; one that falls silent; one that ends early
    whole nooptions  an answer in one piece although a stream was asked for; 400 for `stream_options`
"""

from __future__ import annotations

import argparse
import json
import re
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODELS = ("echo-1", "newer-2")
_DIRECTIVE = re.compile(r"\[(\w+)(?:\*(\d+))?\]")


class State:
    def __init__(self, key: str | None, policy: Any) -> None:
        self.key = key
        self.policy = policy
        self.lock = threading.Lock()
        self.tries: Counter[tuple[str, int]] = Counter()
        self.busy = self.most_busy = 0
        self.bodies: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: State

    def log_message(self, *_: object) -> None: ...

    def reply(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def error(self, status: int, message: str, code: str = "", headers: dict[str, str] | None = None) -> None:
        self.reply(status, {"error": {"message": message, "code": code}}, headers)

    def authorised(self) -> bool:
        got = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.state.key is None or got == self.state.key:
            return True
        self.error(401, f"Incorrect API key provided: {got}.")
        return False

    def do_GET(self) -> None:
        if self.path == "/stats":
            self.reply(200, {"most_busy": self.state.most_busy, "bodies": self.state.bodies})
        elif self.path != "/v1/models":
            self.error(404, "no such page")
        elif self.authorised():
            self.reply(200, {"data": [{"id": name} for name in MODELS]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            self.error(404, "no such page")
            return
        if not self.authorised():
            return
        state = self.state
        with state.lock:
            state.bodies.append(body)
            state.busy += 1
            state.most_busy = max(state.most_busy, state.busy)
        try:
            self.answer(body)
        finally:
            with state.lock:
                state.busy -= 1

    def answer(self, body: dict[str, Any]) -> None:
        if body["model"] not in MODELS:
            self.error(404, f"The model `{body['model']}` does not exist", "model_not_found")
            return
        if body["model"] == "newer-2" and "max_tokens" in body:
            time.sleep(0.1)  # so that several are told at the same time
            self.error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
            return
        prompt = body["messages"][-1]["content"]
        directive = _DIRECTIVE.match(prompt)
        fault = ""
        if directive:
            with self.state.lock:
                tries = self.state.tries[prompt, body.get("seed", 0)] = (
                    self.state.tries[prompt, body.get("seed", 0)] + 1
                )
            if directive[2] is None or tries <= int(directive[2]):
                fault = directive[1]
        if fault == "429":
            self.error(429, "slow down", headers={"Retry-After": "0.05"})
        elif fault == "500":
            self.reply(500, b"<html>oops</html>")
        elif fault == "400":
            self.error(400, "This model's maximum context length is 10 tokens")
        elif fault == "nooptions" and "stream_options" in body:
            self.error(400, "Unrecognized request argument supplied: stream_options")
        elif fault == "close":
            self.close_connection = True
            self.connection.close()
        elif fault == "malformed":
            self.reply(200, b'{"choices": [')
        elif fault == "shape":
            self.reply(200, {"choices": []})
        else:
            if fault in ("hang", "slow"):
                time.sleep(30 if fault == "hang" else 0.15)
            self.good(body, prompt, fault)

    def good(self, body: dict[str, Any], prompt: str, variant: str) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": f"echo {prompt}"}
        finish, tokens = "stop", 7
        if self.state.policy is not None:
            message["content"], finish, tokens = self.by_model(body)
        if variant == "reasoning":
            message |= {"reasoning_content": "let me see", "content": "four"}
        if variant == "length":
            finish = "length"
        if variant == "stop":
            message["content"] = "before</answer>after"
        document: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
        if variant != "nousage":
            document["usage"] = {"prompt_tokens": 3, "completion_tokens": tokens}
        if body.get("stream") and variant != "whole":
            self.stream(document, variant)
        else:
            self.reply(200, document)

    def stream(self, document: dict[str, Any], variant: str) -> None:
        """The same answer as server-sent events, in about six parts."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        message = document["choices"][0]["message"]

        def event(chunk: dict[str, Any]) -> None:
            self.wfile.write(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
            self.wfile.flush()

        self.wfile.write(b": a comment that keeps the connection alive\n\n")
        for name in ("reasoning_content", "content"):
            text = message.get(name) or ""
            size = max(1, -(-len(text) // 6))
            for number, start in enumerate(range(0, len(text), size)):
                event({"choices": [{"index": 0, "delta": {name: text[start : start + size]}}]})
                if variant == "drip":
                    time.sleep(0.7)
                if variant in ("stall", "cut") and number == 1:
                    time.sleep(30 if variant == "stall" else 0)
                    return
        event({"choices": [{"index": 0, "delta": {}, "finish_reason": document["choices"][0]["finish_reason"]}]})
        if "usage" in document:
            event({"choices": [], "usage": document["usage"]})
        self.wfile.write(b"data: [DONE]\n\n")

    def by_model(self, body: dict[str, Any]) -> tuple[str, str, int]:
        from evoenv.records import Message, Request

        request = Request(
            "served",
            "solver",
            tuple(Message(turn["role"], turn["content"]) for turn in body["messages"]),
            temperature=body["temperature"],
            top_p=body["top_p"],
            max_tokens=body["max_tokens"],
            stop=tuple(body.get("stop", ())),
            seed=body["seed"],
        )
        with self.state.lock:  # one model, one request at a time
            (sample,) = self.state.policy.sample([request])
        return sample.text, sample.finish_reason, sample.tokens


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--key")
    parser.add_argument("--model-dir")
    arguments = parser.parse_args()
    policy = None
    if arguments.model_dir:
        from evoenv.config import ModelConfig
        from evoenv.engines.local.policy import LocalPolicy

        policy = LocalPolicy.open(ModelConfig(name=arguments.model_dir, device="cpu"))
    Handler.state = State(arguments.key, policy)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
