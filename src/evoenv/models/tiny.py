"""A random language model of about half a million weights with a byte tokenizer, built in a second.

It is the `tiny-test` preset's policy and the model of most tests: real forward passes, real gradients, real
checkpoints, no download. It knows nothing; a few updates teach it trivial tasks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from evoenv.models.packages import require_local_extra

END_OF_TEXT, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIAL_TOKENS = (END_OF_TEXT, START, END)

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build_tiny_tokenizer(*, chat_template: str | None = CHAT_TEMPLATE) -> Any:
    """Build a tokenizer with a token per byte and three special ones: digits stand alone, any text survives."""
    require_local_extra()
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate((*SPECIAL_TOKENS, *alphabet))}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS])
    return wrap_tokenizer(backend, chat_template)


def wrap_tokenizer(backend: Any, chat_template: str | None = CHAT_TEMPLATE) -> Any:
    """Wrap a `tokenizers` tokenizer with our special tokens, as transformers wants it."""
    from transformers import PreTrainedTokenizerFast

    wrap: Any = PreTrainedTokenizerFast  # untyped upstream
    tokenizer = wrap(
        tokenizer_object=backend,
        bos_token=START,
        eos_token=END,
        pad_token=END_OF_TEXT,
        unk_token=END_OF_TEXT,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = chat_template
    return tokenizer


def build_tiny_policy(
    directory: Path, arch: Literal["llama", "qwen3"] = "llama", seed: int = 0, **overrides: Any
) -> Path:
    """Write model and tokenizer to `directory` and return it; `overrides` go to the architecture's configuration.

    Weights depend on `arch`, `seed` and `overrides` only; torch's global random state is left as it was.
    """
    require_local_extra()
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig, Qwen3Config

    from evoenv.models.loading import quiet_transformers

    tokenizer = build_tiny_tokenizer()
    settings: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": 128,
        "intermediate_size": 384,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "max_position_embeddings": 32768,
        "tie_word_embeddings": True,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **overrides,
    }
    with torch.random.fork_rng(devices=[]), quiet_transformers():
        torch.manual_seed(seed)
        config: Any = LlamaConfig(**settings) if arch == "llama" else Qwen3Config(**settings)
        loader: Any = AutoModelForCausalLM  # untyped upstream
        model = loader.from_config(config)
        directory.mkdir(parents=True, exist_ok=True)
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)
    return directory
