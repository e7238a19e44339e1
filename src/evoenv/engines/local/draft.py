"""One response while it is being written."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from evoenv.records import FinishReason, Request, Rollout, Sample, derive_seed


class TextRules:
    """What the tokenizer says about ends and texts, shared by all drafts of a policy."""

    def __init__(self, tokenizer: Any, end_ids: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self.end_ids = frozenset(end_ids)
        added = getattr(tokenizer, "added_tokens_decoder", {})
        self._special_ids = {str(token): number for number, token in added.items() if token.special}
        self.token_text = lru_cache(maxsize=None)(lambda token: self.decode([token]))

    def decode(self, tokens: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def ends_for(self, stops: Sequence[str]) -> frozenset[int]:
        """Return the tokens that end an answer; stop strings that are special tokens count by id, texts hold none."""
        return self.end_ids | {self._special_ids[stop] for stop in stops if stop in self._special_ids}

    def may_end(self, token: int, stop: str) -> bool:
        """Return False only if a text whose last token is `token` cannot end with `stop` or pass through its end."""
        text = self.token_text(token)
        return stop[-1] in text or "\ufffd" in text


class Draft:
    """Tokens so far, with the log-probability of each, and the rules that end them.

    The random stream belongs to (request seed, index) alone: what else is in the batch does not change a draft,
    beyond what another order of floating-point sums does to the logits.
    """

    __slots__ = (
        "_ends",
        "_random",
        "_window",
        "finish_reason",
        "index",
        "lead",
        "logprobs",
        "prompt_ids",
        "request",
        "rules",
        "tokens",
    )

    def __init__(
        self, request: Request, index: int, prompt_ids: Sequence[int], rules: TextRules, lead: str = ""
    ) -> None:
        """Begin without tokens. `lead` goes in front of the text: the tag of a thinking block that the prompt opens."""
        self.request = request
        self.index = index
        self.prompt_ids = prompt_ids
        self.rules = rules
        self.lead = lead
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self.finish_reason: FinishReason | None = None
        self._ends = rules.ends_for(request.stop)
        self._random = random.Random(derive_seed("draft", request.seed, index))
        # A token holds at least one byte, so this many tokens hold any stop string that ends in the last of them.
        self._window = max((len(stop.encode()) for stop in request.stop), default=0) + 4

    def uniform(self) -> float:
        return self._random.random()

    @property
    def context(self) -> tuple[int, ...]:
        return (*self.prompt_ids, *self.tokens)

    @property
    def remaining(self) -> int:
        return self.request.max_tokens - len(self.tokens)

    def accept(self, token: int, logprob: float) -> bool:
        """Append a sampled token; True if it was the last one."""
        self.tokens.append(token)
        self.logprobs.append(logprob)
        if token in self._ends or self._stop_position() is not None:
            self.finish_reason = "stop"
        elif self.remaining <= 0:
            self.finish_reason = "length"
        return self.finish_reason is not None

    def _stop_position(self) -> int | None:
        """Find where the first stop string begins in the text, if the last token completed one."""
        last = self.tokens[-1]
        stops = [stop for stop in self.request.stop if self.rules.may_end(last, stop)]
        if not stops:
            return None
        tail = self.rules.decode(self.tokens[-self._window :])
        if not any(stop in tail for stop in stops):
            return None
        # The window may begin inside a character or drop a leading space: the whole text decides.
        text = self.rules.decode(self.tokens)
        found = [at for stop in stops if (at := text.find(stop)) >= 0]
        return min(found, default=None)

    def sample(self, version: int) -> Sample:
        """Make the record: text without stop string and end tokens; the rollout has all that was drawn."""
        assert self.finish_reason is not None
        tokens = self.tokens[:-1] if self.tokens[-1] in self._ends else self.tokens
        text = self.rules.decode(tokens)
        if self.finish_reason == "stop" and self.tokens[-1] not in self._ends:
            text = text[: self._stop_position()]
        rollout = None
        if self.request.trains:
            rollout = Rollout.of(self.prompt_ids, self.tokens, self.logprobs, self.request.temperature or 1.0)
        said = self.lead + text
        return Sample(self.request.id, self.index, said, self.finish_reason, len(self.tokens), version, rollout)
