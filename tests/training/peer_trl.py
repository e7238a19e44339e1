"""Runs inside TRL's own environment: a batch as JSON on stdin, the loss of a real `GRPOTrainer` on stdout."""

import json
import logging
import sys
import tempfile

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

logging.disable(logging.WARNING)
out, sys.stdout = sys.stdout, sys.stderr
batch = json.load(sys.stdin)


def padded(rows: list, *, left: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, rows))
    values, mask = [], []
    for row in rows:
        space = [0] * (width - len(row))
        values.append(space + row if left else row + space)
        mask.append([0] * len(space) + [1] * len(row) if left else [1] * len(row) + [0] * len(space))
    return torch.tensor(values), torch.tensor(mask)


prompts, prompt_mask = padded(batch["prompts"], left=True)
replies, reply_mask = padded(batch["replies"])
result = {}
for kind in ("grpo", "bnpo", "dapo", "dr_grpo"):
    with tempfile.TemporaryDirectory() as directory:
        trainer = GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(batch["model"], dtype=torch.float32),
            processing_class=AutoTokenizer.from_pretrained(batch["model"]),
            reward_funcs=lambda completions, **_: [0.0] * len(completions),
            train_dataset=Dataset.from_dict({"prompt": ["x"] * 8}),
            args=GRPOConfig(
                output_dir=directory,
                loss_type=kind,
                beta=batch["kl"],
                epsilon=batch["clip_low"],
                epsilon_high=batch["clip_high"],
                delta=batch["dual_clip"],
                use_bias_correction_kl=False,  # its default weighs k3 by the ratio; verl and we do not
                temperature=batch["temperature"],
                max_completion_length=batch["dr_grpo_tokens"],
                per_device_train_batch_size=len(replies),
                num_generations=4,
                gradient_checkpointing=False,
                use_cpu=True,
                bf16=False,
                report_to=[],
            ),
        )
        trainer.current_gradient_accumulation_steps = 1
        advantages = batch["centred" if kind == "dr_grpo" else "advantages"]
        loss = trainer._compute_loss(
            trainer.model,
            {
                "prompt_ids": prompts,
                "prompt_mask": prompt_mask,
                "completion_ids": replies,
                "completion_mask": reply_mask,
                "advantages": torch.tensor(advantages),
                "old_per_token_logps": padded(batch["sampled"])[0].float(),
                "ref_per_token_logps": padded(batch["reference"])[0].float(),
                "num_items_in_batch": reply_mask.sum(),
            },
        )
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), float("inf"))
        result[kind] = {"loss": loss.item(), "gradient_norm": norm.item()}
json.dump(result, out)
