"""The loop with the shipped policy: real candidates, real admissions, real learning, in minutes on two cores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import pytest

pytest.importorskip("torch")

from evoenv.config import Config, load_config
from evoenv.evaluation import EnvironmentSuite, Evaluation, SuiteEnvironment, evaluate
from evoenv.policy.embedder import HashingEmbedder
from evoenv.policy.local.policy import LocalPolicy
from evoenv.policy.models import NANO_DIRECTORY, resolve_model
from evoenv.pool.store import Store
from evoenv.presets import preset
from evoenv.run import advance, create, prepare
from evoenv.sandbox.host import Sandbox

pytestmark = [pytest.mark.slow, pytest.mark.model]

STEPS = 10


def test_the_weights_ship_with_their_recipe_and_are_small() -> None:
    assert resolve_model("nano", offline=True) == NANO_DIRECTORY
    assert sum(path.stat().st_size for path in NANO_DIRECTORY.iterdir()) <= 20_000_000
    record = json.loads((NANO_DIRECTORY / "warm-start.json").read_text())
    assert 5_000_000 <= record["parameters"] <= 15_000_000
    assert record["recipe"]["data"]["families"] == "basic"
    assert record["stages"][-1]["checks"][-1]["abilities"]["generator"]["reach_l5"] > 0


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config(preset("nano"), overrides=[f"run.steps={STEPS}", "run.seed=1", "run.checkpoint_every=100"])


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def trained(config: Config, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LocalPolicy]:
    directory = tmp_path_factory.mktemp("nano") / "run"
    policy = LocalPolicy.open(config.model, config.training, seed=config.run.seed)
    store, config = create(directory, config)
    with prepare(store, config, policy, sandbox, HashingEmbedder()) as run:
        advance(run)
    return directory, policy


@pytest.mark.timeout(900)
def test_the_loop_admits_environments_that_the_policy_wrote(trained: tuple[Path, LocalPolicy]) -> None:
    with Store.read(trained[0]) as store:
        admitted = [record for record in store.environments() if not record.original]
        assert store.last_step() == STEPS
        assert len(admitted) >= 5
        assert all(record.candidate_id for record in admitted)
        assert mean(value for _, value in store.metric("groups/kept")) > 0


@pytest.mark.timeout(900)
def test_the_solver_gets_better_on_its_own_pool_beyond_noise(
    trained: tuple[Path, LocalPolicy], config: Config, sandbox: Sandbox
) -> None:
    directory, policy = trained
    with Store.read(directory) as store:
        pool = [
            SuiteEnvironment(record.id, store.source(record.id) or "", name=record.name)
            for record in store.environments()
        ]
    suite = EnvironmentSuite("its own pool", pool, [0], 12, seed=7)

    def ask(asked: LocalPolicy) -> Evaluation:
        return evaluate(asked, sandbox, suite, samples=2, temperature=1.0, top_p=1.0, max_tokens=160)

    before, after = ask(LocalPolicy.open(config.model)), ask(policy)
    gains = [mean(new.scores) - mean(old.scores) for old, new in zip(before.items, after.items, strict=True)]
    assert mean(gains) > 2 * _standard_error(gains), (before.accuracy, after.accuracy)


def _standard_error(values: list[float]) -> float:
    middle = mean(values)
    return float((sum((value - middle) ** 2 for value in values) / (len(values) - 1) / len(values)) ** 0.5)
