"""The model cache on disk: one directory per model, complete or absent.

A directory appears by rename, after every file in it was written and fsynced; two processes that want the same
model take turns by a lock on a file beside it; a full disk is noticed before the work, not after.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from evoenv.durable import whole_directory
from evoenv.errors import ModelError

log = logging.getLogger(__name__)

SPARE_BYTES = 64 * 1024**2
"""Left free on top of what a model needs, so that the machine stays usable."""


def cache_root() -> Path:
    """Return `EVOENV_CACHE`, else `evoenv` under the XDG cache directory."""
    explicit = os.environ.get("EVOENV_CACHE")
    if explicit:
        return Path(explicit).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "evoenv"


def human_bytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count} bytes"


def check_disk_space(directory: Path, needed: int, purpose: str) -> None:
    """Raise before any work if `directory` has no room for it."""
    place = directory
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    wanted = needed + SPARE_BYTES
    if free < wanted:
        raise ModelError(
            f"no disk space for {purpose}: {directory} has {human_bytes(free)} free, {human_bytes(wanted)} "
            "are needed; free some space or set EVOENV_CACHE to a directory on another disk"
        )


def sha256_of(stream: IO[bytes], advance: Callable[[int], None] | None = None) -> str:
    digest = hashlib.sha256()
    while block := stream.read(1 << 20):
        digest.update(block)
        if advance:
            advance(len(block))
    return digest.hexdigest()


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the one lock of `directory`; the kernel releases it if the holder dies."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    lock_path = directory.parent / f"{directory.name}.lock"
    try:
        import fcntl
    except ImportError:  # no advisory locks on this platform: the rename still keeps directories whole
        yield
        return
    with lock_path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("waiting for another process that prepares %s", directory.name)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def atomic_directory(target: Path) -> contextlib.AbstractContextManager[Path]:
    """Give a directory to fill that becomes `target` if the block succeeds and vanishes if it does not."""
    return whole_directory(target, explain=_cannot_write)


def _cannot_write(target: Path, error: OSError) -> ModelError:
    return ModelError(
        f"cannot write {target}: {error.strerror or error}; check the disk, or set EVOENV_CACHE to another directory"
    )
