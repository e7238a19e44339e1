"""A GGUF file of a random Qwen2 model with a few thousand weights, laid out like the published ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Kind
from gguf import GGUFWriter, quantize
from tokenizers import pre_tokenizers

HIDDEN, INNER, LAYERS, HEADS = 64, 96, 2, 2
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TOKENS = (*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), "ĊĊ")
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LAYER_WEIGHTS = 2 * HIDDEN + HIDDEN * HIDDEN * 4 + 3 * HIDDEN + 3 * HIDDEN * INNER
"""Norms, attention, its biases, and the three matrices of the feed-forward part."""
WEIGHTS = len(TOKENS) * HIDDEN + LAYERS * LAYER_WEIGHTS + HIDDEN
"""With one matrix for embedding and output."""


def write_gguf(
    path: Path, *, architecture: str = "qwen2", tied: bool = True, layers_written: int = LAYERS
) -> np.ndarray:
    """Write the file; return the matrix that is both embedding and output, or only the output if not `tied`.

    The embedding has 4 bits, the output 8.
    """
    draw = np.random.default_rng(0)

    def random(*shape: int) -> np.ndarray:
        return draw.normal(0.0, 0.05, shape).astype(np.float32)

    writer = GGUFWriter(str(path), architecture)
    writer.add_block_count(LAYERS)
    writer.add_context_length(512)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(list(TOKENS))
    writer.add_token_types([3 if token in SPECIAL else 1 for token in TOKENS])
    writer.add_token_merges(["Ċ Ċ"])
    writer.add_eos_token_id(TOKENS.index("<|im_end|>"))
    writer.add_pad_token_id(TOKENS.index("<|endoftext|>"))
    writer.add_chat_template(TEMPLATE)
    output = random(len(TOKENS), HIDDEN)
    embedding = output if tied else random(len(TOKENS), HIDDEN)
    writer.add_tensor("token_embd.weight", quantize(embedding, Kind.Q4_0), raw_dtype=Kind.Q4_0)
    writer.add_tensor("output.weight", quantize(output, Kind.Q8_0), raw_dtype=Kind.Q8_0)
    writer.add_tensor("output_norm.weight", np.ones(HIDDEN, np.float32))
    for layer in range(layers_written):
        block = f"blk.{layer}"
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}.{name}.weight", np.ones(HIDDEN, np.float32))
        for name in ("attn_q", "attn_k", "attn_v"):
            writer.add_tensor(f"{block}.{name}.weight", random(HIDDEN, HIDDEN))
            writer.add_tensor(f"{block}.{name}.bias", random(HIDDEN))
        writer.add_tensor(f"{block}.attn_output.weight", random(HIDDEN, HIDDEN))
        writer.add_tensor(f"{block}.ffn_gate.weight", random(INNER, HIDDEN))
        writer.add_tensor(f"{block}.ffn_up.weight", random(INNER, HIDDEN))
        writer.add_tensor(f"{block}.ffn_down.weight", random(HIDDEN, INNER))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return output
