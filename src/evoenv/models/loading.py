"""From a checked model directory to a model and a tokenizer in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from evoenv.errors import ModelError
from evoenv.models.packages import require_local_extra
from evoenv.models.weights import check_model_directory

if TYPE_CHECKING:
    import torch

log = getLogger(__name__)

PLAIN_CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ message['role'] | capitalize }}: {{ message['content'] }}\n\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)
"""For tokenizers without a chat template of their own (base models): `System: …`, `User: …`, `Assistant:`."""


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence progress bars and advice of transformers: stderr belongs to our own bar."""
    from transformers.utils import logging

    transformers_logging: Any = logging
    verbosity = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()


def resolve_device(device: str = "auto") -> torch.device:
    """Resolve `auto` to CUDA if there is one, else the CPU; any other device must exist."""
    require_local_extra()
    import torch

    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
        torch.empty(0, device=resolved)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(f"model.device = {device!r} cannot be used here ({reason}); try 'cpu' or 'auto'") from error
    return resolved


def resolve_dtype(dtype: str, device: torch.device) -> torch.dtype:
    """Resolve `auto` to float32 on a CPU, where bfloat16 is slower, and to bfloat16 elsewhere."""
    import torch

    if dtype == "auto":
        return torch.float32 if device.type == "cpu" else torch.bfloat16
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if dtype not in known:
        raise ModelError(f"model.dtype = {dtype!r}; expected one of {', '.join(known)} or auto")
    return known[dtype]


def load_model(path: Path, device: str | torch.device = "auto", dtype: str = "auto") -> Any:
    """Load the causal language model in `path` in evaluation mode; every weight must come from the file."""
    require_local_extra()
    check_model_directory(path)
    import torch
    from transformers import AutoModelForCausalLM

    loader: Any = AutoModelForCausalLM  # its stubs know neither the loading report nor concrete models
    place = resolve_device(device) if isinstance(device, str) else device
    kind = resolve_dtype(dtype, place) if isinstance(dtype, str) else dtype
    if kind == torch.bfloat16 and place.type == "cpu" and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        log.warning(
            "%s is loaded in bfloat16, for which this processor has no instructions: float32 is many times faster here "
            "(model.dtype=float32, or learn.dtype=float32 in a recipe)", path,
        )  # fmt: skip
    with quiet_transformers():
        try:
            model, report = loader.from_pretrained(
                str(path), dtype=kind, local_files_only=True, output_loading_info=True
            )
        except Exception as error:  # transformers raises whatever its parsers hit; the directory is what is wrong
            reason = (str(error).strip().splitlines() or [""])[0]
            raise ModelError(f"transformers cannot load {path}: {type(error).__name__}: {reason}") from error
    missing = sorted(report["missing_keys"])
    if missing:
        # transformers would fill them with noise and carry on.
        raise ModelError(
            f"{path} lacks {len(missing)} weights that its configuration needs, first {missing[0]}: "
            "the weights and config.json do not belong together"
        )
    try:
        model.to(place)
    except (RuntimeError, torch.OutOfMemoryError) as error:
        raise ModelError(f"{path} does not fit on {place}: {str(error).splitlines()[0]}") from error
    from evoenv.models.products import multiply_by_onednn, onednn_is_faster

    if onednn_is_faster():
        multiply_by_onednn(model)
    return model.eval()


def load_tokenizer(path: Path, *, missing_template: Literal["plain", "error"] = "plain") -> Any:
    """Load the tokenizer in `path`; one without a chat template gets PLAIN_CHAT_TEMPLATE, or is refused."""
    require_local_extra()
    from transformers import AutoTokenizer

    with quiet_transformers():
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
        except Exception as error:  # as above
            reason = (str(error).strip().splitlines() or [""])[0]
            raise ModelError(
                f"transformers cannot load a tokenizer from {path}: {type(error).__name__}: {reason}"
            ) from error
    if not tokenizer.chat_template:
        if missing_template == "error":
            raise ModelError(
                f"the tokenizer in {path} has no chat template, so roles cannot be told apart; "
                "use an instruction-tuned model, or add chat_template.jinja to the directory"
            )
        log.warning("the tokenizer in %s has no chat template; using a plain 'User: … Assistant:' layout", path)
        tokenizer.chat_template = PLAIN_CHAT_TEMPLATE
    if tokenizer.eos_token_id is None:
        raise ModelError(f"the tokenizer in {path} has no end-of-sequence token, so no answer would ever end")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def end_token_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Return every token that ends an answer: the tokenizer's and those of the generation configuration."""
    ends = {int(tokenizer.eos_token_id)}
    configured = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    if isinstance(configured, int):
        ends.add(configured)
    elif configured:
        ends.update(int(token) for token in configured)
    return tuple(sorted(ends))


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What a model's files say about it, without its weights."""

    vocabulary: int
    context: int | None
    end_ids: tuple[int, ...]


def describe_model(path: Path, tokenizer: Any) -> ModelDescription:
    """Read the configuration in `path`: for engines that hold the weights in other processes."""
    require_local_extra()
    from transformers import AutoConfig, GenerationConfig

    with quiet_transformers():
        try:
            config = AutoConfig.from_pretrained(str(path), local_files_only=True)
        except Exception as error:  # as above
            raise ModelError(f"transformers cannot read the configuration in {path}: {error}") from error
        generation = None
        if (path / "generation_config.json").is_file():
            generation = GenerationConfig.from_pretrained(str(path), local_files_only=True)
    model = SimpleNamespace(config=config, generation_config=generation)
    text = config.get_text_config()
    return ModelDescription(int(text.vocab_size), context_length(model), end_token_ids(model, tokenizer))


def context_length(model: Any) -> int | None:
    """Return the longest sequence that the model's positions allow, if its configuration says so."""
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    for name in ("max_position_embeddings", "n_positions", "max_sequence_length"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return None
