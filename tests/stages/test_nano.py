"""The loop with the shipped policy: real candidates, real admissions, real updates, in minutes on two cores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

from evoenv.config import Config, load_config
from evoenv.policy.embedder import HashingEmbedder
from evoenv.policy.local.policy import LocalPolicy
from evoenv.policy.models import NANO_DIRECTORY, resolve_model
from evoenv.pool.store import Store
from evoenv.presets import preset
from evoenv.run import advance, create, prepare
from evoenv.sandbox.host import Sandbox

pytestmark = [pytest.mark.slow, pytest.mark.model]

STEPS = 4


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
        assert len(admitted) >= 5  # measured: 28 after four steps
        assert {report.layer for step in range(1, STEPS + 1) for report in store.reports(step).values()} >= {0, 1, 5}
        assert all(record.candidate_id for record in admitted)
        assert all(value > 0 for _, value in store.metric("groups/kept")), "every step had something to learn from"
        assert all(value == 0 for _, value in store.metric("update/skipped"))
