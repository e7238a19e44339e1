"""Are the weight files of a directory whole? Answered from their headers, without torch and in milliseconds.

And what names the weights of a loaded model.
"""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

from evoenv.errors import ModelError

_MEND = "delete it and fetch the model again"
_MAX_HEADER_BYTES = 100 * 1024**2


def check_safetensors(path: Path) -> list[str]:
    """Raise ModelError if a safetensors file is not as long as its header says; return its tensors' names."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        prefix = stream.read(8)
        if len(prefix) < 8:
            raise ModelError(f"{path} is truncated: {size} bytes, not even a safetensors header; {_MEND}")
        (header_bytes,) = struct.unpack("<Q", prefix)
        if not 2 <= header_bytes <= min(_MAX_HEADER_BYTES, max(size - 8, 0)):
            raise ModelError(
                f"{path} is damaged or truncated: its header claims {header_bytes} bytes, the file has {size}; {_MEND}"
            )
        raw = stream.read(header_bytes)
    try:
        header = json.loads(raw)
        names = [key for key in header if key != "__metadata__"]
        ends = [header[key]["data_offsets"][1] for key in names]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ModelError(f"{path} is not a safetensors file (unreadable header: {error}); {_MEND}") from error
    expected = 8 + header_bytes + max(ends, default=0)
    if size != expected:
        fault = "truncated" if size < expected else "damaged"
        raise ModelError(f"{path} is {fault}: {size} bytes, its header promises {expected}; {_MEND}")
    return names


def read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ModelError(f"{path} is not valid JSON ({error}); {_MEND}") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path} holds a JSON {type(value).__name__}, an object was expected; {_MEND}")
    return value


def check_model_directory(directory: Path) -> None:
    """Raise ModelError, naming the file, unless `directory` holds a whole model: configuration, weights, tokenizer."""
    if not (directory / "config.json").is_file():
        raise ModelError(
            f"{directory} is not a model directory: it has no config.json; expected what `save_pretrained` writes"
        )
    read_json(directory / "config.json")
    index = directory / "model.safetensors.index.json"
    if index.is_file():
        shards = sorted(set(read_json(index).get("weight_map", {}).values()))
        missing = [shard for shard in shards if not (directory / shard).is_file()]
        if missing:
            raise ModelError(
                f"{directory} lacks {len(missing)} of {len(shards)} weight files, first {missing[0]}; {_MEND}"
            )
        weights = [directory / shard for shard in shards]
    else:
        weights = sorted(directory.glob("*.safetensors"))
    if not weights and not any(directory.glob("pytorch_model*.bin")):
        raise ModelError(f"{directory} has no weights (*.safetensors); {_MEND}")
    for path in weights:
        check_safetensors(path)
    if not has_tokenizer(directory):
        raise ModelError(f"{directory} has no tokenizer (tokenizer.json); copy it beside the weights")


def has_tokenizer(directory: Path) -> bool:
    """Return whether a directory holds one of the files that tokenizers are kept in."""
    return any(
        (directory / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")
    )


def weights_fingerprint(model: Any, dtype: Any = None) -> str:
    """Name a set of weights by a sample of every tensor; adapters do not count, for they are what is trained.

    `dtype`: as if the weights had been held in another type.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(model.named_parameters()):
        if "lora_" in name:
            continue
        flat = value.detach().flatten()
        sample = flat[:: max(1, flat.numel() // 256)]
        digest.update(f"{name.replace('.base_layer', '')}{tuple(value.shape)}".encode())
        digest.update((sample if dtype is None else sample.to(dtype)).double().cpu().numpy().tobytes())
    return digest.hexdigest()
