"""LocalPolicy: the Policy port on transformers and torch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

from evoenv.config import ModelConfig, TrainingConfig
from evoenv.engines.checkpoints import CheckpointFolder
from evoenv.engines.local.decode import MAX_ROWS, CohortDecoder, Decoder, DecodeStats, rows_at_once
from evoenv.engines.local.draft import TextRules
from evoenv.engines.local.packed import pack_frozen
from evoenv.engines.local.plain import PlainDecoder
from evoenv.engines.local.prompts import EncodedPrompt, check_fits, encode_prompt
from evoenv.engines.local.sampling import LocalSampling
from evoenv.engines.local.selfcheck import checked_lean_step, supports_cohorts
from evoenv.engines.requests import check_requests
from evoenv.errors import PolicyError
from evoenv.models.resolve import (
    context_length,
    end_token_ids,
    load_model,
    load_tokenizer,
    portable_name,
    resolve_device,
    resolve_model,
)
from evoenv.objective import Batch
from evoenv.ports import Policy, Traffic
from evoenv.records import Message, Request

log = logging.getLogger(__name__)

REMEMBERED_PROMPTS = 512
"""A prompt is encoded when its length is asked for, when its request is checked and when it is sampled."""


class Learner(Protocol):
    """What `evoenv.training.update.Trainer` offers: `model` may wrap the one it was given."""

    model: Any
    step: int

    def update(self, batch: Batch) -> dict[str, float]: ...

    def save(self, directory: Path) -> None: ...

    def load(self, directory: Path) -> None: ...


class LocalPolicy(Policy):
    """A causal language model on this machine.

    Sampling is exact: a rollout's tokens are what was drawn, end token included; its log-probabilities are the
    model's at the sampling temperature, before top-p; `text` ends before a stop string and holds no special tokens.
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
        checkpoints: Path | None = None,
    ) -> None:
        """Choose a decoder. `end_ids` end an answer; by default those of the tokenizer and the generation settings."""
        self.learner = learner
        self.model = learner.model if learner is not None else model
        self.tokenizer = tokenizer
        self.batch_tokens = batch_tokens
        self.rules = TextRules(tokenizer, end_token_ids(model, tokenizer) if end_ids is None else end_ids)
        self.weights = 0
        """Changes whenever the weights do: samples of two models must not be mixed."""
        self.decoder: Decoder
        if supports_cohorts(self.model):
            lean = checked_lean_step(self.model)
            self.decoder = CohortDecoder(self.model, budget=batch_tokens, max_rows=max_rows, lean=lean)
        else:
            self.decoder = PlainDecoder(self.model, budget=batch_tokens, max_rows=max_rows)
        self.encode: Callable[[tuple[Message, ...]], EncodedPrompt] = lru_cache(maxsize=REMEMBERED_PROMPTS)(
            partial(encode_prompt, tokenizer)
        )
        self.context = context_length(model)
        self._checkpoints = CheckpointFolder(checkpoints)
        self._session: LocalSampling | None = None

    @classmethod
    def open(
        cls,
        config: ModelConfig,
        training: TrainingConfig | None = None,
        *,
        checkpoints: Path | None = None,
        seed: int = 0,
        progress: bool = True,
    ) -> LocalPolicy:
        """Resolve, load and, with `training`, make ready to learn; without it the policy only samples.

        `checkpoints` is the directory for what is saved; a policy without one can neither save nor load.
        """
        path = resolve_model(config.name, progress=progress)
        device = resolve_device(config.device)
        tokenizer = load_tokenizer(path)
        model = load_model(path, device, config.dtype)
        learner: Learner | None = None
        if training is not None:
            from evoenv.training.update import Trainer

            learner = Trainer(
                model, tokenizer, training, device=device, seed=seed, start_name=portable_name(config.name)
            )
        weights = sum(weight.numel() for weight in model.parameters())
        if config.packed:
            pack_frozen(model, trained=learner is not None)
        return cls(
            model,
            tokenizer,
            learner=learner,
            batch_tokens=config.sample_batch_tokens,
            max_rows=rows_at_once(weights, on_cpu=device.type == "cpu"),
            checkpoints=checkpoints,
        )

    @property
    def trainable(self) -> bool:
        return self.learner is not None

    @property
    def exact_replay(self) -> bool:
        """On a CPU; the kernels of other devices add in whatever order suits them."""
        return bool(next(self.model.parameters()).device.type == "cpu")

    @property
    def version(self) -> int:
        return 0 if self.learner is None else self.learner.step

    @property
    def traffic(self) -> Traffic:
        """What the last sampling session still writes."""
        return Traffic(0, 0, 0) if self._session is None else self._session.traffic

    @property
    def stats(self) -> DecodeStats:
        """What sampling has cost so far."""
        return self.decoder.stats

    def prompt_tokens(self, messages: Sequence[Message]) -> int:
        """Count the tokens of these turns as the model sees them, chat template included."""
        return len(self.encode(tuple(messages)).token_ids)

    def check(self, requests: Sequence[Request]) -> None:
        check_requests(requests)
        for request in requests:
            check_fits(request, len(self.encode(request.messages).token_ids), self.context, self.batch_tokens)

    def sampling(self) -> LocalSampling:
        self._session = LocalSampling(self)
        return self._session

    def update(self, batch: Batch) -> Mapping[str, float]:
        learner = self._learner("update")
        self.weights += 1
        return learner.update(batch)

    def save(self) -> str:
        learner = self._learner("save")
        reference = self._checkpoints.reference(learner.step)
        learner.save(self._checkpoints.path(reference))
        return reference

    def load(self, reference: str) -> None:
        learner = self._learner("load")
        path = self._checkpoints.path(reference)
        self.weights += 1
        learner.load(path)

    def drop(self, reference: str) -> None:
        self._checkpoints.drop(reference)

    def saved(self) -> list[str]:
        return self._checkpoints.saved()

    def close(self) -> None:
        """Do nothing: memory goes with the object."""

    def _learner(self, action: str) -> Learner:
        if self.learner is None:
            raise PolicyError(
                f"cannot {action}: this policy was opened for sampling only; pass a training configuration"
            )
        return self.learner
