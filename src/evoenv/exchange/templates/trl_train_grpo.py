"""GRPO with TRL on this export: `python train_grpo.py --model MODEL`. A start to be changed, not a recipe."""

import argparse

from datasets import Dataset
from evoenv_trl import reward, rows
from trl import GRPOConfig, GRPOTrainer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a model's name or folder")
    parser.add_argument("--output", default="grpo-output")
    parser.add_argument("--max-steps", type=int, default=100)
    parser.add_argument("--generations", type=int, default=8, help="completions per prompt")
    parser.add_argument("--max-completion-length", type=int, default=1024)
    parser.add_argument("--cpu", action="store_true", help="no GPU: slow, in 32-bit floats")
    arguments = parser.parse_args()
    config = GRPOConfig(
        output_dir=arguments.output,
        max_steps=arguments.max_steps,
        num_generations=arguments.generations,
        per_device_train_batch_size=arguments.generations,
        max_completion_length=arguments.max_completion_length,
        use_cpu=arguments.cpu,
        bf16=not arguments.cpu,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
    )
    trainer = GRPOTrainer(
        model=arguments.model,
        args=config,
        train_dataset=Dataset.from_list(rows("train")),
        reward_funcs=reward,
    )
    trainer.train()


if __name__ == "__main__":
    main()
