"""What the solver is shown: the environment's prompt and how to mark the final answer."""

from __future__ import annotations

from evoenv.prompts.texts import fill, load_prompt
from evoenv.records import Message

SOLVER_PROMPT = "solver_v1"


def solver_messages(prompt: str) -> tuple[Message, ...]:
    return (Message("user", fill(load_prompt(SOLVER_PROMPT), {"task": prompt})),)
