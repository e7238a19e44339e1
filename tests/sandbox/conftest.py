"""Shared sandboxes: starting one costs a tenth of a second, and no test changes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evoenv.sandbox.host import Limits, Sandbox

# Helpers of these tests are plain files beside them, whatever import mode pytest is in.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "attacks")]

RAW_RUNTIME = Path(__file__).parent / "attacks" / "raw_runtime.py"
QUICK = Limits(cpu_s=0.2, wall_s=5.0, memory_mb=96, reply_mb=4, deaths_per_call=4)

ADDITION = """
import random

class Addition(VerifiableEnvironment):
    prompt_template = "What is {a} + {b}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"a": rng.randint(0, 10 ** (difficulty + 1)), "b": rng.randint(0, 9)}
        return z, z["a"] + z["b"]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("sandbox")
            if sys.platform != "linux":
                item.add_marker(pytest.mark.skip(reason="the sandbox needs Linux: run this test there"))


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """The real thing with short limits."""
    with Sandbox(QUICK) as opened:
        yield opened


@pytest.fixture(scope="session")
def raw() -> Iterator[Sandbox]:
    """Every wall of the kernel's, none of Python's: calls run functions of the source by name."""
    with Sandbox(QUICK, runtime=RAW_RUNTIME) as opened:
        yield opened


@pytest.fixture
def addition() -> str:
    return ADDITION
