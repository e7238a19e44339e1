"""LocalPolicy: the Policy port on transformers and torch."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from evoenv.config import ModelConfig, TrainingConfig
from evoenv.engines.local.decode import MAX_ROWS, CohortDecoder, DecodeStats
from evoenv.engines.local.draft import Draft, TextRules
from evoenv.engines.local.plain import PlainDecoder
from evoenv.engines.local.prompts import check_fits, encode_messages
from evoenv.engines.local.selfcheck import supports_cohorts
from evoenv.engines.requests import check_requests, wanted_indices
from evoenv.errors import PolicyError
from evoenv.models.resolve import (
    context_length,
    end_token_ids,
    load_model,
    load_tokenizer,
    resolve_device,
    resolve_model,
)
from evoenv.objective import Batch
from evoenv.records import Message, Request, Sample

log = logging.getLogger(__name__)


class Learner(Protocol):
    """What `evoenv.training.update.Trainer` offers: `model` may wrap the one it was given."""

    model: Any
    step: int

    def update(self, batch: Batch) -> dict[str, float]: ...

    def save(self, directory: Path) -> None: ...

    def load(self, directory: Path) -> None: ...


class LocalPolicy:
    """A causal language model on this machine.

    Sampling is exact: `token_ids` are what was drawn, end token included; `logprobs` are the model's at the sampling
    temperature, before top-p; `text` ends before a stop string and holds no special tokens.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        learner: Learner | None = None,
        batch_tokens: int = 65536,
        max_rows: int = MAX_ROWS,
        end_ids: Sequence[int] | None = None,
    ) -> None:
        """`end_ids`: tokens that end an answer; by default what the tokenizer and the generation settings say."""
        self.learner = learner
        self.model = learner.model if learner is not None else model
        self.tokenizer = tokenizer
        self.batch_tokens = batch_tokens
        self._rules = TextRules(tokenizer, end_token_ids(model, tokenizer) if end_ids is None else end_ids)
        self._context = context_length(model)
        self._weights_version = 0
        kind = CohortDecoder if supports_cohorts(self.model) else PlainDecoder
        self._decoder: CohortDecoder | PlainDecoder = kind(self.model, budget=batch_tokens, max_rows=max_rows)

    @classmethod
    def open(
        cls,
        config: ModelConfig,
        training: TrainingConfig | None = None,
        *,
        seed: int = 0,
        progress: bool = True,
    ) -> LocalPolicy:
        """Resolve, load and, with `training`, make ready to learn; without it the policy only samples."""
        path = resolve_model(config.name, progress=progress)
        device = resolve_device(config.device)
        tokenizer = load_tokenizer(path)
        model = load_model(path, device, config.dtype)
        learner: Learner | None = None
        if training is not None:
            from evoenv.training.update import Trainer

            learner = Trainer(model, tokenizer, training, device=device, seed=seed)
        # Two cores are busy with 64 rows; a GPU is not.
        max_rows = MAX_ROWS if device.type == "cpu" else 4 * MAX_ROWS
        return cls(model, tokenizer, learner=learner, batch_tokens=config.sample_batch_tokens, max_rows=max_rows)

    @property
    def trainable(self) -> bool:
        return self.learner is not None

    @property
    def stats(self) -> DecodeStats:
        """What sampling has cost so far."""
        return self._decoder.stats

    def prompt_tokens(self, messages: Sequence[Message]) -> int:
        """How long these turns are as the model sees them, chat template included."""
        return len(encode_messages(self.tokenizer, messages))

    def sample(self, requests: Sequence[Request]) -> Iterator[Sample]:
        """Check every request now, then decode as the result is iterated over."""
        check_requests(requests)
        groups = []
        for request in requests:
            prompt_ids = encode_messages(self.tokenizer, request.messages)
            check_fits(request, len(prompt_ids), self._context, self.batch_tokens)
            groups.append([Draft(request, index, prompt_ids, self._rules) for index in wanted_indices(request)])
        return self._samples(groups, self._weights_version)

    def _samples(self, groups: list[list[Draft]], version: int) -> Iterator[Sample]:
        for draft in self._decoder.run(groups):
            yield draft.sample()
            if version != self._weights_version:
                # Half of a group from each of two models would make its log-probabilities lies.
                raise PolicyError("the weights changed while samples were being drawn; finish iterating before update")

    def update(self, batch: Batch) -> Mapping[str, float]:
        learner = self._learner("update")
        self._weights_version += 1
        return learner.update(batch)

    def save(self, directory: Path) -> None:
        self._learner("save").save(directory)

    def load(self, directory: Path) -> None:
        learner = self._learner("load")
        self._weights_version += 1
        learner.load(directory)

    def close(self) -> None:
        """Nothing outlives the object: memory goes with it."""

    def _learner(self, action: str) -> Learner:
        if self.learner is None:
            raise PolicyError(
                f"cannot {action}: this policy was opened for sampling only; pass a training configuration"
            )
        return self.learner
