"""One decoding step of a small Llama on a CPU, in a third of the calls that transformers' forward makes.

A model like `nano` often has a dozen rows at work, and each of its layers then takes less time than the calls around
it. So weights that multiply the same input are joined, a residual is added by the product before it, and a norm is one
call. Attention and cache are the cohorts' own. `lean_step` says which models this is made for, and `selfcheck` whether
it gives the same numbers on the model at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.functional import rms_norm, silu
from transformers.models.llama.modeling_llama import LlamaForCausalLM

from evoenv.engines.local.kv import Cohort, CohortCache
from evoenv.models import products
from evoenv.models.products import PRODUCTS, OneDnnLinear

SMALL_WEIGHTS = 32_000_000
"""Up to this size a model's calls cost a CPU more than its arithmetic."""


def lean_step(model: Any) -> LeanStep | None:
    """Return the short way of decoding for this model; None if it is not made for it."""
    if type(model) is not LlamaForCausalLM or model.config.hidden_act != "silu":
        return None
    weights = list(model.parameters())
    on_cpu = all(weight.device.type == "cpu" and weight.dtype == torch.float32 for weight in weights)
    small = sum(weight.numel() for weight in weights) <= SMALL_WEIGHTS
    return LeanStep(model) if on_cpu and small and all(map(_is_plain, _products(model))) else None


def _products(model: Any) -> Iterator[Any]:
    """Yield whatever multiplies in the model: seven modules of each layer, and the one that makes logits."""
    for layer in model.model.layers:
        yield from (getattr(layer.self_attn, f"{name}_proj") for name in "qkvo")
        yield from (getattr(layer.mlp, f"{name}_proj") for name in ("gate", "up", "down"))
    yield model.lm_head


def _is_plain(module: Any) -> bool:
    """Return whether a module is nothing but its product: no bias, no adapter, no packed or quantised weights."""
    own = type(module) not in PRODUCTS or "forward" in vars(module)
    return not own and getattr(module, "bias", None) is None


class LeanStep:
    """The forward of one token for each row, by joined copies of the weights as they were at the last `refresh`."""

    def __init__(self, model: Any) -> None:
        config, self._model, self._layers = model.config, model, list(model.model.layers)
        self._heads, self._key_heads = int(config.num_attention_heads), int(config.num_key_value_heads)
        self._size, self._scaling = int(self._layers[0].self_attn.head_dim), float(self._layers[0].self_attn.scaling)
        own = type(model.lm_head) is OneDnnLinear
        self._product = products.linear if own else functional.linear
        self._product_plus = products.linear_plus if own else _linear_plus
        self._joined: list[tuple[Tensor, Tensor]] = []
        self.refresh()

    @torch.no_grad()
    def refresh(self) -> None:
        """Join the weights as they are now: those of queries, keys and values, and those of both gates."""
        self._joined = []  # the old copies go before the new ones come
        self._joined = [
            (
                torch.cat([getattr(layer.self_attn, f"{name}_proj").weight for name in "qkv"]),
                torch.cat([layer.mlp.gate_proj.weight, layer.mlp.up_proj.weight]),
            )
            for layer in self._layers
        ]

    def __call__(self, cohorts: Sequence[Cohort], ids: Tensor, positions: Tensor) -> Tensor:
        """Append the keys and values of one token for each row to the cohorts; return the logits of the next."""
        model, rows, turning = self._model.model, len(ids), self._heads + self._key_heads
        cache, hidden = CohortCache(cohorts), model.embed_tokens(ids)
        cos, sin = model.rotary_emb(hidden[:, None], position_ids=positions[:, None])
        half = self._size // 2
        before, behind = -sin[..., :half], sin[..., half:]
        for number, (projections, gates) in enumerate(self._joined):
            layer = self._layers[number]
            states = self._product(_normed(layer.input_layernorm, hidden), projections).view(rows, -1, self._size)
            plain = states[:, :turning]  # queries and keys
            turned = plain * cos
            turned[..., :half].addcmul_(plain[..., half:], before)
            turned[..., half:].addcmul_(plain[..., :half], behind)
            cache.update(turned[:, self._heads :, None], states[:, turning:, None], number)
            seen = cache.attend(turned[:, : self._heads, None], self._key_heads, self._scaling, None, None)
            hidden = self._product_plus(hidden, seen.reshape(rows, -1), layer.self_attn.o_proj.weight)
            gate, up = self._product(_normed(layer.post_attention_layernorm, hidden), gates).chunk(2, dim=-1)
            hidden = self._product_plus(hidden, silu(gate).mul_(up), layer.mlp.down_proj.weight)
        return self._product(_normed(model.norm, hidden), self._model.lm_head.weight)


def _linear_plus(sum_so_far: Tensor, rows: Tensor, weight: Tensor) -> Tensor:
    return torch.addmm(sum_so_far, rows, weight.t())


def _normed(norm: Any, hidden: Tensor) -> Tensor:
    return rms_norm(hidden, norm.weight.shape, norm.weight, norm.variance_epsilon)
