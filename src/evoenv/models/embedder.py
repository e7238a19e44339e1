"""Texts -> unit vectors, behind `ports.Embedder`: the frozen encoder of novelty, and a light fake.

`MiniLMEmbedder` is all-MiniLM-L6-v2 as its authors use it: the first 256 word pieces, the mean of the token vectors,
length one. `HashingEmbedder` needs no model: hashed character n-grams, for fast tests.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evoenv.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_MODEL = "all-MiniLM-L6-v2"
MAX_TOKENS = 256
BATCH_TOKENS = 4096
CACHED_TEXTS = 65536


class MiniLMEmbedder:
    """Each distinct text is computed once while it stays in the cache; batches hold texts of similar length."""

    def __init__(self, model: str = DEFAULT_MODEL, *, device: str = "auto", progress: bool = True) -> None:
        from evoenv.models.loading import quiet_transformers, resolve_device
        from evoenv.models.resolve import resolve_model

        path = resolve_model(model, progress=progress)
        self._device = resolve_device(device)
        from transformers import AutoModel, AutoTokenizer

        loader: Any = AutoModel
        with quiet_transformers():
            try:
                self._tokenizer: Any = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
                self._model: Any = loader.from_pretrained(str(path), local_files_only=True)
            except Exception as error:  # transformers raises whatever its parsers hit
                raise ModelError(
                    f"{path} cannot be loaded as a text encoder: {type(error).__name__}: {error}"
                ) from error
        self._model.to(self._device).eval()
        self.path: Path = path
        self.dimension = int(self._model.config.hidden_size)
        self._cache: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._one_at_a_time = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed each text as one unit vector, a row of the result. Any thread may ask."""
        with self._one_at_a_time:  # neither the tokenizer nor the cache may be shared
            return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        found: dict[bytes, NDArray[np.float32]] = {}
        wanted: dict[bytes, str] = {}
        for key, text in zip(keys, texts, strict=True):
            if key in self._cache:
                self._cache.move_to_end(key)
                found[key] = self._cache[key]
            else:
                wanted[key] = text
        found.update(self._compute(wanted))
        for key in wanted:
            self._cache[key] = found[key]
        while len(self._cache) > CACHED_TEXTS:
            self._cache.popitem(last=False)
        if not keys:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([found[key] for key in keys])

    def _compute(self, texts: dict[bytes, str]) -> dict[bytes, NDArray[np.float32]]:
        if not texts:
            return {}
        # Lone surrogates cannot be tokenised; a candidate's source may hold some.
        plain = [text.encode("utf-8", "replace").decode("utf-8") for text in texts.values()]
        tokens = self._tokenizer(plain, truncation=True, max_length=MAX_TOKENS)["input_ids"]
        rows = sorted(zip(texts, tokens, strict=True), key=lambda row: len(row[1]))
        vectors: dict[bytes, NDArray[np.float32]] = {}
        begin = 0
        while begin < len(rows):
            end = begin + 1
            while end < len(rows) and (end + 1 - begin) * len(rows[end][1]) <= BATCH_TOKENS:
                end += 1
            batch = rows[begin:end]
            vectors.update(zip((key for key, _ in batch), self._forward([ids for _, ids in batch]), strict=True))
            begin = end
        return vectors

    def _forward(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        import torch

        width = max(map(len, tokens))
        padding = self._tokenizer.pad_token_id
        ids = torch.tensor([[*row, *[padding] * (width - len(row))] for row in tokens], device=self._device)
        lengths = torch.tensor([len(row) for row in tokens], device=self._device)
        mask = torch.arange(width, device=self._device)[None] < lengths[:, None]
        with torch.inference_mode():
            hidden = self._model(input_ids=ids, attention_mask=mask.long()).last_hidden_state.float()
            mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            unit = torch.nn.functional.normalize(mean, dim=-1)
        result: NDArray[np.float32] = unit.cpu().numpy()
        return result


class HashingEmbedder:
    """Character n-grams hashed into signed buckets: equal texts coincide, similar ones are close. No model."""

    def __init__(self, dimension: int = 256, n: int = 3) -> None:
        self.dimension = dimension
        self._n = n

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed each text as one unit vector, a row of the result."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            data = f"\x02{text}\x03".encode("utf-8", "surrogatepass")
            for begin in range(max(1, len(data) - self._n + 1)):
                digest = hashlib.blake2b(data[begin : begin + self._n], digest_size=8).digest()
                bucket = int.from_bytes(digest[:7], "big") % self.dimension
                vectors[row, bucket] += 1.0 if digest[7] & 1 else -1.0
            norm = float(np.linalg.norm(vectors[row]))
            if norm == 0.0:  # signs may cancel out; a vector of length zero has no direction
                vectors[row, 0] = norm = 1.0
            vectors[row] /= norm
        return vectors
