"""Verdicts do not depend on what else the machine does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from evoenv.environment.seeds import seed_source
from evoenv.errors import MachineTooSlow
from evoenv.sandbox.host import Limits, Sandbox
from evoenv.validation import evidence
from evoenv.validation.validate import validate

pytestmark = pytest.mark.sandbox

ZOO = Path(__file__).parents[1] / "zoo"
WAITS = """
import random

class Waits(VerifiableEnvironment):
    def _generate(self, seed, difficulty):
        n = random.Random(seed).randint(0, 10**6 * (difficulty + 1))
        return {"n": n}, 2 * n
    def _prompt_generate(self, z):
        return f"How much is twice {z['n']}?"
    def _process(self, y):
        return y.strip()
    def scorer(self, y, z, a):
        if self._process(y) != str(a):
            getattr(random, "_o" + "s").read(0, 1)
        return 1.0
"""


def test_a_machine_that_gives_no_time_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "MACHINE_PATIENCE", 0.0)
    with Sandbox() as sandbox, pytest.raises(MachineTooSlow, match="undecided"):
        validate(seed_source("Sorting"), sandbox)


def test_time_that_the_candidate_itself_waits_away_is_its_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    call = evidence.Evidence.call

    def until_it_waits(self: evidence.Evidence, *arguments: Any, **others: Any) -> Any:
        outcomes = call(self, *arguments, **others)
        if self.waited:  # and with that the layer's time is over, however long it took on this machine
            self.wall_deadline = time.monotonic()
        return outcomes

    monkeypatch.setattr(evidence.Evidence, "call", until_it_waits)
    with Sandbox(Limits(wall_s=1.0, deaths_per_call=4)) as sandbox:
        report = validate(WAITS, sandbox)
    assert report.layer == 4
    assert {one.code for one in report.findings} & {"L5.scorer-slow"}


def test_a_layers_time_is_the_workers_cpu_time() -> None:
    with Sandbox() as sandbox:
        report = validate((ZOO / "sound" / "matrix_product.py").read_text(), sandbox, layer_seconds=0.002)
    assert [one.code for one in report.findings] == ["L2.too-slow"]
    assert "CPU time" in report.findings[0].message
