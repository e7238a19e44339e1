"""A LoRA adapter as a model: merged, once, into the weights that it was trained beside.

    path = merge_adapter(Path("runs/laptop/checkpoints/step-00030"), models, bar, resolve_model)

What `evoenv train` saves with `training.lora_rank` is an adapter alone; so is what peft saves. Whoever gives such a
directory as a model means the model that it makes. The merged model is kept in the cache, in float32: an adapter's
small changes would be rounded away in less.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evoenv.errors import ModelError
from evoenv.models import fetch
from evoenv.models.cache import atomic_directory, check_disk_space, locked, sha256_of
from evoenv.models.loading import load_model, load_tokenizer, quiet_transformers
from evoenv.models.packages import require_local_extra
from evoenv.models.progress import Bar
from evoenv.models.registry import CACHE_FORMAT, PACKAGED_MODELS, PackagedModel, packaged_model
from evoenv.models.weights import (
    check_model_directory,
    check_safetensors,
    has_tokenizer,
    read_json,
    weights_fingerprint,
)

DESCRIPTION = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
STATE = "state.json"
"""What our own checkpoints have beside the adapter: digests, and the fingerprint of the weights of the start."""

Resolve = Callable[[str], Path]


def is_adapter(directory: Path) -> bool:
    """Return whether a directory holds an adapter and no model of its own."""
    return (directory / DESCRIPTION).is_file() and not (directory / "config.json").is_file()


def base_name(directory: Path) -> str:
    """Return what an adapter calls the model that it belongs to; another machine's cache is known by the folder."""
    name = str(read_json(directory / DESCRIPTION).get("base_model_name_or_path") or "")
    if not name:
        raise ModelError(f"{directory / DESCRIPTION} does not say to which model it belongs (base_model_name_or_path)")
    elsewhere = {model.cache_key: model.name for model in PACKAGED_MODELS.values()}
    return name if Path(name).exists() else elsewhere.get(Path(name).name, name)


def merge_adapter(directory: Path, models_directory: Path, bar: Bar, resolve: Resolve) -> Path:
    """Merge an adapter into the cache under its own digest; `resolve` finds the model that it belongs to."""
    require_local_extra()
    if importlib.util.find_spec("peft") is None:
        raise ModelError(
            f"{directory} holds a LoRA adapter, which needs peft; install with: pip install 'evoenv[local]'"
        )
    _check(directory)
    for base in _bases(directory, models_directory, bar, resolve):
        target = models_directory / f"{base.name}-adapter-{_digest(directory, base)[:12]}-{CACHE_FORMAT}"
        with locked(target):
            if fetch.is_whole(target) or _merged(directory, base, target, bar):
                return target
    raise ModelError(
        f"the adapter {directory} was trained beside other weights than those of {base}: give it the model that its "
        f"run started from (base_model_name_or_path in {DESCRIPTION})"
    )


def _check(directory: Path) -> None:
    """Raise ModelError unless the directory holds a whole LoRA adapter that can be merged."""
    description, weights = read_json(directory / DESCRIPTION), directory / WEIGHTS
    if description.get("peft_type") != "LORA" or not weights.is_file():
        raise ModelError(f"{directory} holds no LoRA adapter: expected peft_type LORA in {DESCRIPTION}, and {WEIGHTS}")
    if description.get("megatron_config"):  # its import is named by the file: nothing of an adapter is executed
        raise ModelError(f"{directory / DESCRIPTION} asks for Megatron's layers, which are not supported")
    names = check_safetensors(weights)
    ends = [name for name in names if "lm_head" in name or "embed" in name]
    if ends:
        raise ModelError(
            f"the adapter {directory} changes the embedding or the output layer ({sorted(ends)[0]}), which may be one "
            "matrix in two places; merge it with peft, and give the merged model"
        )
    stated = read_json(directory / STATE).get("files", {}) if (directory / STATE).is_file() else {}
    if WEIGHTS in stated:
        with weights.open("rb") as stream:
            if sha256_of(stream) != stated[WEIGHTS].get("sha256"):
                raise ModelError(f"{weights} is damaged: it does not match the SHA-256 in {STATE}")


def _bases(directory: Path, models_directory: Path, bar: Bar, resolve: Resolve) -> Iterator[Path]:
    """Yield the model that an adapter names; then the registry's, if the hub has other weights of that name."""
    name = base_name(directory)
    if Path(name).resolve() == directory.resolve():
        raise ModelError(f"{directory / DESCRIPTION} names its own directory as the model that it belongs to")
    try:
        first = resolve(name)
    except ModelError as error:
        raise ModelError(f"the model to which the adapter {directory} belongs was not found: {error}") from error
    yield first
    packaged: PackagedModel | None = packaged_model(name)
    if packaged is not None and packaged.hub_first and first.name != packaged.cache_key:
        yield fetch.from_registry(packaged, models_directory / packaged.cache_key, bar)


def _digest(directory: Path, base: Path) -> str:
    """Name what is merged by what it consists of; of large weights by size and time."""
    digest = hashlib.sha256(str(base).encode())
    parts = [directory / DESCRIPTION, directory / WEIGHTS, base / "config.json"]
    parts += sorted(path for path in directory.iterdir() if path.name.startswith(("tokenizer", "chat_template")))
    for part in parts:
        with part.open("rb") as stream:
            digest.update(sha256_of(stream).encode())
    for weights in sorted(base.glob("*.safetensors")):
        facts = weights.stat()
        digest.update(f"{weights.name} {facts.st_size} {facts.st_mtime_ns}".encode())
    return digest.hexdigest()


def _merged(directory: Path, base: Path, target: Path, bar: Bar) -> bool:
    """Write the merged model; return False if the adapter was trained beside other weights."""
    # the weights of some models have two bytes each: the merged ones have four
    check_disk_space(target, 2 * sum(file.stat().st_size for file in base.glob("*.safetensors")), target.name)
    with bar.task(f"merging {directory.name} into {base.name}", None):
        model = load_model(base, "cpu", "float32")
        if not _trained_beside(directory, model):
            return False
        with atomic_directory(target) as staging:
            try:
                _write(directory, base, model, staging)
            except ModelError:
                raise
            except Exception as error:  # peft raises whatever it hits; what does not fit is the adapter
                reason = " ".join(str(error).split())[:300]
                message = f"the adapter {directory} does not fit {base}: {type(error).__name__}: {reason}"
                raise ModelError(message) from error
            check_model_directory(staging)
            fetch.write_manifest(staging, name=target.name, source=str(directory), base=str(base))
    return True


def _trained_beside(directory: Path, model: Any) -> bool:
    """Return whether these are the weights that a checkpoint of ours started from; others do not say."""
    if not (directory / STATE).is_file():
        return True
    started: Mapping[str, Any] = read_json(directory / STATE)
    if "start" not in started:
        return True
    import torch

    # a run may have held the same weights in half the bytes
    return started["start"] in (weights_fingerprint(model), weights_fingerprint(model, torch.bfloat16))


def _write(directory: Path, base: Path, model: Any, staging: Path) -> None:
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open
    from transformers import GenerationConfig

    with quiet_transformers():
        wrapped: Any = PeftModel.from_pretrained(model, str(directory), local_files_only=True)
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
        settings: Any = GenerationConfig
        merged.generation_config = settings()  # the model's own is copied as it is: some are refused when saved
        merged.save_pretrained(str(staging))
        (staging / "generation_config.json").unlink(missing_ok=True)
        if (base / "generation_config.json").is_file():
            shutil.copyfile(base / "generation_config.json", staging / "generation_config.json")
        load_tokenizer(directory if has_tokenizer(directory) else base).save_pretrained(str(staging))
