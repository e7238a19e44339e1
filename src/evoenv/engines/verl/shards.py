"""What is in a checkpoint's directory: a shard per training process, an export, and a list of both, written last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.durable import recover_directory
from evoenv.errors import ModelError, StoreError

STATE = "state.json"
"""Written last: a checkpoint without it is none."""
EXPORT = "huggingface"
"""The weights as transformers and vLLM load them."""
SHARD = "model_world_size_"
"""How verl's names of weight shards begin."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What a checkpoint says of itself."""

    version: int
    world: int
    """Devices that wrote it."""


def write_state(directory: Path, saved: Saved, model: str) -> None:
    """List what the training processes wrote; refuse to if shards are missing."""
    files = {
        path.relative_to(directory).as_posix(): path.stat().st_size
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
    shards = sum(name.startswith(SHARD) for name in files)
    if shards != saved.world:
        raise StoreError(
            f"{shards} of {saved.world} shards of the checkpoint are in {directory}: is the run directory on a file "
            "system that all nodes share? Move it there and resume"
        )
    state = {"engine": "verl", "version": saved.version, "world": saved.world, "model": model, "files": files}
    (directory / STATE).write_text(json.dumps(state, indent=1), encoding="utf-8")


def read_state(directory: Path) -> Saved:
    """Read what a checkpoint says of itself; refuse one that is damaged or of another engine."""
    recover_directory(directory)
    try:
        state: dict[str, Any] = json.loads((directory / STATE).read_text(encoding="utf-8"))
        saved, files = Saved(int(state["version"]), int(state["world"])), dict(state["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"no whole checkpoint of this engine at {directory}: {type(error).__name__}: {error}; resume with the "
            "engine that wrote it, or from an earlier checkpoint"
        ) from error
    for name, size in files.items():
        if not (directory / name).is_file() or (directory / name).stat().st_size != size:
            raise ModelError(
                f"the checkpoint {directory} is damaged: {name} is not there or has another size; resume from an "
                "earlier one"
            )
    return saved


def cannot_write(directory: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write the checkpoint {directory}: {error}; an earlier checkpoint is untouched. "
        "Free some space or choose another run directory, then resume"
    )
