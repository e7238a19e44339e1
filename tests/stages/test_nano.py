"""The loop with the shipped policy: real candidates, real admissions, real learning, in minutes on two cores."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch")

from evoenv.config import load_config
from evoenv.evaluation import environment_suite, evaluate
from evoenv.policy.embedder import MiniLMEmbedder
from evoenv.policy.local.policy import LocalPolicy
from evoenv.policy.models import NANO_DIRECTORY, resolve_model
from evoenv.pool.store import Store
from evoenv.presets import preset
from evoenv.run import advance, create, prepare
from evoenv.sandbox.host import Sandbox

pytestmark = [pytest.mark.slow, pytest.mark.model, pytest.mark.timeout(900)]

STEPS = 18
BEYOND_NOISE = 2.0
"""Standard errors."""
# Few candidates, a narrow gate and no rotation keep the pool so small that each environment is met in most steps:
# eighteen steps on a pool of a hundred move nothing that could be told from noise.
SETTINGS = [
    f"run.steps={STEPS}", "run.seed=1", "run.checkpoint_every=100", "generator.prompts=1", "novelty.gate=0.65",
    "pool.rotate_every=100", "solver.prompts=32",
]  # fmt: skip


def test_the_weights_ship_with_their_recipe_and_are_small() -> None:
    assert resolve_model("nano", offline=True) == NANO_DIRECTORY
    assert sum(path.stat().st_size for path in NANO_DIRECTORY.iterdir()) <= 20_000_000
    record = json.loads((NANO_DIRECTORY / "warm-start.json").read_text())
    assert 5_000_000 <= record["parameters"] <= 15_000_000
    assert record["recipe"]["data"]["families"] == "basic"
    assert record["stages"][-1]["checks"][-1]["abilities"]["generator"]["reach_l5"] > 0


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def trained(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LocalPolicy]:
    """A run of the `nano` preset with a fixed seed, and the policy that came out of it."""
    config = load_config(preset("nano"), overrides=SETTINGS)
    directory = tmp_path_factory.mktemp("nano") / "run"
    policy = LocalPolicy.open(config.model, config.training, seed=config.run.seed)
    store, config = create(directory, config)
    with prepare(store, config, policy, sandbox, MiniLMEmbedder(config.novelty.embedder, device="cpu")) as run:
        advance(run)
    return directory, policy


@pytest.fixture(scope="module")
def start() -> LocalPolicy:
    """The policy as it ships."""
    return LocalPolicy.open(load_config(preset("nano")).model, None, seed=0)


def test_the_loop_admits_environments_that_the_policy_wrote(trained: tuple[Path, LocalPolicy]) -> None:
    with Store.read(trained[0]) as store:
        admitted = [record for record in store.environments() if not record.original]
        assert store.last_step() == STEPS
        assert len(admitted) >= 3
        assert {report.layer for step in range(1, STEPS + 1) for report in store.reports(step).values()} >= {0, 5}
        assert all(record.candidate_id for record in admitted)
        assert all(value > 0 for _, value in store.metric("groups/kept")), "every step had something to learn from"
        assert all(value == 0 for _, value in store.metric("update/skipped"))


def test_the_solver_becomes_better_on_its_own_pool(
    trained: tuple[Path, LocalPolicy], start: LocalPolicy, sandbox: Sandbox
) -> None:
    """Fresh instances of the environments that the run ended with, the same for both."""
    directory, policy = trained
    suite = environment_suite(f"run:{directory}", difficulties=[0], instances=50, seed=5)
    before, after = (
        evaluate(one, sandbox, suite, samples=1, temperature=1.0, top_p=1.0, max_tokens=160) for one in (start, policy)
    )
    gains = [new.correct[0] - old.correct[0] for old, new in zip(before.items, after.items, strict=True)]
    assert statistics.mean(gains) > BEYOND_NOISE * standard_error(gains), (before.accuracy, after.accuracy)


def standard_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / len(values) ** 0.5
