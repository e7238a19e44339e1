"""How much memory the driver takes for the rollouts of a step, by the number of tokens.

    python benchmarks/driver_memory.py [--tokens 1000000,4000000] [--response 2000] [--prompt 500]

A step's samples are made up, written to a run's store and read back as the update reads them, built into a batch, and
laid out as the columns that the verl engine sends to its training processes. Each size runs in a process of its own;
what is printed is the resident memory beyond that of the imports, and bytes per response token.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from evoenv.config import Config
from evoenv.engines.verl.columns import columns_of, padded
from evoenv.objective import build_batch
from evoenv.records import Group, Message, Request, Rollout, Sample, Score
from evoenv.stages.groups import solver_groups
from evoenv.store.store import RequestRecord, Store

COUNT = 8


def resident() -> int:
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * 4096


def peak() -> int:
    """The most that it ever was, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def samples_of(number: int, response: int, prompt: int) -> Iterator[Sample]:
    """Make up the samples of one request."""
    source = random.Random(number)
    prompt_ids = array("i", source.choices(range(1000), k=prompt))
    for index in range(COUNT):
        token_ids = array("i", source.choices(range(1000), k=response))
        logprobs = array("d", (-source.random() for _ in range(response)))
        rollout = Rollout.of(prompt_ids, token_ids, logprobs)
        yield Sample(f"r{number}", index, "", "stop", response, 0, rollout)


def measure(tokens: int, response: int, prompt: int) -> dict[str, Any]:
    """Go through a step's rollouts; return memory in bytes after each stage."""
    config = Config()
    requests = max(1, tokens // (COUNT * response))
    total = requests * COUNT * response
    before = resident()
    stages: dict[str, int] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder) / "run", msgspec.to_builtins(config), {}) as store,
    ):
        for number in range(requests):
            request = Request(f"r{number}", "solver", (Message("user", "x"),), count=COUNT, trains=True)
            samples = list(samples_of(number, response, prompt))
            store.add_requests(1, [RequestRecord(request, "solve", "e", 0, 0)])
            for sample in samples:
                store.add_sample(1, sample)
            scores = {(sample.request_id, sample.index): Score(float(sample.index % 2)) for sample in samples}
            store.add_scores(1, scores)
            del samples
        stages["all samples written to the store"] = resident() - before
        groups: list[Group] = solver_groups(store, 1)
        stages["read back as groups"] = resident() - before
        batch = build_batch(groups, config.training)
        stages["built into a batch"] = resident() - before
        columns = columns_of(padded(batch.minibatches[0], 8))
        stages["laid out as columns"] = resident() - before
        assert columns["input_ids"].values().numel() == total + requests * COUNT * prompt
    stages["peak"] = peak() - before
    return {"tokens": total, "bytes": stages}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", default="1000000,4000000")
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
