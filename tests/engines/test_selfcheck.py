"""`evoenv doctor --engine`: an engine is tried out, and what fails is told."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from subjects import scripted_answer

from evoenv.assembly import open_policy
from evoenv.cli import main
from evoenv.config import load_config
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.engines.selfcheck import SelfCheck
from evoenv.objective import Batch
from evoenv.ports import Policy
from evoenv.records import Request, Sample

STEPS = ["start", "sample", "sample again", "update", "new weights", "save", "load", "close"]


def test_an_engine_that_works_passes_every_step(tmp_path: Path) -> None:
    config = load_config(overrides=["model.name=tiny-test", "model.dtype=float32"])

    def open_engine(directory: Path) -> Policy:
        return open_policy(config, learns=True, run_directory=directory, progress=False)

    findings = {finding.name: finding for finding in SelfCheck(config, open_engine, tmp_path).run()}
    assert list(findings) == STEPS
    assert all(finding.ok for finding in findings.values())
    assert "16 of 16 samples are the same" in findings["sample again"].detail
    assert "sampler and trainer differ by" in findings["new weights"].detail


class Mismatched(ScriptedPolicy):
    """Its trainer sees other weights than its sampler."""

    def update(self, batch: Batch) -> Mapping[str, float]:
        return {
            **super().update(batch),
            "update/skipped": 0.0,
            "loss/total": 0.1,
            "grad/norm": 1.0,
            "logprob/gap_mean": 0.3 if self.step > 1 else 0.0,
            "logprob/gap_max": 2.0,
        }


class Stale(Mismatched):
    """Never gets new weights to its sampler."""

    def answer(self, request: Request, index: int) -> Sample:
        return dataclasses.replace(super().answer(request, index), version=0)


class Broken(ScriptedPolicy):
    def update(self, batch: Batch) -> Mapping[str, float]:
        raise RuntimeError("device-side assert")


@pytest.mark.parametrize(
    ("engine", "step", "words"),
    [
        (Mismatched, "new weights", "differ by 0.3 on average"),
        (Stale, "new weights", "samples of version {0} came, expected 1"),
        (Broken, "update", "RuntimeError: device-side assert"),
    ],
)
def test_the_first_step_that_fails_is_the_last_but_closing(
    engine: type[ScriptedPolicy], step: str, words: str, tmp_path: Path
) -> None:
    def open_engine(directory: Path) -> Policy:
        return engine(scripted_answer, checkpoints=directory / "checkpoints")

    *_, failed, closed = SelfCheck(load_config(), open_engine, tmp_path).run()
    assert (failed.name, failed.ok) == (step, False)
    assert words in failed.detail
    assert (closed.name, closed.ok) == ("close", True)


@pytest.mark.slow
def test_the_command_prints_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--engine", "local", "--set", "model.name=tiny-test", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is True
    assert [finding["name"] for finding in report["findings"]] == STEPS
    assert report["versions"]["torch"]
