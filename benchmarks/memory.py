"""Measured peaks of memory against `evoenv.memory.local_need`, on a CPU.

    python benchmarks/memory.py [CASE …] [--json FILE]

Each case is a configuration, in a process of its own: a peak cannot be reset. The process opens policy and embedder as
a run does, makes one small update, after which the optimiser's moments are there, and takes a whole step: it samples
what every role may ask for, with prompts and responses as long as they may be, and updates on the groups of both roles.
Groups beyond what is held at once are left out: memory does not grow with them. The peak is the kernel's (`VmHWM`).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evoenv.assembly import open_embedder, open_policy
from evoenv.config import Config
from evoenv.diagnosis import describe_machine
from evoenv.engines.local.draft import TextRules
from evoenv.memory import GB, RoleLoad, asked_in_step, largest_passes, local_need, rows_at_once, trained_in_step
from evoenv.models.shapes import find_shape
from evoenv.models.tiny import build_tiny_policy
from evoenv.objective import build_batch
from evoenv.ports import Policy
from evoenv.records import Group, Message, Request, Rollout, Sample
from evoenv.settings import run_config

SHORT = [
    "review.enabled=false",
    "calibration.instances=1",
    "model.sample_batch_tokens=8192",
    "generator.prompts=1",
    "generator.candidates_per_prompt=4",
    "generator.max_prompt_tokens=384",
    "generator.max_tokens=16",
    "solver.prompts=1",
    "solver.responses_per_prompt=4",
    "solver.max_prompt_tokens=192",
    "solver.max_tokens=16",
    "training.micro_batch_tokens=512",
]
"""Settings under which a step of a model of 135 million weights takes less than a minute of one core."""
QWEN3 = {
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "vocab_size": 24576,
    "tie_word_embeddings": False,
}
"""A model with random weights of another shape: Qwen3's normalised queries, an output layer of its own."""
SMOLLM2 = [*SHORT, "model.name=SmolLM2-135M-Instruct", "training.lora_rank=32"]
CASES: dict[str, tuple[str, list[str]]] = {
    "nano": ("nano", []),
    "laptop": ("laptop", []),
    "qwen2.5-coder-lora": ("laptop", SHORT),
    "smollm2-lora": ("laptop", SMOLLM2),
    "smollm2-full": ("laptop", [*SMOLLM2, "training.lora_rank=0"]),
    "qwen3-random-bfloat16": ("laptop", [*SHORT, "training.lora_rank=0", "model.dtype=bfloat16"]),
}
"""Name -> preset and what is set over it."""
TOLERANCE = 0.15
WORDS = "list the numbers in order and then add every second one of them to the sum of the first".split()


def settings_of(case: str, model: str) -> Config:
    preset, overrides = CASES[case]
    named = [f'model.name="{model}"'] if model else []
    return run_config(preset, overrides=[*overrides, "model.device=cpu", *named])


def message_of(policy: Any, tokens: int, rng: random.Random) -> Message:
    """Write a message that the model reads as at most so many tokens, and nearly as many."""
    words = rng.choices(WORDS, k=tokens)
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        fits = policy.prompt_tokens((Message("user", " ".join(words[:middle])),)) <= tokens
        low, high = (middle, high) if fits else (low, middle - 1)
    return Message("user", " ".join(words[:low]))


def requests_of(policy: Any, asked: RoleLoad, prefix: str, needed: int) -> list[Request]:
    """Ask for as much of one role as is held at once."""
    rng = random.Random(prefix)
    return [
        Request(
            id=f"{prefix}-{number}",
            role="solver",
            messages=(message_of(policy, asked.prompt_tokens, rng),),
            count=asked.responses,
            max_tokens=asked.response_tokens,
            seed=number,
            trains=True,
        )
        for number in range(min(asked.prompts, needed))
    ]


def take_step(policy: Policy, config: Config, at_once: int) -> None:
    """Sample every role and update on those that train."""
    trained = trained_in_step(config)
    groups = []
    for number, asked in enumerate(asked_in_step(config)):
        budget = config.training.micro_batch_tokens
        rows = -(-at_once // asked.responses)
        packed = budget // (asked.prompt_tokens + asked.responses * asked.response_tokens) + 1
        requests = requests_of(policy, asked, f"role{number}", max(rows, packed))
        samples: dict[str, list[Sample]] = {request.id: [] for request in requests}
        for sample in policy.sample(requests):
            samples[sample.request_id].append(sample)
        if number < len(trained):
            groups += [
                Group(request.id, request.role, tuple(found), tuple(map(float, range(len(found)))))
                for request, found in zip(requests, samples.values(), strict=True)
            ][:packed]
    policy.update(build_batch(groups, config.training))


def learn_a_little(policy: Policy, config: Config) -> None:
    """Update on two short responses: after the first update the optimiser's moments are there."""
    rollouts = [Rollout.of((3, 4, 5), (6, last), (-1.0, -1.0)) for last in (7, 8)]
    samples = tuple(Sample("little", index, "", rollout=rollout) for index, rollout in enumerate(rollouts))
    policy.update(build_batch([Group("little", "solver", samples, (0.0, 1.0))], config.training))


def peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def measure(case: str, model: str) -> dict[str, Any]:
    """Run one case in this process."""
    config = settings_of(case, model)
    policy: Any = open_policy(config, learns=True, progress=False)
    policy.rules = TextRules(policy.tokenizer, ())  # nothing ends a response but its limit
    embedder = open_embedder(config)
    embedder.embed([" ".join(WORDS) * 20] * 16)
    shape = find_shape(config.model.name)
    assert shape is not None
    learn_a_little(policy, config)
    take_step(policy, config, rows_at_once(shape.parameters, "cpu"))
    need = local_need(shape, config)
    peak = peak_bytes()
    return {
        "case": case,
        "parameters": shape.parameters,
        "parts": {part.name: part.bytes for part in (*need.held, *need.sampling, *need.training) if part.bytes},
        "passes": [asdict(step) for step in largest_passes(config)],
        "computed": need.peak,
        "measured": peak,
        "ratio": need.peak / peak,
    }


def run_case(case: str) -> dict[str, Any]:
    """Run one case in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        model = ""
        if case.startswith("qwen3-random"):
            model = str(build_tiny_policy(Path(directory) / "model", "qwen3", **QWEN3))
        command = [sys.executable, __file__, "--child", case, "--model", model]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    facts: dict[str, Any] = json.loads(result.stdout)
    return facts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}; by default all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--model", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure(arguments.child, arguments.model)))
        return 0
    if unknown := set(arguments.cases) - set(CASES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; the cases are {', '.join(CASES)}")
    results = []
    print(f"{'case':<24}{'computed':>10}{'measured':>10}{'ratio':>8}")
    for case in arguments.cases or CASES:
        facts = run_case(case)
        results.append(facts)
        print(f"{case:<24}{facts['computed'] / GB:>7.2f} GB{facts['measured'] / GB:>7.2f} GB{facts['ratio']:>8.2f}")
    if arguments.json:
        document = {"machine": describe_machine(), "results": results}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0 if all(abs(facts["ratio"] - 1) <= TOLERANCE for facts in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
