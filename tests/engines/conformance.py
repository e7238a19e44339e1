"""What every engine must do: one suite for all of them, without pytest, so that it runs wherever an engine does.

    python tests/engines/conformance.py MODULE:SUBJECT DIRECTORY [CHECK…]

A subject says how to open the engine's policy and what the engine promises (`Subject`); `subjects.py` has those of the
engines that are shipped. DIRECTORY is the engine's own: its checkpoints go there, and a policy opened again in the same
directory finds them. The test files run the same checks under pytest, one test each. The checks are in
`conformance_sampling.py` and `conformance_learning.py`, in this order.
"""

from __future__ import annotations

import argparse
import importlib
import traceback
from collections.abc import Sequence
from pathlib import Path

import conformance_sampling  # noqa: F401 - enters its checks, which come first
from conformance_learning import die_after_saving
from conformance_tools import CHECKS, TRAINING, Bench, Check, Subject, agree, ask, batch_of, fingerprint

__all__ = ["CHECKS", "TRAINING", "Bench", "Check", "Subject", "agree", "ask", "batch_of", "fingerprint", "main"]


def find_subject(name: str) -> Subject:
    module, _, attribute = name.partition(":")
    subject: Subject = getattr(importlib.import_module(module), attribute)
    return subject


def run(subject: Subject, directory: Path, wanted: Sequence[str] = ()) -> int:
    """Run the checks, print one line for each, and return how many failed."""
    failed = 0
    bench = Bench(subject, directory)
    try:
        for item in CHECKS:
            if wanted and item.__name__ not in wanted:
                continue
            try:
                item(bench)
                print(f"ok      {item.__name__}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {item.__name__}\n{traceback.format_exc()}", flush=True)
    finally:
        bench.close()
    print(f"{subject.name}: {failed} failed")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subject", metavar="MODULE:SUBJECT")
    parser.add_argument("directory", type=Path)
    parser.add_argument("checks", nargs="*", metavar="CHECK")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    subject = find_subject(arguments.subject)
    if arguments.child:
        die_after_saving(subject, arguments.directory)
    raise SystemExit(bool(run(subject, arguments.directory, arguments.checks)))


if __name__ == "__main__":
    main()
