"""Mutated seeds in a row: no host crash, nothing left behind. `benchmarks/mutations.py` runs ten thousand."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evoenv.sandbox.host import Sandbox
from evoenv.sandbox.outcomes import Limits
from evoenv.validation.codes import CODES
from evoenv.validation.validate import validate
from tests.validation.mutants import mutant


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> set[str]:
    return {child for task in Path("/proc/self/task").iterdir() for child in (task / "children").read_text().split()}


def run(indices: range) -> list[int]:
    """Layers reached by the mutants, in one sandbox that is closed at the end."""
    with Sandbox(limits=Limits(cpu_s=1.0)) as sandbox, ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda index: validate(mutant(index), sandbox), indices))
    for report in reports:
        assert 0 <= report.layer <= 5
        assert bool(report.findings) == (report.layer < 5)
        assert all(one.code in CODES and one.layer == report.layer + 1 for one in report.findings)
    return [report.layer for report in reports]


@pytest.mark.sandbox
def test_mutants_are_judged_and_leave_nothing_behind(thorough: bool) -> None:
    run(range(2))  # whatever is opened once and kept
    before = descriptors(), children()
    layers = run(range(40 if thorough else 12))
    assert (descriptors(), children()) == before
    assert len(set(layers)) >= 3, "mutations should fail at several layers"


@pytest.mark.long
@pytest.mark.sandbox
def test_hundreds_of_mutants_are_judged_and_leave_nothing_behind() -> None:
    run(range(2))
    before = descriptors(), children()
    layers = run(range(40, 440))
    assert (descriptors(), children()) == before
    assert set(layers) == {0, 1, 3, 4, 5} | set(layers)
