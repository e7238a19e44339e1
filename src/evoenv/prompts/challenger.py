"""What R-Zero's challenger is shown, and how its question is read off the response."""

from __future__ import annotations

import re

from evoenv.prompts.texts import load_prompt
from evoenv.records import Message
from evoenv.thinking import drop_thinking

CHALLENGER_PROMPT = "challenger_v1"
_TAG = re.compile(r"<(/?)question>", re.IGNORECASE)


def challenger_messages() -> tuple[Message, ...]:
    return (Message("user", load_prompt(CHALLENGER_PROMPT).strip()),)


def extract_question(response: str) -> str | None:
    """Return the text of the last complete <question>…</question> after any thinking, or None if there is none."""
    response = drop_thinking(response)
    opened, question = None, None
    for tag in _TAG.finditer(response):
        if not tag[1]:
            opened = tag.end()
        elif opened is not None:
            question, opened = response[opened : tag.start()].strip(), None
    return question or None
