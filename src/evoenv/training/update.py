"""One update on a batch: pack, differentiate, guard, step.

    minibatch of rows with weights ─► micro-batches ─► reference, loss, gradient ─► clip ─► AdamW

The order of the work never depends on chance: after `load`, the next `update` on a CPU gives the bits that it
would have given without the interruption.
"""

from __future__ import annotations

import copy
import logging
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from evoenv.config import TrainingConfig
from evoenv.errors import ConfigError, ModelError
from evoenv.models.weights import weights_fingerprint
from evoenv.objective import Batch, Row, check_objective
from evoenv.training import checkpoints
from evoenv.training.allocator import return_large_blocks
from evoenv.training.batching import check_vocabulary, needs_checkpointing
from evoenv.training.logprobs import LogprobScorer, MicroBatch, token_logprobs
from evoenv.training.loss import check_loss_config, weighted_loss
from evoenv.training.optimizer import Optimizer, check_optimizer_config, hidden_matrices, learning_rate
from evoenv.training.tally import OldLogprobs, Tally, TokenColumns

logger = logging.getLogger(__name__)

WEIGHTS, ADAPTER, OPTIMIZER = "model.safetensors", "adapter_model.safetensors", "optimizer.safetensors"


class Trainer:
    """A causal language model that learns from batches.

    `model` is trained in place; with `lora_rank > 0` LoRA layers are put into it, and `trainer.model` is the wrapper
    around the same modules. The reference of the KL term is the model as it is handed over: a frozen copy, or, with
    LoRA, the same weights with the adapter switched off.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        config: TrainingConfig,
        *,
        device: str | torch.device | None = None,
        seed: int = 0,
        start_name: str = "",
    ) -> None:
        check_objective(config)
        check_loss_config(config)
        if config.micro_batch_tokens < 1:
            raise ConfigError(f"training.micro_batch_tokens = {config.micro_batch_tokens}: expected 1 or more.")
        check_optimizer_config(config)
        self.tokenizer = tokenizer
        self.config = config
        self.start_name = start_name
        """What others call the weights that training starts from; an adapter is described with it."""
        self.step = 0
        """Updates finished, skipped and empty ones included."""
        return_large_blocks()
        if device is not None:
            model.to(device)
        silence_dropout(model)
        self._start = weights_fingerprint(model)
        self.lora = config.lora_rank > 0 or hasattr(model, "disable_adapter")
        self.model = with_lora(model, config, seed) if self.lora else model
        self.scorer = LogprobScorer(self.model, share_prompts=config.share_prompts)
        self.reference = self.scorer
        if config.kl > 0 and not self.lora:
            frozen = copy.deepcopy(model).requires_grad_(False).eval()
            self.reference = LogprobScorer(frozen, share_prompts=config.share_prompts, like=self.scorer)
        muon = hidden_matrices(self.model) if config.optimizer == "muon" else ()
        self.optimizer = Optimizer(self.model, config, muon=muon)
        if self.scorer.supports_checkpointing:
            # It takes effect in training mode only, which `_accumulate` chooses for each micro-batch.
            self.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})

    # ------------------------------------------------------------------ learning

    def update(self, batch: Batch) -> dict[str, float]:
        """Take one training step; return metrics by `area/name`."""
        started = time.perf_counter()
        for rows in batch.minibatches:
            check_vocabulary(rows, self.scorer.vocabulary)
        tally = Tally()
        rate = learning_rate(self.config, self.step)
        skipped = 0
        with self._training():
            old = self._score_before(batch)
            for rows in batch.minibatches:
                skipped += not self._optimise(rows, rate, tally, old)
        self.step += 1
        return {
            # What a skipped update could not compute is left out: `update/skipped` says so, and NaN is no metric.
            **{name: value for name, value in tally.metrics().items() if math.isfinite(value)},
            "update/skipped": float(skipped),
            "update/learning_rate": rate,
            "update/seconds": time.perf_counter() - started,
        }

    def _score_before(self, batch: Batch) -> OldLogprobs | None:
        """Score all rows before the first of several optimiser steps, if truncated importance sampling needs that."""
        if not (self.config.truncated_importance > 0 and len(batch.minibatches) > 1):
            return None
        old = OldLogprobs()
        self.model.eval()
        for rows in batch.minibatches:
            for part in self.scorer.plan([row for row in rows if row not in old], self.config.micro_batch_tokens):
                old.add(part.rows, self.scorer.logprobs(part))
        return old

    def _optimise(self, rows: Sequence[Row], rate: float, tally: Tally, old: OldLogprobs | None) -> bool:
        """Take one optimiser step; False if loss or gradient is not finite and the weights were left alone."""
        self.optimizer.clear()
        total = 0.0
        for batch in self.scorer.plan(rows, self.config.micro_batch_tokens):
            total += self._accumulate(batch, tally, old)
            self.optimizer.collect()
        norm = self.optimizer.clip()
        tally.finish_step(norm, total)
        finite = math.isfinite(total) and math.isfinite(norm)
        if finite:
            self.optimizer.step(rate)
        else:
            logger.warning(
                "update %d skipped: loss %s, gradient norm %s; weights and optimiser are unchanged",
                self.step + 1, total, norm,
            )  # fmt: skip
        return finite

    def _accumulate(self, batch: MicroBatch, tally: Tally, old: OldLogprobs | None) -> float:
        """Add one micro-batch's gradient; its share of the loss."""
        config, scorer = self.config, self.scorer
        reference = self._reference_logprobs(batch) if config.kl > 0 else None
        targets, temperatures = scorer.targets(batch)
        # Without dropout, training mode is nothing but the switch for checkpointing.
        self.model.train(
            config.gradient_checkpointing or needs_checkpointing(batch.fed_tokens, config.micro_batch_tokens)
        )
        features = scorer.features(batch)
        # Cut the graph here: each chunk of logits is differentiated at once and then forgotten.
        leaf = features.detach().requires_grad_()
        precision = torch.float64 if features.dtype == torch.float64 else torch.float32
        columns = TokenColumns(batch.rows, scorer.device, precision, old)
        total = 0.0
        for begin in range(0, len(targets), scorer.chunk_rows):
            part = slice(begin, begin + scorer.chunk_rows)
            logp = token_logprobs(scorer.head(leaf[part]), targets[part], temperatures[part])
            loss, surrogate, kl = weighted_loss(
                logp,
                columns.sampled[part],
                columns.advantages[part],
                None if reference is None else reference[part],
                old=None if columns.old is None else columns.old[part],
                surrogate_weights=columns.surrogate_weights[part],
                kl_means=columns.kl_means[part],
                config=config,
            )
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
            tally.count(columns, part, logp.detach(), surrogate, kl)
        features.backward(leaf.grad)  # type: ignore[no-untyped-call]
        tally.fed_tokens += batch.fed_tokens
        return total

    def _reference_logprobs(self, batch: MicroBatch) -> Tensor:
        with self.model.disable_adapter() if self.lora else nullcontext():
            return self.reference.logprobs(batch)

    @contextmanager
    def _training(self) -> Iterator[None]:
        """Put the packed attention in place for the time of an update; give mode and gradients back after it."""
        with ExitStack() as stack:
            stack.callback(self.model.train, self.model.training)
            stack.callback(self.optimizer.clear)
            for scorer in {self.scorer, self.reference}:
                stack.enter_context(scorer.running())
            yield

    # ------------------------------------------------------------------ keeping

    def save(self, directory: Path) -> None:
        """Save weights, optimiser, step and random state, atomically.

        Transformers or peft can load the weights as well.
        """
        rng, python_rng = checkpoints.rng_state()
        if self.lora:
            from peft import get_peft_model_state_dict

            weights = {ADAPTER: get_peft_model_state_dict(self.model, save_embedding_layers=False)}
        else:
            weights = {WEIGHTS: checkpoints.named_weights(self.model)}

        def describe(path: Path) -> None:
            description = copy.copy(self.model.peft_config["default"] if self.lora else self.model.config)
            if self.lora and self.start_name:  # a place in this machine's cache means nothing elsewhere
                description.base_model_name_or_path = self.start_name
            description.save_pretrained(path)
            if self.tokenizer is not None:
                self.tokenizer.save_pretrained(path)

        checkpoints.write_checkpoint(
            directory,
            {**weights, OPTIMIZER: self.optimizer.state(), checkpoints.RNG: rng},
            {
                "step": self.step,
                "start": self._start,
                "config": msgspec.to_builtins(self.config),
                "python_rng": python_rng,
            },
            extras=describe,
        )

    def load(self, directory: Path) -> None:
        """Continue from `directory`. The model handed to `Trainer` must be the one that the run started from."""
        needs = ("step", "start", "config", "python_rng", OPTIMIZER, checkpoints.RNG)
        state, tensors = checkpoints.read_checkpoint(directory, needs)
        needs_start = self.lora or self.config.kl > 0
        if needs_start and state["start"] != self._start:
            raise ModelError(
                f"the checkpoint {directory} was trained from other weights than the model at hand "
                f"({state['start'][:8]}, not {self._start[:8]}); resume with the model that the run was started with."
            )
        name = ADAPTER if self.lora else WEIGHTS
        if name not in tensors:
            kinds = ("full weights", "a LoRA adapter") if self.lora else ("a LoRA adapter", "full weights")
            raise ModelError(
                f"the checkpoint {directory} holds {kinds[0]}, expected {kinds[1]}; "
                "set training.lora_rank as it was when the run was started."
            )
        self._warn_of_changes(state["config"])
        self.optimizer.check(tensors[OPTIMIZER])
        if self.lora:
            self._load_adapter(tensors[ADAPTER])
        else:
            checkpoints.restore_weights(self.model, tensors[WEIGHTS])
        self.optimizer.restore(tensors[OPTIMIZER])
        self.step = int(state["step"])
        checkpoints.restore_rng(tensors[checkpoints.RNG], state["python_rng"])

    def _load_adapter(self, tensors: dict[str, Tensor]) -> None:
        from peft import get_peft_model_state_dict, set_peft_model_state_dict

        own = {
            name: value.shape
            for name, value in get_peft_model_state_dict(self.model, save_embedding_layers=False).items()
        }
        if own != {name: value.shape for name, value in tensors.items()}:
            raise ModelError(
                "the checkpoint's LoRA adapter does not fit the model; "
                "set training.lora_rank as it was when the run was started."
            )
        set_peft_model_state_dict(self.model, tensors)

    def _warn_of_changes(self, before: dict[str, Any]) -> None:
        now = msgspec.to_builtins(self.config)
        for name in sorted(now.keys() | before.keys()):
            if now.get(name) != before.get(name):
                logger.warning(
                    "training.%s was %s when the checkpoint was written and is %s from here on",
                    name, before.get(name), now.get(name),
                )  # fmt: skip


def with_lora(model: Any, config: TrainingConfig, seed: int) -> Any:
    """Put LoRA on every linear layer but the output; the same first weights for the same seed."""
    if hasattr(model, "disable_adapter"):
        return model
    from peft import LoraConfig, get_peft_model

    settings = LoraConfig(
        r=config.lora_rank, lora_alpha=config.lora_alpha, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return get_peft_model(model, settings)


def silence_dropout(model: nn.Module) -> None:
    """Turn dropout off: ratios compare two passes of one model, which dropout would make differ by chance."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):
            setattr(module, "attention_dropout", 0.0)  # noqa: B010 (a plain attribute of some architectures)
