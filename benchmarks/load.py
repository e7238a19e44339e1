"""Do verdicts depend on the load? The same suite twice: as it is, and beside busy loops.

    python benchmarks/load.py SUITE [--allow-module M]… [--sample N] [--loops 2] [--jobs 1]

`--sample` takes N sets, evenly spread over the suite. Prints the layer and codes of every set, every set for which
they differ, and the wall clock of both audits. Exit 0 only if none differs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evoenv.assembly import open_sandbox
from evoenv.suite_audit.suites import Member, read_suite
from evoenv.suite_audit.verdicts import audit


def judge(members: list[Member], modules: tuple[str, ...], jobs: int) -> dict[str, tuple[int | None, list[str]]]:
    """Return layer and codes of every set."""
    with tempfile.TemporaryDirectory() as directory, open_sandbox(modules=modules, workers=jobs) as sandbox:
        verdicts = audit(members, sandbox, Path(directory), workers=jobs)
    return {
        verdict.name: (verdict.layer, sorted(finding["code"] for finding in verdict.findings)) for verdict in verdicts
    }


def spread(members: list[Member], count: int) -> list[Member]:
    """Choose `count` members, evenly spread; all of them if there are no more."""
    if count >= len(members):
        return members
    return [members[index * len(members) // count] for index in range(count)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("--allow-module", action="append", default=[])
    parser.add_argument("--sample", type=int, metavar="N", help="how many sets (default: all)")
    parser.add_argument("--loops", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    members, modules = read_suite(arguments.suite, arguments.allow_module)
    members = spread(members, arguments.sample or len(members))
    started = time.monotonic()
    quiet = judge(members, modules, arguments.jobs)
    between = time.monotonic()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.loops)]
    try:
        busy = judge(members, modules, arguments.jobs)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    calm, crowded = between - started, time.monotonic() - between
    print(f"{len(quiet)} sets: {calm:.0f} s as it is, {crowded:.0f} s beside {len(loops)} loops")
    for name, (layer, codes) in quiet.items():
        print(f"  {name}: L{layer} {' '.join(codes)}".rstrip())
    different = [name for name in quiet if quiet[name] != busy[name]]
    for name in different:
        print(f"{name}: {quiet[name]} as it is, {busy[name]} beside the loops")
    print(f"{len(different)} verdicts differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
