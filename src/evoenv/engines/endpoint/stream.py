"""Read a chat completion as a stream: silence is then silence, however long the whole answer takes.

A server that answers in one piece may need ten minutes for a long answer, and nobody can tell that from a dead one. A
streamed answer arrives token by token, so that "no byte for `timeout_seconds`" means what it says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

DONE = "[DONE]"


class BrokenStream(Exception):
    """The stream ended early, or said something that is no part of a chat completion."""


def lines_of(pieces: Iterable[str]) -> Iterator[str]:
    """Cut a text that arrives in pieces at its newlines alone: JSON may hold Unicode's other line ends as they are."""
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


def collect_stream(lines: Iterable[str], heard: Callable[[int], None]) -> dict[str, Any]:
    """Put server-sent events together into the document that the same answer in one piece would be.

    `heard` is told how many parts of the answer have arrived so far; servers send about one token in each. Lines that
    are no data (comments that keep the connection alive, names of events) are passed over.
    """
    content: list[str] = []
    reasoning: list[str] = []
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    ended = False
    for line in lines:
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == DONE:
            ended = True
            break
        chunk = _parse(data)
        usage = chunk.get("usage") or usage
        choices = chunk.get("choices")
        if not choices:  # the last chunk of many servers holds the usage alone
            continue
        try:
            choice = choices[0]
            delta = choice.get("delta") or {}
            said, thought = delta.get("content"), delta.get("reasoning_content") or delta.get("reasoning")
            finish_reason = choice.get("finish_reason") or finish_reason
        except (AttributeError, IndexError, TypeError) as error:
            raise BrokenStream(f"an event that is no part of a chat completion ({data[:200]})") from error
        for parts, part in ((content, said), (reasoning, thought)):
            if isinstance(part, str) and part:
                parts.append(part)
                heard(len(content) + len(reasoning))
    if not ended and finish_reason is None:
        raise BrokenStream(f"the answer ended early, after {len(content) + len(reasoning)} parts")
    message: dict[str, Any] = {"role": "assistant", "content": "".join(content)}
    if reasoning:
        message["reasoning_content"] = "".join(reasoning)
    document: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}
    if usage is not None:
        document["usage"] = usage
    return document


def _parse(data: str) -> dict[str, Any]:
    try:
        chunk = json.loads(data)
    except ValueError as error:
        raise BrokenStream(f"an event that is no JSON ({data[:200]})") from error
    if not isinstance(chunk, dict):
        raise BrokenStream(f"an event that is no JSON object ({data[:200]})")
    if chunk.get("error"):
        refusal = chunk["error"]
        words = refusal.get("message") if isinstance(refusal, dict) else refusal
        raise BrokenStream(f"the server gave up within the answer ({str(words)[:200]})")
    return chunk
