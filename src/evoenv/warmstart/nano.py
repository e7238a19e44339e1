"""The small policy made from nothing: a tokenizer learnt on the corpus and a Llama-shaped model of random weights.

The tokenizer is byte-level BPE (any text survives a round trip) with two departures. Digits stand alone, so that
numbers can be computed with. And a merge may cross spaces, though never a line's end: the corpus is written in
recurring phrases, and a phrase that is one token makes programs half as long, which is time saved in every role.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evoenv.durable import whole_directory
from evoenv.models.packages import require_local_extra
from evoenv.models.tiny import SPECIAL_TOKENS, wrap_tokenizer

PIECES = r"\d|\n[ ]*|[^\d\n]+"
"""Borders that no merge may cross: single digits, a line's end with the next line's indent, and the rest of a line."""
LONGEST_TOKEN = 40
"""Bytes: longer phrases are hardly ever met again, and cost a place in the vocabulary."""


def learn_tokenizer(texts: Iterable[str], vocabulary: int) -> Any:
    """Learn a fast tokenizer with a chat template on `texts`; the same texts give the same tokenizer."""
    require_local_extra()
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        max_token_length=LONGEST_TOKEN,
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return wrap_tokenizer(backend)


def build_model(tokenizer: Any, shape: dict[str, int], seed: int) -> Any:
    """Build a Llama of the given shape with random weights, float32; torch's own random state is left as it was."""
    require_local_extra()
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    from evoenv.models.loading import quiet_transformers

    settings: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "tie_word_embeddings": True,
        "initializer_range": shape["hidden_size"] ** -0.5 / 2,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **shape,
    }
    with torch.random.fork_rng(devices=[]), quiet_transformers():
        torch.manual_seed(seed)
        loader: Any = AutoModelForCausalLM  # untyped upstream
        return loader.from_config(LlamaConfig(**settings), dtype=torch.float32)


def save_start(model: Any, tokenizer: Any, directory: Path) -> Path:
    """Save model and tokenizer as any transformers model is kept."""
    from evoenv.models.loading import quiet_transformers

    with whole_directory(directory) as target, quiet_transformers():
        model.save_pretrained(target)
        tokenizer.save_pretrained(target)
    return directory
