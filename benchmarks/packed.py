"""What packed weights gain, and what half precision changes: a frozen model sampled three ways in one run.

    OMP_NUM_THREADS=1 python benchmarks/packed.py [--json] [--model Qwen2.5-Coder-0.5B-Instruct] [--rows 8,64]

- *plain*: float32 weights as they were loaded; *float32*: arranged beforehand by oneDNN; *half*: by FBGEMM in half
  precision, which is what `model.packed` takes on a processor that has it. Every response writes as many tokens as it
  may, in groups of eight. Beside the wall clock there is CPU time, which holds on a busy machine too.
- For the two packed ways, how far the log-probabilities of what they sampled are from those that the plain model
  gives the same tokens, as a trainer recomputes them: the mean and the greatest difference, and of how many tokens the
  importance ratio is more than a hundredth away from one.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from typing import Any

import torch

from evoenv.engines.local import packed
from evoenv.engines.local.policy import LocalPolicy
from evoenv.environment.seeds import seed_sources
from evoenv.models.resolve import load_model, load_tokenizer, resolve_device, resolve_model
from evoenv.objective import ResponseWeight, Row
from evoenv.records import Message, Request, Sample
from evoenv.training.logprobs import LogprobScorer

GROUP = 8
BUDGET = 2048
"""How many tokens the trainer computes at once."""
WAYS = {"plain": None, "float32": packed.in_float32, "half": packed.in_half_precision}


def requests(rows: int, tokens: int) -> list[Request]:
    """So many rows, in groups of eight: each is asked to explain one of the seed environments."""
    sources = (4 * list(seed_sources().values()))[: max(1, rows // GROUP)]
    return [
        Request(
            f"r{number}", "solver", (Message("user", f"Explain this program.\n\n{source[:200]}"),),
            count=min(GROUP, rows), max_tokens=tokens, seed=number, trains=True,
        )
        for number, source in enumerate(sources)
    ]  # fmt: skip


def sampled(policy: LocalPolicy, rows: int, tokens: int) -> tuple[dict[str, float], list[Sample]]:
    """Sample once for the sake of caches, then count."""
    list(policy.sample(requests(rows, 4)))
    wall, cpu = time.perf_counter(), time.process_time()
    samples = list(policy.sample(requests(rows, tokens)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    drawn = sum(sample.tokens for sample in samples)
    return {"rows": rows, "tokens": drawn, "per_second": drawn / wall, "per_cpu_second": drawn / cpu}, samples


def gaps(model: Any, samples: list[Sample]) -> dict[str, float]:
    """Compare what was sampled with what the plain model gives the same tokens, as a trainer recomputes them."""
    weight = ResponseWeight(1.0, 1.0, 0.0)
    rows = [Row("solver", sample.rollout, 0.0, weight) for sample in samples if sample.rollout is not None]
    scorer = LogprobScorer(model)
    differences = []
    with scorer.running():
        for batch in scorer.plan(rows, BUDGET):
            drawn = torch.tensor([logprob for row in batch.rows for logprob in row.sampled])
            differences.append(scorer.logprobs(batch) - drawn)
    gap = torch.cat(differences)
    ratio = gap.exp()
    return {
        "tokens": len(gap), "mean": float(gap.abs().mean()), "max": float(gap.abs().max()),
        "ratio_off_by_a_hundredth": float(((ratio - 1).abs() > 0.01).double().mean()),
    }  # fmt: skip


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Open the model once and sample it each way."""
    path = resolve_model(arguments.model)
    model = load_model(path, resolve_device("cpu"), "float32").requires_grad_(False)
    tokenizer = load_tokenizer(path)
    report: dict[str, Any] = {"model": arguments.model, "threads": torch.get_num_threads(), "ways": {}}
    for name, pack in WAYS.items():
        if name == "half" and packed.best_packer() is not pack:
            report["ways"][name] = None
            continue
        # Only the modules are copied: the weights of all ways are the same tensors.
        memo = {id(weight): weight for weight in model.parameters()}
        own = copy.deepcopy(model, memo)
        if pack is not None:
            packed.pack_frozen(own, trained=True, pack=pack)
        policy = LocalPolicy(own, tokenizer)
        turns = [sampled(policy, rows, arguments.tokens) for rows in arguments.rows]
        report["ways"][name] = {"speed": [speed for speed, _ in turns]}
        if pack is not None:
            report["ways"][name]["gap"] = gaps(model, [sample for _, samples in turns for sample in samples][:GROUP])
    return report


def show(report: dict[str, Any]) -> None:
    """Print a table."""
    print(f"{report['model']}, {report['threads']} threads; tokens per second (per CPU second)")
    for name, way in report["ways"].items():
        if way is None:
            print(f"{name:8}  not on this processor")
            continue
        line = "  ".join(
            f"{item['rows']} rows: {item['per_second']:.1f} ({item['per_cpu_second']:.1f})" for item in way["speed"]
        )
        print(f"{name:8}  {line}")
        if "gap" in way:
            gap = way["gap"]
            print(
                f"{'':8}  log-probabilities differ by {gap['mean']:.1e} on average, {gap['max']:.1e} at most; "
                f"ratio off by more than 0.01 in {gap['ratio_off_by_a_hundredth']:.2%} of {gap['tokens']} tokens"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout and nothing else")
    parser.add_argument("--model", default="Qwen2.5-Coder-0.5B-Instruct")
    parser.add_argument("--rows", type=lambda text: [int(part) for part in text.split(",")], default=[8, 64])
    parser.add_argument("--tokens", type=int, default=24, help="how many each response may write")
    arguments = parser.parse_args()
    report = measure(arguments)
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        show(report)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
