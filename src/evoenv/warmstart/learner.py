"""Supervised learning of a causal language model: packed rows in, cross-entropy of their responses down.

Work never depends on chance or on the clock: after `load`, the next step on a CPU gives the bits that it would have
given without the interruption.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from evoenv.durable import whole_directory
from evoenv.errors import ModelError
from evoenv.models.weights import weights_fingerprint
from evoenv.objective import Row
from evoenv.training import checkpoints
from evoenv.training.allocator import return_large_blocks
from evoenv.training.batching import needs_checkpointing
from evoenv.training.logprobs import LogprobScorer, MicroBatch, token_logprobs
from evoenv.training.optimizer import Optimizer, hidden_matrices
from evoenv.training.update import ADAPTER, OPTIMIZER, WEIGHTS, silence_dropout, with_lora
from evoenv.warmstart.recipe import LearningRecipe

PROGRESS = ("tokens", "next_index", "steps", "skipped")


def rate_at(recipe: LearningRecipe, tokens: int) -> float:
    """Compute the rate: up linearly over `warmup` of the tokens, then down half a cosine to `final_rate` of it."""
    done = min(1.0, tokens / recipe.tokens)
    if done < recipe.warmup:
        return recipe.learning_rate * max(done / recipe.warmup, 0.01)
    fall = (done - recipe.warmup) / max(1e-9, 1 - recipe.warmup)
    height = recipe.final_rate + (1 - recipe.final_rate) * (1 + math.cos(math.pi * fall)) / 2
    return recipe.learning_rate * height


class SupervisedLearner:
    """Trains `model` in place; with `lora_rank > 0` through LoRA layers, `learner.model` being the wrapper."""

    def __init__(self, model: Any, recipe: LearningRecipe, *, seed: int = 0) -> None:
        self.recipe = recipe
        config = recipe.training()
        return_large_blocks()
        silence_dropout(model)
        self._start = weights_fingerprint(model)
        self.lora = recipe.lora_rank > 0
        self.model = with_lora(model, config, seed) if self.lora else model
        self.scorer = LogprobScorer(self.model, share_prompts=False)
        muon = hidden_matrices(self.model) if recipe.optimizer == "muon" else ()
        self.optimizer = Optimizer(self.model, config, beta2=recipe.beta2, muon=muon)
        if self.scorer.supports_checkpointing:
            self.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        self.progress = dict.fromkeys(PROGRESS, 0)

    def step(self, rows: Sequence[Row]) -> float:
        """Take one optimiser step on these rows; return their mean loss per response token before it."""
        targets = sum(len(row.response_ids) for row in rows)
        self.optimizer.clear()
        total = 0.0
        with self.scorer.running():
            for batch in self.scorer.plan(rows, self.recipe.micro_batch_tokens):
                total += self._accumulate(batch, targets)
                self.optimizer.collect()
        norm = self.optimizer.clip()
        if not (math.isfinite(total) and math.isfinite(norm)):
            self.optimizer.clear()
            raise ModelError(
                f"the loss is {total} and the gradient's norm {norm} after {self.progress['tokens']:,} tokens; "
                "lower learn.learning_rate and resume from the last checkpoint"
            )
        self.optimizer.step(rate_at(self.recipe, self.progress["tokens"]))
        self.progress["tokens"] += sum(len(row.prompt_ids) + len(row.response_ids) for row in rows)
        self.progress["steps"] += 1
        return total

    def _accumulate(self, batch: MicroBatch, targets: int) -> float:
        """Add one micro-batch's gradient; its share of the mean loss."""
        scorer = self.scorer
        wanted, temperatures = scorer.targets(batch)
        # Without dropout, training mode is nothing but the switch for checkpointing.
        self.model.train(needs_checkpointing(batch.fed_tokens, self.recipe.micro_batch_tokens))
        features = scorer.features(batch)
        leaf = features.detach().requires_grad_()
        total = 0.0
        for begin in range(0, len(wanted), scorer.chunk_rows):
            part = slice(begin, begin + scorer.chunk_rows)
            loss = -token_logprobs(scorer.head(leaf[part]), wanted[part], temperatures[part]).sum() / targets
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        features.backward(leaf.grad)  # type: ignore[no-untyped-call]
        return total

    def loss(self, rows: Sequence[Row]) -> float:
        """Compute the mean loss per response token; learn nothing."""
        total, count = 0.0, 0
        self.model.eval()
        with self.scorer.running():
            for batch in self.scorer.plan(rows, self.recipe.micro_batch_tokens):
                values = self.scorer.logprobs(batch)
                total -= float(values.double().sum())
                count += values.numel()
        return total / max(1, count)

    # ------------------------------------------------------------------ keeping

    def save(self, directory: Path, record: dict[str, Any]) -> None:
        """Save weights, optimiser and progress, atomically; `record` is kept beside them."""
        if self.lora:
            from peft import get_peft_model_state_dict

            weights = {ADAPTER: get_peft_model_state_dict(self.model)}
        else:
            weights = {WEIGHTS: checkpoints.named_weights(self.model)}
        state = {"start": self._start, "progress": self.progress, "record": record}
        checkpoints.write_checkpoint(directory, {**weights, OPTIMIZER: self.optimizer.state()}, state)

    def load(self, directory: Path) -> dict[str, Any]:
        """Continue from `directory`; return the record kept there."""
        state, tensors = checkpoints.read_checkpoint(directory, ("start", "progress", "record", OPTIMIZER))
        name = ADAPTER if self.lora else WEIGHTS
        if name not in tensors or (self.lora and state["start"] != self._start):
            raise ModelError(
                f"the checkpoint {directory} belongs to another model or another learn.lora_rank; "
                "resume with the model and recipe that it was begun with"
            )
        if self.lora:
            from peft import set_peft_model_state_dict

            set_peft_model_state_dict(self.model, tensors[name])
        else:
            checkpoints.restore_weights(self.model, tensors[name])
        self.optimizer.restore(tensors[OPTIMIZER])
        self.progress = {key: int(state["progress"][key]) for key in PROGRESS}
        return dict(state["record"])

    def write_model(self, directory: Path, tokenizer: Any, dtype: torch.dtype | None = None) -> None:
        """Write the finished model as transformers keeps it, LoRA layers merged in; `dtype` shrinks what is shipped.

        Learnt in half precision, it is written in full: the next stage goes on from the optimiser's own copies.
        """
        from evoenv.models.loading import quiet_transformers

        with quiet_transformers(), torch.no_grad():
            whole = copy.deepcopy(self.model)
            if self.optimizer.masters:
                whole = whole.float()
                for name, weight in whole.named_parameters():
                    if name in self.optimizer.masters:
                        weight.copy_(self.optimizer.masters[name])
            if self.lora:
                whole = whole.merge_and_unload()
            if dtype is not None:
                whole = whole.to(dtype)
            with whole_directory(directory) as target:
                whole.save_pretrained(target)
                tokenizer.save_pretrained(target)
                if self.lora:
                    self.model.save_pretrained(target / "adapter")
