"""Tiny models, groups, a sampler, and the loss written a second time the slow way."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from evoenv.config import TrainingConfig
from evoenv.objective import build_batch
from evoenv.records import Group, Role, Rollout, Sample
from evoenv.training.update import Trainer

VOCABULARY = 61


def tiny_model(kind: str, *, seed: int = 0, dtype: torch.dtype = torch.float64, **overrides: Any) -> Any:
    """Build a random Llama- or Qwen3-shaped model of some ten thousand weights."""
    settings: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        **overrides,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "llama":
            model: Any = LlamaForCausalLM(LlamaConfig(tie_word_embeddings=True, **settings))
        else:
            model = Qwen3ForCausalLM(Qwen3Config(head_dim=16, tie_word_embeddings=False, **settings))
    return model.to(dtype).eval()


def random_groups(
    seed: int, *, roles: Sequence[Role] = ("solver", "generator", "solver"), size: int = 4, longest: int = 20
) -> list[Group]:
    """Groups with random tokens, log-probabilities near a random model's, and rewards that vary."""
    draw = random.Random(seed)
    groups = []
    for number, role in enumerate(roles):
        prompt = tuple(draw.randrange(VOCABULARY) for _ in range(draw.randrange(1, 15)))
        samples = []
        for index in range(size):
            count = draw.randrange(1, longest)
            samples.append(
                Sample(
                    request_id=str(number),
                    index=index,
                    text="",
                    tokens=count,
                    rollout=Rollout.of(
                        prompt,
                        [draw.randrange(VOCABULARY) for _ in range(count)],
                        [-math.log(VOCABULARY) + draw.gauss(0.0, 0.3) for _ in range(count)],
                        temperature=0.8,
                    ),
                )
            )
        rewards = tuple(float(draw.random() < 0.5) for _ in range(size - 2))
        groups.append(Group(str(number), role, tuple(samples), (0.0, 1.0, *rewards)))
    return groups


def alike_groups(seed: int) -> list[Group]:
    """Groups of seven whose responses begin alike: two are equal, one is what all share, and some part later."""
    groups = []
    for group in random_groups(seed, size=7):
        first, *others = group.samples
        assert first.rollout is not None
        start, tokens = [5, 9, 2], list(first.rollout.token_ids)
        later = [*start, 7, *tokens]
        texts = [start + tokens, start + tokens, start, [*start, 7], later, [*later[:-1], 3, 3], [*start, 8, 8]]
        samples = tuple(
            with_rollout(sample, prompt_ids=first.rollout.prompt_ids, token_ids=text, logprobs=[-4.0] * len(text))
            for sample, text in zip((first, *others), texts, strict=True)
        )
        groups.append(dataclasses.replace(group, samples=samples))
    return groups


def learn(trainer: Trainer, groups: Sequence[Group]) -> dict[str, float]:
    """Make one update on groups, as the loop does it; return the metrics of both halves."""
    batch = build_batch(groups, trainer.config, update=trainer.step)
    return {**batch.metrics(), **trainer.update(batch)}


def with_rollout(sample: Sample, **changes: Any) -> Sample:
    """Return the sample with another rollout: `prompt_ids`, `token_ids`, `logprobs` or `temperature` replaced."""
    names = ("prompt_ids", "token_ids", "logprobs", "temperature")
    rollout = Rollout.of(*(changes.get(name, getattr(sample.rollout, name)) for name in names))
    return dataclasses.replace(sample, rollout=rollout, tokens=len(rollout.token_ids))


def plain_logprobs(model: Any, sample: Sample) -> list[float]:
    """Log-probabilities the way everyone would write them: one sequence, whole logits."""
    ids = torch.tensor([[*sample.rollout.prompt_ids, *sample.rollout.token_ids]])
    with torch.no_grad():
        logits = model(ids).logits[0, len(sample.rollout.prompt_ids) - 1 : -1].double() / sample.rollout.temperature
    return [row.log_softmax(-1)[token].item() for row, token in zip(logits, sample.rollout.token_ids, strict=True)]


def slow_loss(
    groups: Sequence[Group], logprobs: Sequence[Sequence[list[float]]], references: Any, config: TrainingConfig
) -> dict[str, float]:
    """Compute the objective by loops over plain numbers: `logprobs[g][i][t]`, and the same for the frozen reference."""
    scaled = config.role_weighting == "advantage-scale"
    responses: dict[str, list[tuple[float, int]]] = {"solver": [], "generator": []}  # (sum of l, length)
    penalties: list[tuple[float, int]] = []
    for g, group in enumerate(groups):
        n = len(group.rewards)
        mean = sum(group.rewards) / n
        std = math.sqrt(sum((reward - mean) ** 2 for reward in group.rewards) / (n - 1))
        for i, sample in enumerate(group.samples):
            advantage = group.rewards[i] - mean
            if config.advantage_std and config.aggregation != "dr-grpo":
                advantage /= std + 1e-6
            if scaled and group.role == "generator":
                advantage *= config.generator_weight
            surrogate = penalty = 0.0
            for t, sampled in enumerate(sample.rollout.logprobs):
                ratio = math.exp(max(-20.0, min(20.0, logprobs[g][i][t] - sampled)))
                if advantage >= 0:
                    surrogate -= advantage * min(ratio, 1 + config.clip_high)
                else:
                    surrogate -= advantage * min(max(ratio, 1 - config.clip_low), config.dual_clip)
                if config.kl > 0:
                    difference = max(-20.0, min(20.0, references[g][i][t] - logprobs[g][i][t]))
                    penalty += min(10.0, math.exp(difference) - difference - 1)
            responses[group.role].append((surrogate, sample.tokens))
            penalties.append((penalty, sample.tokens))

    def average(parts: list[tuple[float, int]], peers: list[tuple[float, int]]) -> float:
        if not parts:
            return 0.0
        if config.aggregation in ("role-token-mean", "token-mean"):
            return sum(value for value, _ in parts) / sum(length for _, length in peers)
        if config.aggregation == "sequence-mean":
            return sum(value / length for value, length in parts) / len(peers)
        return sum(value for value, _ in parts) / (config.dr_grpo_tokens * len(peers))

    everyone = responses["solver"] + responses["generator"]
    shared = scaled or config.aggregation == "token-mean"
    solver, generator = (average(part, everyone if shared else part) for part in responses.values())
    kl = average(penalties, penalties)
    weight = 1.0 if scaled else config.generator_weight
    return {"total": solver + weight * generator + config.kl * kl, "kl": kl, "solver": solver}


@torch.no_grad()
def sample_group(
    model: Any,
    prompt: tuple[int, ...],
    *,
    role: Role,
    count: int,
    length: int,
    reward: Callable[[tuple[int, ...]], float],
    generator: torch.Generator,
) -> Group:
    """`count` responses of `length` tokens each, sampled without a cache: enough for a tiny model."""
    ids = torch.tensor([prompt] * count)
    logprobs = []
    for _ in range(length):
        logp = model(ids).logits[:, -1].double().log_softmax(-1)
        token = torch.multinomial(logp.exp(), 1, generator=generator)
        logprobs.append(logp.gather(1, token))
        ids = torch.cat((ids, token), dim=1)
    replies = [tuple(row[len(prompt) :].tolist()) for row in ids]
    columns = torch.cat(logprobs, dim=1).tolist()
    samples = tuple(
        Sample("prompt", index, "", tokens=len(reply), rollout=Rollout.of(prompt, reply, values))
        for index, (reply, values) in enumerate(zip(replies, columns, strict=True))
    )
    return Group(str(prompt), role, samples, tuple(map(reward, replies)))
