"""Chat messages -> token ids, and the check that they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evoenv.errors import PolicyError
from evoenv.records import Message, Request
from evoenv.thinking import THINKING, is_thinking


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """A prompt as the model sees it."""

    token_ids: tuple[int, ...]
    opens_thinking: bool
    """Whether the template leaves a thinking block open, so that the response begins inside it."""

    @property
    def lead(self) -> str:
        """What goes in front of a response's text: the tag of the thinking block, if the prompt opens one."""
        return THINKING if self.opens_thinking else ""


def encode_prompt(tokenizer: Any, messages: Sequence[Message]) -> EncodedPrompt:
    """Render `messages` by the chat template, ready for the assistant's turn, and encode the text."""
    text = render_messages(tokenizer, messages)
    token_ids = tuple(tokenizer(text, add_special_tokens=False)["input_ids"])
    # Only what the template adds behind the last message counts: a message may speak of the tags.
    last = messages[-1].content.strip() if messages else ""
    return EncodedPrompt(token_ids, is_thinking(text[text.rfind(last) + len(last) :] if last else text))


def render_messages(tokenizer: Any, messages: Sequence[Message]) -> str:
    """Write `messages` as the chat template does, ready for the assistant's turn."""
    turns = [{"role": message.speaker, "content": message.content} for message in messages]
    try:
        text: str = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # templates raise what their authors chose to
        if turns and turns[0]["role"] == "system" and len(turns) > 1 and turns[1]["role"] == "user":
            # Some templates know no system turn; its words then open the user's.
            merged = Message("user", f"{turns[0]['content']}\n\n{turns[1]['content']}")
            return render_messages(tokenizer, (merged, *messages[2:]))
        speakers = ", ".join(turn["role"] for turn in turns) or "none"
        raise PolicyError(f"the model's chat template refuses these turns ({speakers}): {error}") from error
    return text


def check_fits(request: Request, prompt_tokens: int, context: int | None, budget: int) -> None:
    """Raise PolicyError if the longest answer would not fit the model's context or the cache budget."""
    total = prompt_tokens + request.max_tokens
    lengths = (
        f"request {request.id!r} ({request.role}): {prompt_tokens} prompt tokens + max_tokens {request.max_tokens}"
    )
    if context is not None and total > context:
        room = context - prompt_tokens
        advice = f"lower max_tokens to {room}" if room > 0 else "shorten the prompt"
        raise PolicyError(f"{lengths} = {total} do not fit the model's context of {context} tokens; {advice}")
    if total > budget:
        raise PolicyError(
            f"{lengths} = {total} do not fit model.sample_batch_tokens = {budget}; raise it or lower max_tokens"
        )
