"""Runs of a comparison with a scripted policy instead of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loop_support import ORIGINALS, configuration, environment, respond

from evoenv.comparison import single
from evoenv.comparison.plan import ComparisonPlan, RunPlan, SuiteSettings, run_settings
from evoenv.config import load_config, to_mapping
from evoenv.engines.checkpoints import FOLDER
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.records import Request


class Learning(ScriptedPolicy):
    """Evaluated, it is wrong until it was updated twice."""

    def _text(self, request: Request, index: int) -> str:
        text = super()._text(request, index)
        return text if self.step >= 2 or "/" not in request.id else "<answer>wrong</answer>"


class Scripts:
    """Policies by script instead of models: what they answer, and every one that was opened."""

    def __init__(self) -> None:
        self.answer: Callable[[Request, int], str] = respond
        self.opened: list[ScriptedPolicy] = []

    def open(self, run_directory: Path) -> ScriptedPolicy:
        self.opened.append(Learning(self.answer, checkpoints=run_directory / FOLDER))
        return self.opened[-1]


def install(monkeypatch: pytest.MonkeyPatch) -> Scripts:
    """Let the runs of a comparison be driven by scripts instead of models."""
    scripts = Scripts()

    def policy(session: Any) -> ScriptedPolicy:
        if session._policy is None:
            session._policy = scripts.open(session.store.directory)
        policy: ScriptedPolicy = session._policy
        return policy

    monkeypatch.setattr(single._Session, "policy", property(policy))
    return scripts


def scripted_plan(place: Path, steps: int, *names: str) -> ComparisonPlan:
    """Plan short runs on environments in `place`, with a suite of one environment."""
    (place / "held").mkdir(exist_ok=True)
    (place / "held" / "Probe.py").write_text(environment("Probe", "origin", 5))
    (place / "train").mkdir(exist_ok=True)
    for name, source in ORIGINALS.items():
        (place / "train" / f"{name}.py").write_text(source)
    settings = {"curriculum": {"environments": str(place / "train")}, "novelty": {"embedder": "hashing"},
                "solver": {"prompts": 3, "responses_per_prompt": 2}}  # fmt: skip

    def config(name: str) -> dict[str, object]:
        layers = to_mapping(configuration(**settings))
        return to_mapping(load_config(layers, overrides=run_settings(name, 0, steps, 0)))

    return ComparisonPlan(
        model="scripted",
        steps=steps,
        eval_every=2,
        evaluation=SuiteSettings(suites=(str(place / "held"),), difficulties=(0, 1), instances=2, samples=3),
        runs=tuple(RunPlan(curriculum=name, seed=0, config=config(name)) for name in names),
    )
