"""How much memory the driver takes for the rollouts of a step, by the number of tokens.

    python benchmarks/driver_memory.py [--tokens 1000000,4000000,9400000] [--response 2000] [--prompt 500]

A step's samples are made up (texts of four characters a token), written to a run's store, read back as the update reads
them, built into a batch, and go through an update of the verl engine, whose training processes are left out: their
answers are made up too. Each size runs in a process of its own. What is printed is the most memory that each stage took
beyond that of the imports, and bytes per response token.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy
import torch

from evoenv.config import Config
from evoenv.engines.verl.cluster import Cluster
from evoenv.engines.verl.learning import Learner
from evoenv.objective import build_batch
from evoenv.records import Message, Request, Rollout, Sample, Score
from evoenv.stages.groups import solver_groups
from evoenv.store.store import RequestRecord, Store

COUNT = 8


def resident() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * 4096


def peak() -> int:
    """The most that it was since the last call, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


class Answers:
    """In the place of the training processes: log-probabilities of 0 for all tokens."""

    world = 8
    adapter = False

    def call(self, work: str, method: str, *arguments: Any) -> Any:
        if method == "step_optimizer":
            return [{"grad_norm": 1.0}]
        ids = arguments[0]["input_ids"]
        return {"log_probs": torch.nested.nested_tensor_from_jagged(torch.zeros(ids.values().numel()), ids.offsets())}


def samples_of(number: int, response: int, prompt: int) -> Iterator[Sample]:
    """Make up the samples of one request."""
    source = numpy.random.default_rng(number)

    def array_of(kind: str, values: Any) -> array[Any]:
        return array(kind, values.tobytes())

    prompt_ids = array_of("i", source.integers(1000, size=prompt, dtype="i4"))
    for index in range(COUNT):
        token_ids = array_of("i", source.integers(1000, size=response, dtype="i4"))
        rollout = Rollout.of(prompt_ids, token_ids, array_of("d", -source.random(response)))
        text = source.integers(97, 123, size=4 * response, dtype="u1").tobytes().decode()
        yield Sample(f"r{number}", index, text, "stop", response, 0, rollout)


def measure(tokens: int, response: int, prompt: int) -> dict[str, Any]:
    """Go through a step's rollouts; return the most memory of each stage in bytes."""
    config = Config()
    requests = max(1, tokens // (COUNT * response))
    before = resident()
    stages: dict[str, int] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "run", msgspec.to_builtins(config), {}) as store,
    ):
        peak()
        for number in range(requests):
            request = Request(f"r{number}", "solver", (Message("user", "x"),), count=COUNT, trains=True)
            store.add_requests(1, [RequestRecord(request, "solve", "e", 0, 0)])
            for sample in samples_of(number, response, prompt):
                store.add_sample(1, sample)
                store.add_scores(1, {(sample.request_id, sample.index): Score(float(sample.index % 2))})
        stages["written to the store"] = peak() - before
        groups = solver_groups(store, 1)
        stages["read back as groups"] = peak() - before
        batch = build_batch(groups, config.training)
        stages["built into a batch"] = peak() - before
        learner = Learner(cast(Cluster, Answers()), config, 1)
        learner.learn(batch, 1e-6)
        stages["update"] = peak() - before
        total = requests * COUNT * response
        assert learner.tally.fed_tokens == total + requests * COUNT * prompt
    return {"tokens": total, "bytes": stages}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", default="1000000,4000000,9400000")
    parser.add_argument("--response", type=int, default=2000)
    parser.add_argument("--prompt", type=int, default=500)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        print(json.dumps(measure(arguments.child, arguments.response, arguments.prompt)))
        return
    results = []
    for tokens in arguments.tokens.split(","):
        lengths = ["--response", str(arguments.response), "--prompt", str(arguments.prompt)]
        child = [sys.executable, __file__, "--child", tokens, *lengths]
        results.append(json.loads(subprocess.run(child, check=True, capture_output=True, text=True).stdout))
    heads = [f"{result['tokens'] / 1e6:.1f}M tokens" for result in results]
    print(f"| MB (bytes a token) | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for stage in results[0]["bytes"]:
        cells = [
            f"{result['bytes'][stage] / 1e6:.0f} ({result['bytes'][stage] / result['tokens']:.0f})"
            for result in results
        ]
        print(f"| {stage} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
