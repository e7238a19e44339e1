"""AdamW or Muon with a schedule, clipping and, for half-precision weights, full-precision masters.

- *Decay* falls on matrices (embeddings included) and not on norm gains and biases: pulling a gain towards zero
  regularises nothing. verl decays all; at 5e-7 × 0.1 a step the two cannot be told apart.
- *Gains* may learn faster (`gain_rate`): AdamW moves every weight by about the rate whatever its size, and gains, few
  and large, carry what all tokens have in common, such as how sure the model is.
- *Warm-up* is linear: update k of w has k/w of the learning rate, so the first one already learns (verl starts at 0).
  After it the rate stays, or falls linearly: the last of n updates has 1/(n − w) of it.
- *Muon*, if asked for, steps the hidden matrices: their momentum is orthogonalised, so that a step moves all directions
  alike, not mostly those of the noisiest entries; embeddings, norms and the output layer stay with AdamW.
- *Masters*: at a learning rate of 5e-7 a bfloat16 weight would round every update away, so such weights are
  stepped, and their gradients summed, in float32 copies.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from evoenv.config import TrainingConfig
from evoenv.errors import ConfigError, ModelError
from evoenv.training.muon import Muon

HALF = (torch.bfloat16, torch.float16)
MUON_STATE = "momentum_buffer"
"""What Muon remembers of a matrix; AdamW remembers other things."""


def learning_rate(config: TrainingConfig, step: int) -> float:
    """Return the rate of the update that follows `step` finished ones."""
    warmup = max(0, config.warmup_steps)
    if step < warmup:
        return config.learning_rate * (step + 1) / warmup
    if config.schedule == "constant":
        return config.learning_rate
    falling = max(1, config.schedule_steps - warmup)
    return config.learning_rate * min(1.0, max(0.0, (config.schedule_steps - step) / falling))


def check_optimizer_config(config: TrainingConfig) -> None:
    """Refuse settings that no optimiser can follow."""
    if not 0 <= config.gain_rate < math.inf:
        raise ConfigError(f"training.gain_rate = {config.gain_rate}: expected a multiple of the rate, 0 or more.")
    if config.optimizer == "muon" and config.lora_rank > 0:
        raise ConfigError(
            f'training.optimizer = "muon" with training.lora_rank = {config.lora_rank}: Muon is for whole matrices, '
            'not for their low-rank parts; use "adamw", or set training.lora_rank=0.'
        )
    if config.schedule == "linear" and config.schedule_steps <= 0:
        raise ConfigError(
            f'training.schedule = "linear" with training.schedule_steps = {config.schedule_steps}: expected the number '
            "of updates that it is made for; a run takes run.steps."
        )


def hidden_matrices(model: Any) -> list[str]:
    """Return the names of the trainable matrices between embedding and output layer."""
    outer = {id(weight) for layer in (model.get_input_embeddings(), model.get_output_embeddings()) if layer is not None
             for weight in layer.parameters()}  # fmt: skip
    return [
        name
        for name, weight in model.named_parameters()
        if weight.requires_grad and weight.ndim == 2 and id(weight) not in outer
    ]


class Optimizer:
    """The trainable weights of a model, by name."""

    def __init__(
        self, model: nn.Module, config: TrainingConfig, *, beta2: float = 0.999, muon: Collection[str] = ()
    ) -> None:
        """Prepare the weights. `muon`: names of matrices that Muon steps instead of AdamW, at the same rate."""
        self.config = config
        self.weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
        if not self.weights:
            raise ModelError("the model has no trainable weights; unfreeze some, or set training.lora_rank above 0.")
        self.masters = {
            name: weight.detach().to(torch.float32, copy=True).requires_grad_()
            for name, weight in self.weights.items()
            if weight.dtype in HALF
        }
        stepped = {name: self.masters.get(name, weight) for name, weight in self.weights.items()}
        self._stepped = stepped
        matrices = [w for name, w in stepped.items() if w.ndim >= 2 and name not in muon]
        self._steppers: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(
                [
                    {"params": matrices, "weight_decay": config.weight_decay, "times": 1.0},
                    {
                        "params": [w for w in stepped.values() if w.ndim < 2],
                        "weight_decay": 0.0,
                        "times": config.gain_rate,
                    },
                ],
                lr=config.learning_rate,
                betas=(0.9, beta2),
                fused=True,
            )
        ]
        if muon:
            chosen = [stepped[name] for name in stepped if name in muon]
            self._steppers.append(Muon(chosen, lr=config.learning_rate, weight_decay=config.weight_decay))

    def clear(self) -> None:
        """Forget all gradients."""
        for weight in (*self.weights.values(), *self.masters.values()):
            weight.grad = None

    def collect(self) -> None:
        """Move half-precision gradients of a micro-batch into the masters' sums."""
        for name, master in self.masters.items():
            gradient = self.weights[name].grad
            if gradient is not None:
                master.grad = gradient.float() if master.grad is None else master.grad.add_(gradient)
                self.weights[name].grad = None

    def clip(self) -> float:
        """Clip the gradient to `grad_clip` (0 or less: not at all) and return its norm before that."""
        weights = list(self._stepped.values())
        limit = self.config.grad_clip if self.config.grad_clip > 0 else float("inf")
        return float(nn.utils.clip_grad_norm_(weights, limit))

    def step(self, rate: float) -> None:
        for stepper in self._steppers:
            for group in stepper.param_groups:
                group["lr"] = rate * group.get("times", 1.0)
            stepper.step()
        with torch.no_grad():
            for name, master in self.masters.items():
                self.weights[name].copy_(master)

    def state(self) -> dict[str, Tensor]:
        """Return moments, step counts and masters as `kind:weight name`."""
        tensors = {f"master:{name}": master.detach() for name, master in self.masters.items()}
        for name, weight in self._stepped.items():
            for kind, value in self._state_of(weight).items():
                tensors[f"{kind}:{name}"] = value
        return tensors

    def _state_of(self, weight: Tensor) -> dict[str, Tensor]:
        return next((dict(stepper.state[weight]) for stepper in self._steppers if weight in stepper.state), {})

    def _stepper_of(self, weight: Tensor) -> torch.optim.Optimizer:
        for stepper in self._steppers:
            if any(weight is own for group in stepper.param_groups for own in group["params"]):
                return stepper
        raise AssertionError("every weight has its stepper")

    def check(self, tensors: Mapping[str, Tensor]) -> None:
        """Refuse a state of other weights than these."""
        for key, value in tensors.items():
            kind, _, name = key.partition(":")
            stepped = self._stepped.get(name)
            if stepped is None or (value.ndim and value.shape != stepped.shape):
                raise ModelError(
                    f"the checkpoint's optimiser has {key} of shape {tuple(value.shape)}, which this model does not; "
                    "resume with the model and LoRA settings that the checkpoint was written with."
                )
            if kind != "master" and (kind == MUON_STATE) != isinstance(self._stepper_of(stepped), Muon):
                written = "muon" if kind == MUON_STATE else "adamw"
                raise ModelError(
                    f"the checkpoint's optimiser has {key}, which is {written}'s, and training.optimizer is another; "
                    f'resume with training.optimizer = "{written}".'
                )

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take up what `state` gave, for the same weights."""
        self.check(tensors)
        states: dict[str, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            kind, _, name = key.partition(":")
            states.setdefault(name, {})[kind] = value
        with torch.no_grad():
            for name, master in self.masters.items():
                master.copy_(states.get(name, {}).pop("master", self.weights[name].float()))
        for stepper in self._steppers:
            stepper.state.clear()
        for name, state in states.items():
            stepped = self._stepped[name]
            # Step counts are scalars that AdamW keeps in float32; moments live beside their weight.
            kept = {kind: value.to(stepped.device, copy=True) for kind, value in state.items()}
            self._stepper_of(stepped).state[stepped] = kept
