"""Runs inside TRL's own environment: one `GRPOTrainer` step for each line on stdin, its facts as a JSON line on stdout.

TRL gets the settings that suit a CPU best (float32, no gradient checkpointing) and the work that we get: the same
chat prompts, group size, loss, KL to a frozen reference, and answer lengths. Lengths are forced by allowing the end
token exactly where an answer has to end.
"""

import json
import logging
import os
import resource
import sys
import tempfile
import time

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LogitsProcessor,
    LogitsProcessorList,
    TrainerCallback,
)
from trl import GRPOConfig, GRPOTrainer

logging.disable(logging.WARNING)
replies = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # progress bars and prints must not get between the replies
job = json.loads(sys.stdin.readline())
if job["threads"]:
    torch.set_num_threads(job["threads"])
model = AutoModelForCausalLM.from_pretrained(job["model"], dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(job["model"], padding_side="left")
counted = {"prompt_tokens": 0, "completion_tokens": 0, "sampling_seconds": 0.0}


def score(completions: list, completion_ids: list, **_: object) -> list[float]:
    counted["completion_tokens"] = sum(map(len, completion_ids))
    return [sum(completion[0]["content"].encode()) % 101 / 100 for completion in completions]


class ExactLengths(LogitsProcessor):
    """The end token exactly at each row's length, and not before."""

    def __init__(self, lengths: list[int], prompt_width: int) -> None:
        self.lengths = torch.tensor(lengths)
        self.prompt_width = prompt_width

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        last = ids.shape[1] - self.prompt_width + 1 >= self.lengths
        end = scores[:, tokenizer.eos_token_id].clone()
        scores[last] = -torch.inf
        scores[:, tokenizer.eos_token_id] = torch.where(last, end, -torch.inf)
        return scores


plain_generate = model.generate


def generate(*arguments: object, **options: object) -> object:
    ids, mask = options["input_ids"], options["attention_mask"]
    counted["prompt_tokens"] = int(mask.sum())
    texts = tokenizer.batch_decode([row[keep.bool()] for row, keep in zip(ids, mask, strict=True)])
    lengths = [next(n for word, n in job["lengths"].items() if word in text) for text in texts]
    processor = LogitsProcessorList([ExactLengths(lengths, ids.shape[1])])
    started = time.perf_counter()
    answers = plain_generate(*arguments, logits_processor=processor, **options)
    counted["sampling_seconds"] += time.perf_counter() - started
    return answers


model.generate = generate


class OnDemand(TrainerCallback):
    """Waits for a line before each step and answers with the seconds that it took."""

    started = cpu_started = 0.0

    def on_step_begin(self, args, state, control, **_: object) -> None:
        if not sys.stdin.readline():
            os._exit(0)
        counted["sampling_seconds"] = 0.0
        self.started, self.cpu_started = time.perf_counter(), time.process_time()

    def on_step_end(self, args, state, control, **_: object) -> None:
        seconds = time.perf_counter() - self.started
        facts = {
            "seconds": seconds,
            "update_seconds": seconds - counted["sampling_seconds"],
            "cpu_seconds": time.process_time() - self.cpu_started,
            **counted,
            "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        replies.write(json.dumps(facts) + "\n")


adapter = None
if job["lora_rank"]:
    adapter = LoraConfig(
        r=job["lora_rank"], lora_alpha=job["lora_alpha"], target_modules="all-linear", task_type="CAUSAL_LM"
    )
with tempfile.TemporaryDirectory() as directory:
    GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=score,
        train_dataset=Dataset.from_dict({"prompt": job["prompts"]}),
        callbacks=[OnDemand()],
        peft_config=adapter,
        args=GRPOConfig(
            output_dir=directory,
            max_steps=1000,
            per_device_train_batch_size=job["group_size"],
            gradient_accumulation_steps=len(job["prompts"]),
            num_generations=job["group_size"],
            max_completion_length=max(job["lengths"].values()),
            temperature=1.0,
            loss_type="dapo",
            beta=job["kl"],
            epsilon=0.2,
            epsilon_high=0.28,
            delta=10.0,
            learning_rate=5e-7,
            weight_decay=0.1,
            max_grad_norm=1.0,
            warmup_steps=5,
            gradient_checkpointing=False,
            use_cpu=True,
            bf16=False,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        ),
    ).train()
