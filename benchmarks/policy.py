"""The policy against its peers, in one run: sampling, one whole GRPO step, peak memory.

    python benchmarks/policy.py [--json] [--only sampling,step,memory] [--repeats 3]

- sampling: tokens per second against plain transformers `generate`, mixed lengths (`policy_sampling.py`); target ≥ 2×;
- step: seconds of sampling, rewards and update against TRL's `GRPOTrainer` (`policy_step.py`); target ≤ 0.5×;
- memory: our peak at the `laptop` preset, with its texts at their limits (hours beside other work; name its model with
  --model); target < 12 GB.

TRL is installed into an environment of its own, in the cache, the first time. Measure on a quiet machine: the sides
take turns, but a neighbour who comes and goes does not (`cpu_ratio` in the JSON minds that less than `ratio`).
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import policy_sampling
import policy_step

HALVES = ("sampling", "step", "memory")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    report: dict[str, Any] = {"benchmark": "policy", "model": arguments.model, "machine": policy_sampling.machine()}
    if "step" in arguments.only:
        report["step"] = policy_step.measure_step(arguments)
    if "memory" in arguments.only:
        report["memory"] = policy_step.measure_memory(arguments)
    if "sampling" in arguments.only:
        report["sampling"] = policy_sampling.measure(arguments)
    return report


def show(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    facts = report["machine"]
    table = Table(
        title=f"The policy, {report['model']}",
        caption=f"{facts['cpu']}, {facts['threads']} threads, torch {facts['torch']}, load {facts['load_before']:.1f}",
    )
    for heading in ("what", "evoenv", "peer", "ratio", "target"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for row in report.get("sampling", {}).get("results", []):
        table.add_row(
            f"sampling, {row['case']}",
            f"{row['local_tokens_per_s']:.0f} tokens/s",
            f"generate {row['generate_tokens_per_s']:.0f} tokens/s",
            f"{row['ratio']:.2f}×",
            "≥ 2×",
        )
    if step := report.get("step"):
        table.add_row(
            f"GRPO step, {step['prompts']} × {step['group']}, {step['lengths'][0]}-{step['lengths'][1]} tokens",
            f"{step['evoenv_seconds']:.1f} s",
            f"TRL {step['trl_seconds']:.1f} s",
            f"{step['ratio']:.2f}×",
            "≤ 0.5×",
        )
        what = f"a LoRA of rank {step['lora_rank']}" if step["lora_rank"] else "all weights"
        rates = step["update_tokens_per_second"]
        table.add_row(
            f"its update, {what}",
            f"{rates[0]:.1f} tokens/s",
            f"TRL {rates[1]:.1f} tokens/s",
            f"{step['update_speedup']:.2f}×",
            "≥ 2×",
        )
    if memory := report.get("memory"):
        table.add_row(
            f"peak memory, {memory['preset']} preset", f"{memory['peak_memory_mb'] / 1024:.1f} GB", "", "", "< 12 GB"
        )
    Console().print(table)


def halves(text: str) -> tuple[str, ...]:
    chosen = tuple(part.strip() for part in text.split(","))
    if unknown := set(chosen) - set(HALVES):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(HALVES)}")
    return chosen


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
    parser.add_argument("--only", type=halves, default=HALVES, help="of sampling,step,memory")
    parser.add_argument("--model", default="SmolLM2-135M-Instruct")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="0: what torch chooses")
    parser.add_argument("--repeats", type=int, default=3, help="measured turns of each side")
    sampling = parser.add_argument_group("sampling")
    sampling.add_argument("--rows", type=int, default=64)
    sampling.add_argument("--shortest", type=int, default=8)
    sampling.add_argument("--longest", type=int, default=256)
    step = parser.add_argument_group("GRPO step")
    step.add_argument("--warm-up", type=int, default=1, help="turns before those that count")
    step.add_argument("--prompts", type=int, default=4)
    step.add_argument("--group", type=int, default=8)
    step.add_argument("--step-shortest", type=int, default=16)
    step.add_argument("--step-longest", type=int, default=128)
    step.add_argument("--prompt-words", type=int, default=100)
    step.add_argument("--micro-batch-tokens", type=int, default=2048)
    step.add_argument("--lora", type=int, default=0, metavar="RANK", help="train a LoRA of this rank (0: all weights)")
    arguments = parser.parse_args(argv)
    report = measure(arguments)
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        show(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
