"""Token ids as text: the tokenizer of a run's model, if it is on this machine and can be read without the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from evoenv.errors import EvoEnvError
from evoenv.models.adapters import base_name, is_adapter
from evoenv.models.resolve import TINY_MODEL, local_path, resolve_model
from evoenv.models.weights import has_tokenizer

FILE = "tokenizer.json"
Decoder: TypeAlias = Callable[[Sequence[int]], list[str]]
"""Token ids to the texts of the tokens, one for each."""


def decoder_of(checkpoints: Path, config: Mapping[str, Any]) -> Decoder | None:
    """Find what decodes the tokens of a run: the file beside a checkpoint, or in the model's own directory."""
    if find_spec("tokenizers") is None:
        return None
    path = next(iter(sorted(checkpoints.glob(f"*/{FILE}"))), None)
    if path is None:
        directory = _model_directory(str(config.get("model", {}).get("name") or ""))
        path = None if directory is None else directory / FILE
    return _decoder(path, path.stat().st_mtime_ns) if path is not None and path.is_file() else None


@lru_cache(maxsize=8)
def _model_directory(name: str) -> Path | None:
    """Find a model on this machine; nothing is fetched or built."""
    path = local_path(name)
    if name == TINY_MODEL:
        return None
    try:
        if is_adapter(path):
            return path if has_tokenizer(path) else _model_directory(base_name(path))
        return resolve_model(name, offline=True, progress=False)
    except (EvoEnvError, OSError):
        return None


@lru_cache(maxsize=4)
def _decoder(path: Path, _: int) -> Decoder | None:
    """Read a tokenizer; None if the file is not one. The second argument is when it was written."""
    from tokenizers import Tokenizer  # an extra; `find_spec` has looked

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception:  # the package raises bare Exception for a file that it cannot read
        return None

    def decode(ids: Sequence[int]) -> list[str]:
        return [tokenizer.decode([number], skip_special_tokens=False) for number in ids]

    return decode
