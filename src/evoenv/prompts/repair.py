"""What the author of a failed candidate is told: its own code, and what validation found in it."""

from __future__ import annotations

from collections.abc import Sequence

from evoenv.prompts.texts import fenced, fill, load_prompt
from evoenv.records import Candidate, Finding, Message

REPAIR_PROMPT = "repair_v1"
FINDINGS_SHOWN = 6
"""More are seldom other faults; a small model loses the first ones among them."""
_CUT = "It was cut off at the length limit: write a shorter one. "


def repair_messages(
    prompt: Sequence[Message], candidate: Candidate, findings: Sequence[Finding], *, cut_off: bool = False
) -> tuple[Message, ...]:
    """Continue the conversation that began with `prompt`: the candidate's code, then its findings with their hints.

    `cut_off`: whether the response ended at the token limit.
    """
    code = candidate.response if candidate.source is None else fenced(candidate.source, "python")
    listed = "\n".join(f"- {item.code}: {item.message} Hint: {item.hint}" for item in findings[:FINDINGS_SHOWN])
    text = fill(load_prompt(REPAIR_PROMPT), {"cut": _CUT if cut_off else "", "findings": listed})
    return (*prompt, Message("assistant", code), Message("user", text))
