"""The shape of a model: what its memory and its cache can be computed from, without loading it.

A model directory says it in `config.json`. For the models of the presets it is written down here as well, so that it is
known before anything is downloaded and if no hub can be reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.errors import ModelError
from evoenv.models import fetch
from evoenv.models.adapters import base_name, is_adapter
from evoenv.models.cache import cache_root
from evoenv.models.registry import packaged_model
from evoenv.models.resolve import NANO_DIRECTORY, NANO_MODEL, TINY_MODEL, local_path
from evoenv.models.weights import read_json


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A decoder with grouped-query attention and a gated feed-forward layer, as Llama, Qwen2 and Qwen3 have it."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    key_heads: int
    head_size: int
    vocabulary: int
    tied: bool
    """Whether the output layer is the embedding."""
    query_norm: bool = False
    """Whether queries and keys are normalised (Qwen3)."""
    attention_bias: bool = False
    """Whether queries, keys and values have a bias (Qwen2)."""

    @property
    def query_width(self) -> int:
        return self.heads * self.head_size

    @property
    def key_width(self) -> int:
        return self.key_heads * self.head_size

    @property
    def embedding_parameters(self) -> int:
        return self.vocabulary * self.hidden

    @property
    def layer_parameters(self) -> int:
        matrices = self.hidden * (2 * self.query_width + 2 * self.key_width + 3 * self.intermediate)
        biases = (self.query_width + 2 * self.key_width) * self.attention_bias
        return matrices + biases + 2 * self.hidden + 2 * self.head_size * self.query_norm

    @property
    def parameters(self) -> int:
        embeddings = self.embedding_parameters * (1 if self.tied else 2)
        return embeddings + self.layers * self.layer_parameters + self.hidden

    def lora_parameters(self, rank: int) -> int:
        """Count the parameters of adapters of this rank beside every matrix of the layers."""
        widths = (
            2 * (self.hidden + self.query_width)  # query, output
            + 2 * (self.hidden + self.key_width)  # key, value
            + 3 * (self.hidden + self.intermediate)
        )
        return self.layers * rank * widths


_QWEN3_4B = ModelShape(36, 2560, 9728, 32, 8, 128, 151_936, tied=True, query_norm=True)
_QWEN3_8B = ModelShape(36, 4096, 12_288, 32, 8, 128, 151_936, tied=False, query_norm=True)

KNOWN_SHAPES: dict[str, ModelShape] = {
    TINY_MODEL: ModelShape(2, 128, 384, 4, 2, 32, 259, tied=True),
    "Qwen2.5-Coder-0.5B-Instruct": ModelShape(24, 896, 4864, 14, 2, 64, 151_936, tied=True, attention_bias=True),
    "Qwen2.5-Coder-1.5B-Instruct": ModelShape(28, 1536, 8960, 12, 2, 128, 151_936, tied=True, attention_bias=True),
    "SmolLM2-135M-Instruct": ModelShape(30, 576, 1536, 9, 3, 64, 49_152, tied=True),
    "Qwen/Qwen3-1.7B": ModelShape(28, 2048, 6144, 16, 8, 128, 151_936, tied=True, query_norm=True),
    "Qwen/Qwen3-4B-Instruct-2507": _QWEN3_4B,
    "Qwen/Qwen3-4B-Thinking-2507": _QWEN3_4B,
    "nvidia/Nemotron-Cascade-8B-IFRL": _QWEN3_8B,  # trained from Qwen3-8B-Base
}
"""By the names that presets use."""

_KINDS: dict[str, dict[str, bool]] = {
    "llama": {},
    "mistral": {},
    "qwen2": {"attention_bias": True},
    "qwen3": {"query_norm": True},
}
"""By `model_type`: architectures of this shape, and what they add to it."""


def read_shape(config: Mapping[str, Any]) -> ModelShape | None:
    """Return the shape that a `config.json` describes, or None if it is of an architecture that is not known here."""
    extras = _KINDS.get(str(config.get("model_type")))
    try:
        hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        if extras is None:
            return None
        return ModelShape(
            layers=int(config["num_hidden_layers"]),
            hidden=hidden,
            intermediate=int(config["intermediate_size"]),
            heads=heads,
            key_heads=int(config.get("num_key_value_heads") or heads),
            head_size=int(config.get("head_dim") or hidden // heads),
            vocabulary=int(config["vocab_size"]),
            tied=bool(config.get("tie_word_embeddings", False)),
            **{"attention_bias": bool(config.get("attention_bias")), **extras},
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def shape_in(directory: Path) -> ModelShape | None:
    """Return the shape of the model in a directory, or None if its configuration does not say it."""
    try:
        return read_shape(read_json(directory / "config.json"))
    except ModelError:
        return None


def find_shape(name: str) -> ModelShape | None:
    """Return the shape of a model by its name, from this machine alone: nothing is downloaded.

    The places are those of `resolve_model`, in its order, and the table above if the weights are not here yet.
    """
    if name == NANO_MODEL:
        return shape_in(NANO_DIRECTORY)
    path = local_path(name)
    if "\0" not in name and len(name) < 4096 and path.is_dir():
        try:
            return find_shape(base_name(path)) if is_adapter(path) else shape_in(path)
        except ModelError:
            return None
    packaged = packaged_model(name)
    if packaged is not None:
        directory = cache_root() / "models" / packaged.cache_key
        if directory.is_dir():
            return shape_in(directory)
        return KNOWN_SHAPES.get(packaged.name)
    if name in KNOWN_SHAPES:
        return KNOWN_SHAPES[name]
    try:
        return shape_in(fetch.cached_from_hub(name))
    except (ModelError, OSError):
        return None
