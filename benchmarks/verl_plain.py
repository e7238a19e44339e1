"""GRPO by verl's own V1 trainer on a CPU, on the prompts and with the settings of `verl_step.py`, which starts this.

    .venv-verl/bin/python benchmarks/verl_plain.py OUTPUT.jsonl [--world 1] [--steps 4]

Writes verl's own metrics of each step, one JSON document a line: seconds by stage, tokens.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "verl"))

import cpu_platform  # noqa: E402

cpu_platform.prepare()
os.environ["VERL_CPU_STOCK_WORKERS"] = "1"


def compute_score(data_source: str, solution_str: str, **_: Any) -> float:
    """Reward something that has nothing to do with the task, as the other side does."""
    return float(len(solution_str) % 2)


def main() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from omegaconf import OmegaConf
    from verl.trainer.main_ppo import TaskRunnerV1, run_ppo
    from verl_work import COUNT, KL, MAX_TOKENS, PROMPTS, config_of, requests_of

    from evoenv.engines.verl.settings import verl_config
    from evoenv.models.resolve import resolve_model

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--steps", type=int, default=4)
    arguments = parser.parse_args()
    os.environ["VERL_FILE_LOGGER_PATH"] = str(arguments.output.absolute())
    config = config_of(arguments.world)
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            {
                "prompt": [{"role": message.speaker, "content": message.content} for message in request.messages],
                "data_source": "numbers",
                "reward_model": {"style": "rule", "ground_truth": ""},
                "extra_info": {"index": number},
            }
            for number, request in enumerate(requests_of(0))
        ]
        data = Path(folder) / "prompts.parquet"
        pq.write_table(pa.Table.from_pylist(rows), data)
        tree = verl_config(config, str(resolve_model(config.model.name)), 512 + MAX_TOKENS)
        theirs = {
            "data": {
                "train_files": str(data),
                "val_files": str(data),
                "train_batch_size": PROMPTS,
                "max_prompt_length": 512,
                "max_response_length": MAX_TOKENS,
                "dataloader_num_workers": 0,
                "shuffle": False,
            },
            "algorithm": {"adv_estimator": "grpo", "use_kl_in_reward": False},
            "actor_rollout_ref": {
                "actor": {"use_kl_loss": True, "kl_loss_coef": KL, "ppo_mini_batch_size": PROMPTS},
                "ref": {"log_prob_use_dynamic_bsz": True},
                "rollout": {
                    "n": COUNT,
                    "prompt_length": 512,
                    "response_length": MAX_TOKENS,
                    "temperature": 1.0,
                    "calculate_log_probs": True,
                    "log_prob_use_dynamic_bsz": True,
                    "agent": {"num_workers": 1},
                },
            },
            "reward": {"num_workers": 1, "custom_reward_function": {"path": str(Path(__file__).absolute())}},
            "transfer_queue": {"backend": {"SimpleStorage": {"num_data_storage_units": 1}}},
            "trainer": {
                "total_epochs": arguments.steps,
                "total_training_steps": arguments.steps,
                "logger": ["file"],
                "val_before_train": False,
                "test_freq": -1,
                "save_freq": -1,
                "resume_mode": "disable",
                "default_local_dir": folder,
            },
            "ray_kwargs": {
                "ray_init": {"address": "local", "num_cpus": 4 * arguments.world + 12, "num_gpus": arguments.world}
            },
        }
        OmegaConf.set_struct(tree, False)
        run_ppo(OmegaConf.merge(tree, theirs), task_runner_class=TaskRunnerV1)


if __name__ == "__main__":
    main()
