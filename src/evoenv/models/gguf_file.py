"""GGUF files as plain safetensors models: dequantised once, because transformers trains nothing else."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

from evoenv.errors import ModelError
from evoenv.models.loading import quiet_transformers
from evoenv.models.packages import require_gguf_packages
from evoenv.models.progress import Bar

_DIGIT_SPLITTING_PRETOKENIZERS = ("smollm", "starcoder", "refact", "command-r")
"""Values of `tokenizer.ggml.pre` whose first rule splits off every digit, before GPT-2's rule for words."""

EMBEDDING, OUTPUT = "token_embd.weight", "output.weight"
SAME_MATRIX = 0.25
"""Two quantisations of one matrix differ by less than this share of its norm (4 bits: about 0.08); two matrices that
were trained apart differ by more than 1."""


def check_architecture(gguf: Path) -> None:
    """Raise ModelError if a file is no GGUF file, or holds a model of a kind that cannot be read from one."""
    require_gguf_packages()
    from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

    def plain(name: str) -> str:
        return name.replace("-", "").replace("_", "").lower()

    field = _read(gguf).fields.get("general.architecture")
    architecture = "" if field is None else str(field.contents())
    known = sorted(name for name in GGUF_SUPPORTED_ARCHITECTURES if "t5" not in name)  # encoders write no text
    if plain(architecture) not in map(plain, known):
        raise ModelError(
            f"{gguf} holds a model of architecture {architecture or 'unknown'!r}; expected a language model that "
            f"transformers reads from GGUF: {', '.join(known)}. Pass a safetensors directory of the model instead"
        )


def _read(gguf: Path) -> Any:
    from gguf import GGUFReader  # here: it imports numpy

    try:
        return GGUFReader(str(gguf))
    except Exception as error:  # the reader raises whatever the bytes lead it to
        raise ModelError(f"{gguf} cannot be read as GGUF weights: {type(error).__name__}: {error}") from error


def dequantise(gguf: Path, directory: Path, bar: Bar) -> None:
    """Write a GGUF file's weights and tokenizer into `directory` as a safetensors model in float32."""
    check_architecture(gguf)
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    loader: Any = AutoModelForCausalLM  # its stubs do not know the loading report
    # The GGUF reader draws a bar of its own, which no setting of transformers turns off.
    silence = contextlib.redirect_stderr(io.StringIO())
    with bar.task(f"dequantising {gguf.name}", None), quiet_transformers(), silence:
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
            model, report = loader.from_pretrained(
                str(gguf.parent),
                gguf_file=gguf.name,
                quantization_config=GgufConfig(dequantize=True),
                dtype=torch.float32,
                output_loading_info=True,
            )
        except Exception as error:  # transformers raises whatever its parsers hit; the file is what is wrong
            raise ModelError(f"{gguf} cannot be read as GGUF weights: {type(error).__name__}: {error}") from error
        if missing := sorted(report["missing_keys"]):
            # transformers would fill them with noise, which nobody could tell from weights once they are saved
            raise ModelError(
                f"{gguf} lacks {len(missing)} weights that its header speaks of, first {missing[0]}; expected a whole "
                "model in one file (the parts of a split one are joined by llama.cpp's `gguf-split --merge`)"
            )
        header = _read(gguf)
        _restore_digit_splitting(tokenizer, header)
        _tie_embeddings(model, header)
        # The name inside a GGUF is the training run's; nobody can resolve it.
        model.config._name_or_path = ""
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)


def _restore_digit_splitting(tokenizer: Any, header: Any) -> None:
    """Give the tokenizer the GGUF's own splitting rule; transformers reads the vocabulary alone.

    Digits still come out one by one, but white space before a digit is cut differently from what the model was
    trained on: a blank line and then `5` becomes two newline tokens where the model knows one token for both.
    """
    from tokenizers import pre_tokenizers

    field = header.fields.get("tokenizer.ggml.pre")
    if field is not None and field.contents() in _DIGIT_SPLITTING_PRETOKENIZERS:
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )


def _tie_embeddings(model: Any, header: Any) -> None:
    """Make the output layer the embedding again if the original had one matrix for both.

    Some files hold that matrix twice, in two quantisations. As two matrices they would drift apart in training, and
    take memory twice. The finer of the two is kept.
    """
    import torch

    bits = {tensor.name: tensor.n_bytes / tensor.n_elements for tensor in header.tensors}
    embedding, output = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    if embedding is output or embedding.shape != output.shape or not {EMBEDDING, OUTPUT} <= bits.keys():
        return
    with torch.no_grad():
        if float((embedding - output).norm() / output.norm()) >= SAME_MATRIX:
            return
        if bits[OUTPUT] > bits[EMBEDDING]:
            embedding.copy_(output)
    model.config.tie_word_embeddings = True
    model.tie_weights()
