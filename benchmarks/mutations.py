"""Ten thousand mutated seeds in a row: host crashes, leaked processes and descriptors, memory, speed.

    python benchmarks/mutations.py [--count 10000] [--first 0] [--jobs N]

`--first` skips mutants, so that they can be run in pieces.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from evoenv.sandbox.host import Sandbox
from evoenv.validation.validate import validate
from tests.validation.mutants import mutant


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def descendants() -> int:
    return sum(len((task / "children").read_text().split()) for task in Path("/proc/self/task").iterdir())


def state() -> dict[str, float]:
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "children": descendants(),
        "resident MB": round(resident_mb(), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants judged at once (default: all cores)")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    layers: collections.Counter[int] = collections.Counter()
    codes: collections.Counter[str] = collections.Counter()
    history = []
    started = time.perf_counter()
    with Sandbox() as sandbox, ThreadPoolExecutor(arguments.jobs) as pool:
        block = max(1, min(500, arguments.count // 10))
        for done in range(0, arguments.count, block):
            indices = range(arguments.first + done, arguments.first + min(done + block, arguments.count))
            for report in pool.map(lambda index: validate(mutant(index), sandbox), indices):
                layers[report.layer] += 1
                codes.update(one.code for one in report.findings)
            judged = done + len(indices)
            history.append({"done": judged, **state()})
            rate = judged / (time.perf_counter() - started) * 60
            print(f"{judged:6d} done, {rate:6.0f} a minute, {history[-1]}", file=sys.stderr)
    result = {
        "first": arguments.first,
        "count": arguments.count,
        "per minute": round(arguments.count / (time.perf_counter() - started) * 60),
        "layers": dict(sorted(layers.items())),
        "codes": dict(codes.most_common()),
        "history": history,
        "after closing": state(),
    }
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        for key, value in result.items():
            if key != "history":
                print(f"{key}: {value}")


if __name__ == "__main__":
    main()
