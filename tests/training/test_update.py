import dataclasses
import logging
import math
from typing import Any

import msgspec
import pytest
import torch
from training_support import alike_groups, learn, plain_logprobs, random_groups, slow_loss, tiny_model, with_rollout
from transformers import Gemma2Config, Gemma2ForCausalLM, MistralConfig, MistralForCausalLM

from evoenv.config import Config, RunConfig, TrainingConfig
from evoenv.errors import ConfigError, PolicyError
from evoenv.objective import build_rows
from evoenv.records import Group
from evoenv.training import attention
from evoenv.training.logprobs import LogprobScorer
from evoenv.training.optimizer import hidden_matrices, learning_rate
from evoenv.training.update import Trainer

CONFIG = TrainingConfig(learning_rate=1e-3, warmup_steps=0, kl=0.1)


def change(config: TrainingConfig, **settings: Any) -> TrainingConfig:
    return msgspec.structs.replace(config, **settings)


def gradient_of(trainer: Trainer, groups: list[Group]) -> torch.Tensor:
    """Return the gradient of one update, caught before the optimiser clips and uses it."""
    caught = []
    clip = trainer.optimizer.clip

    def catch() -> float:
        caught.append(torch.cat([weight.grad.flatten().clone() for weight in trainer.optimizer.weights.values()]))
        return clip()

    trainer.optimizer.clip = catch  # type: ignore[method-assign]
    learn(trainer, groups)
    (gradient,) = caught
    return gradient


def weights_of(trainer: Trainer) -> torch.Tensor:
    return torch.cat([weight.detach().flatten().clone() for weight in trainer.optimizer.weights.values()])


@pytest.mark.parametrize(
    ("kind", "rank"),
    [("llama", 2), *(pytest.param(kind, 0, marks=pytest.mark.slow) for kind in ("llama", "qwen3"))],
)
def test_gradient_is_the_same_however_the_work_is_cut(kind: str, rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against whole-sequence autograd through the plain model, for every way of cutting."""
    groups = [*random_groups(0), *alike_groups(2)]
    config = change(CONFIG, lora_rank=rank)
    trainer = Trainer(tiny_model(kind), None, config)
    learn(trainer, random_groups(1))  # move away from the reference, or KL has no gradient
    moved = {name: weight.detach().clone() for name, weight in trainer.optimizer.weights.items()}

    def cut(*, packs: bool = True, splits_head: bool = True, **settings: Any) -> torch.Tensor:
        other = Trainer(tiny_model(kind), None, change(config, **settings))
        assert other.scorer.packs
        assert other.scorer.splits_head
        for scorer in (other.scorer, other.reference):
            scorer.packs, scorer.splits_head = packs, splits_head
        with torch.no_grad():
            for name, weight in other.optimizer.weights.items():
                weight.copy_(moved[name])
        return gradient_of(other, groups)

    plain = cut(packs=False, splits_head=False, micro_batch_tokens=1)
    assert plain.abs().max() > 1e-3
    for way in (
        cut(),
        cut(micro_batch_tokens=50),
        cut(micro_batch_tokens=1),
        cut(share_prompts=False),
        cut(packs=False),
        cut(packs=False, micro_batch_tokens=100),
        cut(splits_head=False),
        cut(gradient_checkpointing=True),
    ):
        assert ((way - plain).norm() / plain.norm()).item() < 1e-6
    monkeypatch.setattr(attention, "TREE_LIMIT", 30)  # some trees piece by piece
    by_piece = cut()
    assert ((by_piece - plain).norm() / plain.norm()).item() < 1e-6
    assert not torch.equal(by_piece, cut(micro_batch_tokens=50))


def test_chunks_of_logits_do_not_change_the_gradient() -> None:
    whole, chunked = (Trainer(tiny_model("llama"), None, CONFIG) for _ in range(2))
    chunked.scorer.chunk_rows = 3
    groups = random_groups(0)
    expected = gradient_of(whole, groups)
    assert torch.allclose(gradient_of(chunked, groups), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "aggregation", "weighting"),
    [
        ("llama", "role-token-mean", "loss"),
        ("llama", "role-token-mean", "advantage-scale"),
        ("llama", "token-mean", "loss"),
        ("llama", "sequence-mean", "loss"),
        ("llama", "dr-grpo", "loss"),
        ("qwen3", "role-token-mean", "loss"),
        ("qwen3", "sequence-mean", "advantage-scale"),
    ],
)
def test_reported_loss_is_the_slow_loss_of_the_plain_model(kind: str, aggregation: Any, weighting: Any) -> None:
    config = change(CONFIG, aggregation=aggregation, role_weighting=weighting, dr_grpo_tokens=32)
    trainer = Trainer(tiny_model(kind), None, config)
    learn(trainer, random_groups(1))
    groups = random_groups(0)

    def logprobs(model: Any) -> list[list[list[float]]]:
        return [[plain_logprobs(model, sample) for sample in group.samples] for group in groups]

    expected = slow_loss(groups, logprobs(trainer.model), logprobs(tiny_model(kind)), config)
    metrics = learn(trainer, groups)
    assert metrics["loss/total"] == pytest.approx(expected["total"], rel=1e-5)
    assert metrics["loss/kl"] == pytest.approx(expected["kl"], rel=1e-4)
    assert metrics["loss/solver"] == pytest.approx(expected["solver"], rel=1e-5)
    assert metrics["tokens/solver"] + metrics["tokens/generator"] == sum(
        sample.tokens for group in groups for sample in group.samples
    )


def test_zero_variance_groups_are_dropped_before_any_work() -> None:
    """Neither their gradient nor their KL may show: the update equals the one without them."""
    groups = random_groups(0)
    flat = [
        dataclasses.replace(group, rewards=(1.0,) * len(group.rewards))
        for group in random_groups(9, roles=["solver", "generator", "generator"])
    ]
    alone, together = (Trainer(tiny_model("llama"), None, CONFIG) for _ in range(2))
    for _ in range(2):
        expected = learn(alone, groups)
        metrics = learn(together, [flat[0], *groups, *flat[1:]])
    assert torch.equal(weights_of(alone), weights_of(together))
    assert metrics["tokens/computed"] == expected["tokens/computed"]
    assert metrics["groups/kept"] == 3
    assert (metrics["groups/zero_variance_solver"], metrics["groups/zero_variance_generator"]) == (1, 2)


def test_nothing_to_learn_leaves_the_weights_alone() -> None:
    trainer = Trainer(tiny_model("llama"), None, CONFIG)
    before = weights_of(trainer)
    group = random_groups(0)[0]
    metrics = learn(trainer, [dataclasses.replace(group, rewards=(0.0,) * 4)])
    assert torch.equal(weights_of(trainer), before)
    assert (metrics["groups/kept"], metrics["tokens/computed"], metrics["grad/norm"]) == (0, 0, 0)
    assert trainer.step == 1


def test_reviewer_groups_are_refused_before_any_work() -> None:
    trainer = Trainer(tiny_model("llama"), None, CONFIG)
    before = weights_of(trainer)
    with pytest.raises(PolicyError, match="reviewer"):
        learn(trainer, [*random_groups(0), dataclasses.replace(random_groups(1)[0], role="reviewer")])
    assert torch.equal(weights_of(trainer), before)
    assert trainer.step == 0


@pytest.mark.parametrize("poison", ["weight", "gradient"])
def test_an_update_that_is_not_finite_is_skipped_and_reported(poison: str, caplog: pytest.LogCaptureFixture) -> None:
    trainer = Trainer(tiny_model("llama"), None, CONFIG)
    learn(trainer, random_groups(0))
    before, moments = weights_of(trainer), {name: value.clone() for name, value in trainer.optimizer.state().items()}
    layer = trainer.model.model.layers[1].mlp.down_proj
    with caplog.at_level(logging.WARNING):
        if poison == "gradient":
            hook = layer.weight.register_hook(lambda gradient: gradient * math.nan)
        else:
            hook = layer.register_forward_hook(lambda *parts: parts[2] * math.inf)
        metrics = learn(trainer, random_groups(1))
        hook.remove()
    assert metrics["update/skipped"] == 1
    assert all(map(math.isfinite, metrics.values()))
    assert "skipped" in caplog.text
    assert torch.equal(weights_of(trainer), before)
    assert all(torch.equal(value, moments[name]) for name, value in trainer.optimizer.state().items())
    assert learn(trainer, random_groups(1))["update/skipped"] == 0
    assert not torch.equal(weights_of(trainer), before)


def test_first_ratios_are_one_when_the_samples_are_the_models_own() -> None:
    model = tiny_model("qwen3", dtype=torch.float32)
    groups = [
        dataclasses.replace(
            group,
            samples=tuple(with_rollout(sample, logprobs=plain_logprobs(model, sample)) for sample in group.samples),
        )
        for group in random_groups(0)
    ]
    metrics = learn(Trainer(model, None, CONFIG), groups)
    assert metrics["ratio/mean"] == pytest.approx(1.0, abs=1e-5)
    assert metrics["logprob/gap_max"] < 1e-4
    assert metrics["loss/kl"] == pytest.approx(0.0, abs=1e-9)


def test_no_reference_is_held_without_kl() -> None:
    trainer = Trainer(tiny_model("llama"), None, change(CONFIG, kl=0.0))
    assert trainer.reference is trainer.scorer
    assert learn(trainer, random_groups(0))["loss/kl"] == 0.0


def test_the_attention_and_mode_of_the_model_are_given_back() -> None:
    trainer = Trainer(tiny_model("llama"), None, change(CONFIG, gradient_checkpointing=True))
    before = trainer.model.config._attn_implementation
    learn(trainer, random_groups(0))
    assert trainer.model.config._attn_implementation == before != "evoenv_packed"
    assert not trainer.model.training


def test_epochs_and_minibatches_take_several_steps() -> None:
    trainer = Trainer(tiny_model("llama"), None, change(CONFIG, epochs=2, minibatches=3))
    steps = []
    take = trainer.optimizer.step
    trainer.optimizer.step = lambda rate: (steps.append(rate), take(rate))[1]  # type: ignore[method-assign,func-returns-value]
    metrics = learn(trainer, random_groups(0))
    assert len(steps) == 6
    assert metrics["tokens/solver"] == 2 * sum(
        sample.tokens for group in random_groups(0) if group.role == "solver" for sample in group.samples
    )


def test_truncated_importance_looks_back_to_the_weights_before_the_update() -> None:
    config = change(CONFIG, truncated_importance=1.5, kl=0.0, epochs=2, learning_rate=1e-2, warmup_steps=0)
    model = tiny_model("llama", dtype=torch.float32)
    groups = random_groups(0)
    shift = math.log(3.0)  # the sampler finds every token three times less likely than the trainer: all weights are cut
    groups = [
        dataclasses.replace(
            group,
            samples=tuple(
                with_rollout(sample, logprobs=[value - shift for value in plain_logprobs(model, sample)])
                for sample in group.samples
            ),
        )
        for group in groups
    ]
    trainer = Trainer(model, None, config)
    metrics = learn(trainer, groups)
    assert metrics["importance/mean"] == pytest.approx(1.5)
    assert metrics["importance/truncated"] == 1.0
    assert metrics["ratio/mean"] == pytest.approx(1.0, abs=0.5), "not 3: that is the sampler's doing"
    assert metrics["ratio/max"] > 1.01, "the second step looks back to before the first"


def test_warm_up_is_linear_and_then_constant() -> None:
    config = TrainingConfig(learning_rate=5e-7, warmup_steps=5)
    rates = [learning_rate(config, step) for step in range(7)]
    assert rates == pytest.approx([1e-7, 2e-7, 3e-7, 4e-7, 5e-7, 5e-7, 5e-7])


def test_a_linear_schedule_falls_after_the_warm_up_and_would_reach_zero_after_the_last_update() -> None:
    config = TrainingConfig(learning_rate=8.0, warmup_steps=2, schedule="linear", schedule_steps=10)
    rates = [learning_rate(config, step) for step in range(12)]
    assert rates == pytest.approx([4, 8, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0])
    run = Config(run=RunConfig(steps=12), training=TrainingConfig(schedule="linear"))
    assert run.with_schedule.training.schedule_steps == 12
    assert change(run, training=config).with_schedule.training.schedule_steps == 10


def test_muon_moves_every_direction_of_a_hidden_matrix_alike_and_leaves_the_rest_to_adamw() -> None:
    trainer = Trainer(tiny_model("llama"), None, change(CONFIG, optimizer="muon", weight_decay=0.0))
    before = {name: weight.detach().clone() for name, weight in trainer.optimizer.weights.items()}
    chance = torch.Generator().manual_seed(0)
    for weight in trainer.optimizer.weights.values():
        weight.grad = torch.randn(weight.shape, generator=chance, dtype=weight.dtype)
    trainer.optimizer.step(1e-3)
    hidden = set(hidden_matrices(trainer.model))
    assert any("up_proj" in name for name in hidden)
    assert not any("embed" in name or "lm_head" in name or "norm" in name for name in hidden)
    for name, weight in trainer.optimizer.weights.items():
        moved = before[name] - weight.detach()
        if name in hidden:
            # Orthogonal times 0.2 √(larger side): the root mean square of AdamW's first step. Five rounds of
            # Newton-Schulz leave singular values between about 0.7 and 1.2.
            directions = torch.linalg.svdvals(moved.double()) / (1e-3 * 0.2 * max(weight.shape) ** 0.5)
            assert directions.min() > 0.5, name
            assert directions.max() < 1.3, name
        else:
            assert torch.allclose(moved.abs(), torch.full_like(moved, 1e-3), atol=1e-5), name


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"optimizer": "muon", "lora_rank": 2}, "Muon is for whole matrices"),
        ({"schedule": "linear"}, "training.schedule_steps = 0"),
    ],
)
def test_settings_that_no_optimiser_can_follow_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Trainer(tiny_model("llama"), None, change(CONFIG, **settings))


def test_decay_falls_on_matrices_only() -> None:
    trainer = Trainer(tiny_model("llama"), None, change(CONFIG, weight_decay=0.5))
    norm, matrix = (trainer.model.model.norm.weight, trainer.model.model.layers[0].mlp.up_proj.weight)
    before = norm.detach().clone(), matrix.detach().clone()
    for weight in trainer.optimizer.weights.values():
        weight.grad = torch.zeros_like(weight)
    trainer.optimizer.step(0.1)
    assert torch.equal(norm, before[0])
    assert torch.allclose(matrix, before[1] * (1 - 0.1 * 0.5))


def test_gains_learn_at_their_own_multiple_of_the_rate() -> None:
    """The first step of AdamW has the size of the rate for every weight that has a gradient."""
    trainer = Trainer(tiny_model("llama"), None, change(CONFIG, gain_rate=30.0, weight_decay=0.0))
    before = {name: weight.detach().clone() for name, weight in trainer.optimizer.weights.items()}
    for weight in trainer.optimizer.weights.values():
        weight.grad = torch.ones_like(weight)
    trainer.optimizer.step(1e-3)
    for name, weight in trainer.optimizer.weights.items():
        expected = 0.03 if weight.ndim < 2 else 1e-3
        assert torch.allclose(before[name] - weight, torch.full_like(weight, expected), atol=1e-6), name


@pytest.mark.parametrize("multiple", [-1.0, float("nan"), float("inf")])
def test_a_multiple_that_is_none_is_refused(multiple: float) -> None:
    with pytest.raises(ConfigError, match="gain_rate"):
        Trainer(tiny_model("llama"), None, change(CONFIG, gain_rate=multiple))


def test_half_precision_weights_learn_at_a_tiny_rate() -> None:
    """bfloat16 alone would round every one of these updates away."""
    config = change(CONFIG, learning_rate=1e-5, kl=0.0, weight_decay=0.0)
    trainer = Trainer(tiny_model("llama", dtype=torch.bfloat16), None, config)
    start = {name: value.clone() for name, value in trainer.optimizer.masters.items()}
    first = trainer.model.model.norm.weight.detach().clone()
    learn(trainer, random_groups(0))
    moved = {name: (value - start[name]).abs().max().item() for name, value in trainer.optimizer.masters.items()}
    assert all(0 < size < 1.1e-5 for size in moved.values())
    assert torch.equal(trainer.model.model.norm.weight, first)
    assert trainer.model.model.norm.weight.dtype == torch.bfloat16


def check_against_plain(model: Any, *, packs: bool, splits_head: bool) -> None:
    scorer = LogprobScorer(model)
    assert (scorer.packs, scorer.splits_head) == (packs, splits_head)
    groups = [*random_groups(4), *alike_groups(5)]
    rollouts = ((sample, sample.rollout) for group in groups for sample in group.samples)
    samples = {(tuple(rollout.prompt_ids), tuple(rollout.token_ids)): sample for sample, rollout in rollouts}
    for batch in scorer.plan(build_rows(groups, CONFIG), 10_000):
        with scorer.running():
            found = scorer.logprobs(batch).tolist()
        expected = [
            x
            for row in batch.rows
            for x in plain_logprobs(model, samples[tuple(row.prompt_ids), tuple(row.response_ids)])
        ]
        assert found == pytest.approx(expected, abs=1e-5)


def tiny(config: Any, model: Any, **settings: Any) -> Any:
    torch.manual_seed(0)
    return model(
        config(
            vocab_size=61,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            **settings,
        )
    ).eval()


def test_sliding_windows_are_kept_when_packed() -> None:
    check_against_plain(tiny(MistralConfig, MistralForCausalLM, sliding_window=5), packs=True, splits_head=True)


@pytest.mark.parametrize("fold", [0, 1 << 22])
@pytest.mark.parametrize("window", [None, 5])
def test_long_texts_are_attended_to_block_by_block(
    fold: int, window: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "TREE_LIMIT", 0)
    monkeypatch.setattr(attention, "QUERY_BLOCK", 4)
    monkeypatch.setattr(attention, "FOLD_LIMIT", fold)
    check_against_plain(tiny(MistralConfig, MistralForCausalLM, sliding_window=window), packs=True, splits_head=True)


def test_a_model_with_soft_caps_takes_the_plain_way() -> None:
    """Gemma 2 caps its attention scores and its logits: neither short cut may be taken."""
    model = tiny(Gemma2Config, Gemma2ForCausalLM, attn_implementation="eager", final_logit_softcapping=0.5)
    check_against_plain(model, packs=False, splits_head=False)


@pytest.mark.parametrize("name", ["epochs", "minibatches", "micro_batch_tokens"])
def test_counts_below_one_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"training.{name} = 0"):
        Trainer(tiny_model("llama"), None, change(CONFIG, **{name: 0}))
