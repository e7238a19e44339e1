"""Thinking blocks in responses: `<think>…</think>`, also when the chat template opened them in the prompt."""

from __future__ import annotations

import re
from collections import deque

_THINK_TAG = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE | re.ASCII)

THINKING = "<think>\n"
"""Put in front of a response whose thinking block was opened in the prompt, so that the text stands for itself."""


def is_thinking(text: str) -> bool:
    """Return whether the text ends inside a thinking block."""
    tags = deque(_THINK_TAG.finditer(text), maxlen=1)
    return bool(tags) and not tags[0][1]


def drop_thinking(text: str) -> str:
    """Return the response without what the model wrote while thinking."""
    kept: list[str] = []
    position, thinking = 0, False
    for tag in _THINK_TAG.finditer(text):
        if tag[1]:
            if not thinking:
                kept.clear()
            position, thinking = tag.end(), False
        elif not thinking:
            kept.append(text[position : tag.start()])
            thinking = True
    if not thinking:
        kept.append(text[position:])
    return "\n".join(kept)  # a separator, so that no marker arises where a block was cut out
