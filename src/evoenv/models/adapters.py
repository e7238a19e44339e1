"""A LoRA adapter as a model: merged, once, into the weights that it was trained beside.

    path = merge_adapter(Path("runs/laptop/checkpoints/step-00030"), models, bar, resolve_model)

What `evoenv train` saves with `training.lora_rank` is an adapter alone; so is what peft saves. Whoever gives such a
directory as a model means the model that it makes. The merged model is kept in the cache, in float32: an adapter's
small changes would be rounded away in less.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evoenv.errors import ModelError
from evoenv.models.cache import atomic_directory, check_disk_space, locked, sha256_of
from evoenv.models.fetch import is_whole, write_manifest
from evoenv.models.loading import load_model, load_tokenizer, quiet_transformers
from evoenv.models.packages import require_local_extra
from evoenv.models.progress import Bar
from evoenv.models.registry import CACHE_FORMAT, PACKAGED_MODELS
from evoenv.models.weights import check_model_directory, check_safetensors, has_tokenizer, read_json

DESCRIPTION = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"


def is_adapter(directory: Path) -> bool:
    """Return whether a directory holds an adapter and no model of its own."""
    return (directory / DESCRIPTION).is_file() and not (directory / "config.json").is_file()


def merge_adapter(directory: Path, models_directory: Path, bar: Bar, resolve: Callable[[str], Path]) -> Path:
    """Merge an adapter into the cache under its own digest; `resolve` finds the model that it belongs to."""
    require_local_extra()
    description = read_json(directory / DESCRIPTION)
    weights = directory / WEIGHTS
    if description.get("peft_type") != "LORA" or not weights.is_file():
        raise ModelError(f"{directory} holds no LoRA adapter: expected peft_type LORA in {DESCRIPTION}, and {WEIGHTS}")
    check_safetensors(weights)
    base = _find_base(directory, str(description.get("base_model_name_or_path") or ""), resolve)
    target = models_directory / f"{base.name}-adapter-{_digest(directory, base)[:12]}-{CACHE_FORMAT}"
    with locked(target):
        if not is_whole(target):
            # the weights of some models have two bytes each: the merged ones have four
            check_disk_space(target, 2 * sum(file.stat().st_size for file in base.glob("*.safetensors")), target.name)
            with atomic_directory(target) as staging, bar.task(f"merging {directory.name} into {base.name}", None):
                _write_merged(directory, base, staging)
                check_model_directory(staging)
                write_manifest(staging, name=target.name, source=str(directory), base=str(base))
    return target


def _find_base(directory: Path, name: str, resolve: Callable[[str], Path]) -> Path:
    """Find the model an adapter names; one in another machine's cache of models is known by its folder."""
    if not name:
        raise ModelError(f"{directory / DESCRIPTION} does not say to which model it belongs (base_model_name_or_path)")
    elsewhere = {model.cache_key: model.name for model in PACKAGED_MODELS.values()}
    known = elsewhere.get(Path(name).name)
    try:
        return resolve(known if known and not Path(name).exists() else name)
    except ModelError as error:
        raise ModelError(f"the model to which the adapter {directory} belongs was not found: {error}") from error


def _digest(directory: Path, base: Path) -> str:
    """Name what is merged by what it consists of."""
    digest = hashlib.sha256(str(base).encode())
    for name in (DESCRIPTION, WEIGHTS):
        with (directory / name).open("rb") as stream:
            digest.update(sha256_of(stream).encode())
    return digest.hexdigest()


def _write_merged(directory: Path, base: Path, staging: Path) -> None:
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open

    model = load_model(base, "cpu", "float32")
    with quiet_transformers():
        try:
            wrapped: Any = PeftModel.from_pretrained(model, str(directory), local_files_only=True)
        except Exception as error:  # peft raises whatever it hits; what does not fit is the adapter
            reason = " ".join(str(error).split())[:300]
            raise ModelError(
                f"the adapter {directory} does not fit {base}: {type(error).__name__}: {reason}"
            ) from error
        with safe_open(str(directory / WEIGHTS), "pt") as stored:
            differing = sorted(
                set(stored.keys()) ^ set(get_peft_model_state_dict(wrapped, save_embedding_layers=False))
            )
        if differing:  # peft would leave out what it does not know, and make up what is missing
            raise ModelError(
                f"the adapter {directory} does not fit {base}: {len(differing)} of its matrices have no place there or "
                f"are missing, first {differing[0]}; give the model that it was trained with"
            )
        merged = wrapped.merge_and_unload()
        merged.save_pretrained(str(staging))
        load_tokenizer(directory if has_tokenizer(directory) else base).save_pretrained(str(staging))
