"""The loop with the shipped policy: real candidates, real admissions, real learning, in minutes on two cores."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch")

from evoenv.config import load_config
from evoenv.engines.local.policy import LocalPolicy
from evoenv.evaluation import environment_suite, evaluate
from evoenv.models.embedder import MiniLMEmbedder
from evoenv.models.resolve import NANO_DIRECTORY, resolve_model
from evoenv.presets import preset
from evoenv.run import advance, create, prepare
from evoenv.sandbox.host import Sandbox
from evoenv.stages.admitting import decide
from evoenv.stages.judgement import judge
from evoenv.stages.synthesis import synthesise
from evoenv.store.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.model, pytest.mark.timeout(1800)]

STEPS = 14
BEYOND_NOISE = 2.0
"""Standard errors."""
# A narrow gate and no rotation keep the pool so small that each environment is met in most steps: a few steps on a pool
# of a hundred move nothing that could be told from noise.
SMALL_POOL = ["novelty.gate=0.65", "pool.rotate_every=100"]
SETTINGS = [
    *SMALL_POOL, f"run.steps={STEPS}", "run.seed=1", "run.checkpoint_every=100", "generator.prompts=6",
    "solver.prompts=24", "training.warmup_steps=3",
]  # fmt: skip
# Fresh candidates, three prompts for each of the ten originals on average.
PROBE = [*SMALL_POOL, "run.seed=77", "generator.prompts=30"]


def test_the_weights_ship_with_their_recipe_and_are_small() -> None:
    assert resolve_model("nano", offline=True) == NANO_DIRECTORY
    assert sum(path.stat().st_size for path in NANO_DIRECTORY.iterdir()) <= 20_000_000
    record = json.loads((Path(__file__).parents[2] / "docs/nano/warm-start.json").read_text())
    assert 5_000_000 <= record["parameters"] <= 15_000_000
    assert [stage["recipe"]["data"]["families"] for stage in record["stages"]] == ["basic", "paired", "paired"]
    assert record["stages"][-1]["checks"][-1]["abilities"]["generator"]["reach_l5"] > 0


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


# One test, because the run takes minutes and another process would repeat it.
def test_the_loop_admits_environments_and_both_roles_become_better(sandbox: Sandbox, tmp_path: Path) -> None:
    config = load_config(preset("nano"), overrides=SETTINGS)
    embedder = MiniLMEmbedder(config.novelty.embedder, device="cpu")
    start = LocalPolicy.open(config.model, None, seed=0)
    checkpoints = tmp_path / "run" / "checkpoints"
    trained = LocalPolicy.open(config.model, config.training, checkpoints=checkpoints, seed=config.run.seed)
    store, config = create(tmp_path / "run", config)
    with prepare(store, config, trained, sandbox, embedder) as run:
        advance(run)
    check_run(tmp_path / "run")

    # The solver, on fresh instances of the environments that the run ended with.
    suite = environment_suite(f"run:{tmp_path / 'run'}", difficulties=[0], instances=40, seed=5)
    right = [
        [item.correct[0] for item in evaluate(one, sandbox, suite, samples=1, max_tokens=160, **PLAIN).items]
        for one in (start, trained)
    ]
    assert rise(*right) > BEYOND_NOISE, [statistics.mean(values) for values in right]

    # The generator, on equal terms: inside the run novelty falls as the pool fills, and the solver changes.
    rewards = [
        generator_rewards(tmp_path / name, one, sandbox, embedder)
        for name, one in (("before", start), ("after", trained))
    ]
    assert rise(*rewards) > BEYOND_NOISE, [statistics.mean(values) for values in rewards]


PLAIN = {"temperature": 1.0, "top_p": 1.0}


def generator_rewards(directory: Path, policy: LocalPolicy, sandbox: Sandbox, embedder: MiniLMEmbedder) -> list[float]:
    """What the policy's candidates earn as the first ones of a run, in the order of prompts and samples."""
    store, config = create(directory, load_config(preset("nano"), overrides=PROBE))
    with prepare(store, config, policy, sandbox, embedder, training=False) as run:
        proposed = synthesise(run, 1, run.store.pool())
        return [decision.reward for decision in decide(run, 1, proposed, judge(run, 1, proposed))]


def check_run(directory: Path) -> None:
    """It admitted what the policy wrote, and learnt something in every step."""
    with Store.read(directory) as store:
        admitted = [record for record in store.environments() if not record.original]
        assert store.last_step() == STEPS
        assert len(admitted) >= 3
        assert {report.layer for step in range(1, STEPS + 1) for report in store.reports(step).values()} >= {0, 5}
        assert all(record.candidate_id for record in admitted)
        assert all(value > 0 for _, value in store.metric("groups/kept")), "every step had something to learn from"
        assert all(value == 0 for _, value in store.metric("update/skipped"))


def rise(before: Sequence[float], after: Sequence[float]) -> float:
    """How much larger the mean is afterwards, in standard errors of pairs."""
    gains = [new - old for old, new in zip(before, after, strict=True)]
    return statistics.mean(gains) / (statistics.stdev(gains) / len(gains) ** 0.5)
