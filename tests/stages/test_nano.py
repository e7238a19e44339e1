"""The loop with the shipped policy: real candidates, real admissions, real learning.

Two steps show that the update goes the right way; that both roles become better takes minutes, and is `long`.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch", reason="needs PyTorch, to run the shipped model: pip install 'evoenv[local]'")

import torch

from evoenv.config import load_config
from evoenv.engines.local.policy import LocalPolicy
from evoenv.evaluation import environment_suite, evaluate
from evoenv.models.embedder import MiniLMEmbedder
from evoenv.models.resolve import NANO_DIRECTORY, resolve_model
from evoenv.objective import Batch, group_advantages
from evoenv.presets import preset
from evoenv.records import Group, Role, Rollout
from evoenv.run import advance, create, prepare
from evoenv.sandbox.host import Sandbox
from evoenv.stages.admitting import decide
from evoenv.stages.judgement import judge
from evoenv.stages.synthesis import synthesise
from evoenv.store.store import Store
from evoenv.warmstart.recipe import load_recipe

pytestmark = [pytest.mark.slow, pytest.mark.model]

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
FEW_STEPS = [
    *SMALL_POOL, "run.steps=2", "run.seed=1", "run.checkpoint_every=100", "generator.prompts=5", "solver.prompts=16",
    "calibration.instances=2", "training.warmup_steps=0",
]  # fmt: skip
# Fresh candidates, fifteen prompts for each of the ten originals on average.
PROBE = [*SMALL_POOL, "run.seed=77", "generator.prompts=150"]


def test_the_weights_ship_with_their_recipe_and_are_small() -> None:
    assert resolve_model("nano", offline=True) == NANO_DIRECTORY
    assert sum(path.stat().st_size for path in NANO_DIRECTORY.iterdir()) <= 20_000_000
    record = json.loads((Path(__file__).parents[2] / "docs/nano/warm-start.json").read_text())
    assert 5_000_000 <= record["parameters"] <= 15_000_000
    stages, recipe = record["stages"], load_recipe("nano").stages()
    assert [stage["recipe"]["learn"] for stage in stages] == [msgspec.to_builtins(stage.learn) for stage in recipe]
    abilities = stages[-1]["checks"][-1]["abilities"]
    assert abilities["generator"]["reach_l5"] > 0
    assert abilities["programmer"]["corpus:basic"]["accuracy"] > 0


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder(load_config(preset("nano")).novelty.embedder, device="cpu")


def test_the_loop_admits_environments_and_an_update_favours_what_earned_more(
    sandbox: Sandbox, embedder: MiniLMEmbedder, tmp_path: Path
) -> None:
    """Run two steps and see what each update did to its own samples, role by role.

    The samples are the same before and after, and a step along their own gradient raises the likelihood of those above
    their group's mean against the others, whichever samples a machine draws: the outcome does not hang on chance, but
    on the update's direction. Signs are counted, which one large gain cannot outweigh. Measured with six seeds: 84 to
    88% of the generator's samples and 76 to 90% of the solver's moved the right way, 6.0 to 10.5 standard errors
    beyond one half.
    """
    policy = run_loop(tmp_path / "run", FEW_STEPS, sandbox, embedder, watched=True)
    check_run(tmp_path / "run", steps=2, admitted=1)
    for role, favour in policy.favour.items():
        assert len(favour) >= 32, f"too few samples of the {role} differ in their rewards"
        assert statistics.mean(value > 0 for value in favour) > 0.5, role


# One test, because the run takes minutes and another process would repeat it.
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_both_roles_become_better_in_the_loop(sandbox: Sandbox, embedder: MiniLMEmbedder, tmp_path: Path) -> None:
    """Run fourteen steps, and measure each role before and after on the same fresh prompts.

    A fixed seed; rounding differs between processors, and then so do the samples. Measured with a quarter of the
    instances and a fifth of the candidates: 3.5 standard errors for the solver and 3.2 for the generator; with all
    instances 7.6 for the solver.
    """
    start = LocalPolicy.open(load_config(preset("nano")).model, None, seed=0)
    trained = run_loop(tmp_path / "run", SETTINGS, sandbox, embedder)
    check_run(tmp_path / "run", steps=STEPS, admitted=3)

    # The solver, on fresh instances of the environments that the run ended with.
    suite = environment_suite(f"run:{tmp_path / 'run'}", difficulties=[0], instances=160, seed=5)
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


class Watched(LocalPolicy):
    """A policy that measures what each of its updates did to the samples that it learnt from."""

    watched = False
    favour: dict[Role, list[float]]

    def update(self, batch: Batch) -> Mapping[str, float]:
        metrics = super().update(batch)
        if self.watched:
            for group in batch.groups:
                self.favour[group.role].extend(favours(self, group))
        return metrics


def run_loop(
    directory: Path, settings: Sequence[str], sandbox: Sandbox, embedder: MiniLMEmbedder, *, watched: bool = False
) -> Watched:
    """Train through a whole run."""
    store, config = create(directory, load_config(preset("nano"), overrides=settings))
    checkpoints = directory / "checkpoints"
    policy = Watched.open(config.model, config.training, checkpoints=checkpoints, seed=config.run.seed)
    assert isinstance(policy, Watched)
    policy.watched, policy.favour = watched, {"generator": [], "solver": []}
    with prepare(store, config, policy, sandbox, embedder) as run:
        advance(run)
    return policy


def favours(policy: LocalPolicy, group: Group) -> list[float]:
    """Return each sample's advantage times how much likelier it became, by token, beyond its group.

    Empty if all earned the same. What a whole group gains or loses favours nobody in it, and would only be noise.
    """
    advantages = group_advantages(group.rewards)
    gains = [
        statistics.mean(token_logprobs(policy, sample.rollout)) - statistics.mean(sample.rollout.logprobs)
        for sample in group.samples
        if sample.rollout is not None and any(advantages)
    ]
    return [
        advantage * (gain - statistics.mean(gains)) for advantage, gain in zip(advantages, gains, strict=bool(gains))
    ]


def token_logprobs(policy: LocalPolicy, rollout: Rollout) -> list[float]:
    """Return the log-probability that the policy now gives each token of a response sampled at temperature 1."""
    ids = torch.tensor([[*rollout.prompt_ids, *rollout.token_ids]])
    with torch.no_grad():
        logprobs = policy.model(input_ids=ids, use_cache=False).logits[0].log_softmax(-1)
    first = len(rollout.prompt_ids)
    found: list[float] = logprobs[first - 1 : -1].gather(1, ids[0, first:, None]).squeeze(1).tolist()
    return found


PLAIN = {"temperature": 1.0, "top_p": 1.0}


def generator_rewards(directory: Path, policy: LocalPolicy, sandbox: Sandbox, embedder: MiniLMEmbedder) -> list[float]:
    """What the policy's candidates earn as the first ones of a run, in the order of prompts and samples."""
    store, config = create(directory, load_config(preset("nano"), overrides=PROBE))
    with prepare(store, config, policy, sandbox, embedder, training=False) as run:
        proposed = synthesise(run, 1, run.store.pool())
        decide(run, 1, proposed, judge(run, 1, proposed))
        rewards = {decision.candidate_id: decision.reward for decision in run.store.decisions(1)}
        return [rewards[candidate.id] for candidate in proposed.candidates]


def check_run(directory: Path, *, steps: int, admitted: int) -> None:
    """Check that the run admitted what the policy wrote, and learnt something in every step."""
    with Store.read(directory) as store:
        entered = [record for record in store.environments() if not record.original]
        assert store.last_step() == steps
        assert len(entered) >= admitted
        assert {report.layer for step in range(1, steps + 1) for report in store.reports(step).values()} >= {0, 5}
        assert all(record.candidate_id for record in entered)
        assert all(value > 0 for _, value in store.metric("groups/kept")), "every step had something to learn from"
        assert all(value == 0 for _, value in store.metric("update/skipped"))


def rise(before: Sequence[float], after: Sequence[float]) -> float:
    """How much larger the mean is afterwards, in standard errors of pairs."""
    gains = [new - old for old, new in zip(before, after, strict=True)]
    return statistics.mean(gains) / (statistics.stdev(gains) / len(gains) ** 0.5)
