"""Checkpoints that are either whole or not there.

A checkpoint is a directory of safetensors files and one `state.json`, which is written last and lists the size
and SHA-256 of every other file. `durable.whole_directory` puts it in place; whatever a kill leaves is mended by the
next `save` or `load`. Nothing in it is pickled.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from evoenv.durable import recover_directory, whole_directory
from evoenv.errors import ModelError, StoreError

FORMAT = 1
STATE = "state.json"
RNG = "rng.safetensors"


def write_checkpoint(
    directory: Path,
    tensors: Mapping[str, Mapping[str, Tensor]],
    state: Mapping[str, Any],
    *,
    extras: Callable[[Path], object] | None = None,
) -> None:
    """Write `tensors` by file name and `state`; `extras` may add files of its own. Replaces what is there."""
    directory = directory.absolute()
    try:
        with whole_directory(directory, explain=_cannot_write) as aside:
            _check_room(aside, tensors)
            for name, content in tensors.items():
                plain = {key: value.detach().contiguous() for key, value in content.items()}
                save_file(plain, aside / name, metadata={"format": "pt"})
            if extras is not None:
                extras(aside)
            files = {
                path.relative_to(aside).as_posix(): {"bytes": path.stat().st_size, "sha256": _hash(path)}
                for path in sorted(aside.rglob("*"))
                if path.is_file()
            }
            document = json.dumps({"format": FORMAT, **state, "files": files}, indent=1)
            (aside / STATE).write_text(document, encoding="utf-8")
    except SafetensorError as error:
        raise _cannot_write(directory, error) from error


def _cannot_write(directory: Path, error: Exception) -> StoreError:
    return StoreError(
        f"cannot write the checkpoint {directory}: {error}; an earlier checkpoint is untouched. "
        "Free some space or choose another run directory, then resume."
    )


def read_checkpoint(directory: Path, needs: Sequence[str] = ()) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
    """Return the state and the tensors by file name, all verified before anything is returned.

    `needs`: entries of the state, or files, without which the checkpoint is of no use.
    """
    directory = directory.absolute()
    recover_directory(directory)
    path = directory / STATE
    if not path.is_file():
        raise ModelError(f"no checkpoint at {directory}: expected a directory with {STATE}; check the path.")
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        file_format, files = state["format"], dict(state["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(directory, f"{STATE} cannot be read ({error})") from error
    if missing := [name for name in needs if name not in state and name not in files]:
        raise _damaged(directory, f"{STATE} does not mention {', '.join(missing)}")
    if file_format != FORMAT:
        raise ModelError(
            f"the checkpoint {directory} has format {file_format}, expected {FORMAT}; use the evoenv that wrote it."
        )
    tensors = {}
    for name, facts in files.items():
        file = directory / name
        if not file.is_file():
            raise _damaged(directory, f"{name} is missing")
        if file.stat().st_size != facts["bytes"]:
            raise _damaged(directory, f"{name} has {file.stat().st_size} bytes, expected {facts['bytes']}")
        if _hash(file) != facts["sha256"]:
            raise _damaged(directory, f"{name} does not match its SHA-256")
        if name.endswith(".safetensors"):
            try:
                tensors[name] = load_file(file)
            except SafetensorError as error:
                raise _damaged(directory, f"{name} cannot be read ({error})") from error
    return state, tensors


def named_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return the state dictionary with tied weights once, under their first name."""
    seen: set[tuple[Any, ...]] = set()
    weights = {}
    for name, value in model.state_dict().items():
        identity = (value.device, value.data_ptr(), value.shape, value.stride())
        if value.numel() and identity in seen:
            continue
        seen.add(identity)
        weights[name] = value
    return weights


def restore_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights into a model of the same shape; nothing is touched if one does not fit."""
    own = named_weights(model)
    if missing := sorted(own.keys() ^ weights.keys()):
        raise ModelError(
            f"the checkpoint and the model differ in {len(missing)} weights, for example {missing[0]}; "
            "resume with the model that the run was started with."
        )
    for name, value in weights.items():
        if own[name].shape != value.shape:
            raise ModelError(
                f"the checkpoint's {name} has shape {tuple(value.shape)}, the model's {tuple(own[name].shape)}; "
                "resume with the model that the run was started with."
            )
    with torch.no_grad():
        for name, value in weights.items():
            own[name].copy_(value)


def rng_state() -> tuple[dict[str, Tensor], list[Any]]:
    """Return torch's generators as tensors and Python's as JSON values."""
    tensors = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        tensors |= {f"cuda:{index}": state for index, state in enumerate(torch.cuda.get_rng_state_all())}
    version, internal, gauss = random.getstate()
    return tensors, [version, list(internal), gauss]


def restore_rng(tensors: Mapping[str, Tensor], python: list[Any]) -> None:
    torch.set_rng_state(tensors["cpu"])
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            if f"cuda:{index}" in tensors:
                torch.cuda.set_rng_state(tensors[f"cuda:{index}"], index)
    version, internal, gauss = python
    random.setstate((version, tuple(internal), gauss))


def _damaged(directory: Path, what: str) -> ModelError:
    return ModelError(
        f"the checkpoint {directory} is damaged: {what}. A run goes on from its newest checkpoint: bring this one back "
        "from a copy, or start the run again. An older one beside it can still be evaluated (evoenv eval --checkpoint)."
    )


def _check_room(parent: Path, tensors: Mapping[str, Mapping[str, Tensor]]) -> None:
    needed = sum(value.nbytes for content in tensors.values() for value in content.values())
    free = shutil.disk_usage(parent).free
    if needed > free:
        raise OSError(f"it needs {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free")


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
