"""What an update trains on: the groups of a step in, a `Batch` out. No torch, no I/O, no engine.

    groups ─► checked ─► zero variance dropped ─► advantages ─► epochs and minibatches ─► weights ─► Batch

An engine receives the batch and computes gradients, nothing else: which samples train, with which advantage and with
which weight is decided here, once for all engines.

**Advantages.** A = (r − mean) / (std + 1e-6) within one group of samples of one prompt. `std` is the *sample* standard
deviation (divisor n − 1), as in verl and TRL, whose `torch.std` is unbiased by default; with n = 8 the population
one would make every advantage 7% larger. Groups are never merged, so roles are never mixed. One departure from verl:
there a group of one sample has the advantage r; here it has no variance and is dropped, since nothing says whether r
is much or little for its prompt.

**Weights.** The loss is L = L_solver + w_gen · L_generator + β · KL, with l and k3 per token (`training.loss`). Within
one response all tokens weigh the same, so an aggregation is one number per response. T, N count response tokens
and responses of a minibatch after dropping zero-variance groups, T_r, N_r those of one role, n_i is a response's
length, C is `dr_grpo_tokens`:

| `aggregation`     | `role_weighting="loss"`: role r's average | `"advantage-scale"`: shared | KL         |
|-------------------|-------------------------------------------|-----------------------------|------------|
| `role-token-mean` | Σ l / T_r                                 | Σ l / T                     | Σ k3 / T   |
| `token-mean`      | Σ l / T                                   | Σ l / T                     | Σ k3 / T   |
| `sequence-mean`   | Σ (Σ l / n_i) / N_r                       | Σ (Σ l / n_i) / N           | same, / N  |
| `dr-grpo`         | Σ l / (C·N_r)                             | Σ l / (C·N)                 | Σ k3/(C·N) |

- `role-token-mean` with `loss` is the default: both roles count whatever their lengths, and w_gen says how much.
- `advantage-scale` is what the paper's table calls w_gen: it multiplies the generator's advantages under one mean over
  both roles. The surrogate is homogeneous in A, so this differs from `loss` in the denominators alone, and in that
  the role with more tokens weighs more: at eight times the solver's tokens, a generator weighted 0.3 outweighs it.
- `token-mean` is DAPO's: the mean is shared already, so both weightings give the same number.
- `sequence-mean` is the original GRPO: long responses are diluted. verl: `seq-mean-token-mean`; TRL: `grpo`.
- `dr-grpo` divides by constants only, and its advantages are not divided by the standard deviation.
  verl: `seq-mean-token-sum-norm`; TRL: `dr_grpo`.

KL is one mean over *all* response tokens of the minibatch, unweighted by w_gen: it holds one policy to one reference,
and does not know roles. All weights are known before the first forward pass, so no cut into micro-batches and no
spread over devices can change the gradient.
"""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evoenv.config import TrainingConfig
from evoenv.errors import ConfigError, PolicyError
from evoenv.records import Group, Role, Rollout, Sample, derive_seed

EPSILON = 1e-6
VARIANCE_TOLERANCE = 1e-8
"""Rewards closer together than this are equal: rounding in a scorer is not a signal."""
TRAINED_ROLES: tuple[Role, ...] = ("solver", "generator")
"""The reviewer only judges: its verdicts gate admission and are never rewarded."""
ALL_ROLES = "all roles"


@dataclass(frozen=True, slots=True)
class ResponseWeight:
    """What each token of one response adds to the loss: `mean · role_factor · l + kl_mean · β · k3`."""

    mean: float
    """The token's share in its role's average (the table above)."""
    role_factor: float
    """1 for the solver, w_gen for the generator."""
    kl_mean: float
    """The token's share in the KL average."""

    @property
    def surrogate(self) -> float:
        """The factor of the token's clipped surrogate."""
        return self.mean * self.role_factor


@dataclass(frozen=True, slots=True)
class Row:
    """One response that trains, with all that its loss needs."""

    role: Role
    rollout: Rollout
    advantage: float
    weight: ResponseWeight

    @property
    def prompt_ids(self) -> array[int]:
        return self.rollout.prompt_ids

    @property
    def response_ids(self) -> array[int]:
        return self.rollout.token_ids

    @property
    def sampled(self) -> array[float]:
        """The log-probability with which each response token was sampled."""
        return self.rollout.logprobs

    @property
    def temperature(self) -> float:
        return self.rollout.temperature

    @property
    def fed_tokens(self) -> int:
        """Response tokens that the model reads: all but the last, which predicts nothing that is trained on."""
        return len(self.response_ids) - 1


@dataclass(frozen=True, slots=True)
class Batch:
    """What one update trains on."""

    groups: tuple[Group, ...]
    """All groups that it was made of, dropped ones included."""
    minibatches: tuple[tuple[Row, ...], ...]
    """The rows of each optimiser step, in order, over all epochs. Weights belong to the minibatch."""
    dropped: Mapping[Role, int]
    """Groups without variance, by role: they carry no gradient, so they pay no KL either."""

    @property
    def kept(self) -> int:
        """Groups that train."""
        return len(self.groups) - sum(self.dropped.values())

    def metrics(self) -> dict[str, float]:
        return {
            "groups/kept": float(self.kept),
            **{f"groups/zero_variance_{role}": float(self.dropped.get(role, 0)) for role in TRAINED_ROLES},
        }


def build_batch(groups: Sequence[Group], config: TrainingConfig, *, update: int = 0) -> Batch:
    """Decide what the update number `update` (from 0) trains on. Refuses groups that cannot be trained on."""
    for group in groups:
        check_group(group)
    kept, dropped = drop_zero_variance(groups)
    parts = (build_rows(part, config) for part in _minibatches(kept, config, update))
    return Batch(
        groups=tuple(groups),
        minibatches=tuple(tuple(rows) for rows in parts if rows),
        dropped=Counter(group.role for group in dropped),
    )


def _minibatches(kept: Sequence[Group], config: TrainingConfig, update: int) -> Iterator[Sequence[Group]]:
    """Cut whole groups into `minibatches` parts, reshuffled for each epoch by a seed of the update alone."""
    for epoch in range(config.epochs):
        order = list(kept)
        if config.minibatches > 1:
            random.Random(derive_seed("minibatches", update, epoch)).shuffle(order)
        size = max(1, math.ceil(len(order) / config.minibatches))
        for begin in range(0, len(order), size):
            yield order[begin : begin + size]


def build_rows(groups: Sequence[Group], config: TrainingConfig) -> list[Row]:
    """Return every response of one minibatch with its advantage and weight; responses without tokens are left out."""
    standardise = config.advantage_std and config.aggregation != "dr-grpo"
    members = [(group, sample) for group in groups for sample in group.samples]
    advantages = [value for group in groups for value in group_advantages(group.rewards, std=standardise)]
    lengths = [sample.rollout.lengths[1] if sample.rollout else 0 for _, sample in members]
    weights = response_weights([group.role for group, _ in members], lengths, config)
    return [
        Row(group.role, sample.rollout, advantage, weight)
        for (group, sample), advantage, weight, length in zip(members, advantages, weights, lengths, strict=True)
        if sample.rollout and length
    ]


# --------------------------------------------------------------------------- advantages


def group_advantages(rewards: Sequence[float], *, std: bool = True, eps: float = EPSILON) -> list[float]:
    """Compute one advantage per reward; all are zero if the group has no variance. `std=False` is Dr. GRPO's."""
    for index, reward in enumerate(rewards):
        if not math.isfinite(reward):
            raise PolicyError(
                f"reward {index} of a group is {reward}, expected a finite number; "
                "score a response that could not be scored as 0 before the update."
            )
    if has_zero_variance(rewards):
        return [0.0] * len(rewards)
    mean = math.fsum(rewards) / len(rewards)
    centred = [reward - mean for reward in rewards]
    if not std:
        return centred
    deviation = math.sqrt(math.fsum(value * value for value in centred) / (len(rewards) - 1))
    return [value / (deviation + eps) for value in centred]


def has_zero_variance(rewards: Sequence[float]) -> bool:
    """Return whether a group says nothing about which of its samples was better."""
    return len(rewards) < 2 or max(rewards) - min(rewards) <= VARIANCE_TOLERANCE


def drop_zero_variance(groups: Iterable[Group]) -> tuple[list[Group], list[Group]]:
    """Split groups into (kept, dropped), each in the given order."""
    kept: list[Group] = []
    dropped: list[Group] = []
    for group in groups:
        (dropped if has_zero_variance(group.rewards) else kept).append(group)
    return kept, dropped


# --------------------------------------------------------------------------- weights


def response_weights(roles: Sequence[Role], lengths: Sequence[int], config: TrainingConfig) -> list[ResponseWeight]:
    """Compute the weights of a whole minibatch (the table above).

    A response without tokens adds nothing and is not counted.
    """
    shared = config.role_weighting == "advantage-scale" or config.aggregation == "token-mean"
    counts: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for role, length in zip(roles, lengths, strict=True):
        for pool in (role, ALL_ROLES):
            counts[pool] += length > 0
            tokens[pool] += length
    weights = []
    for role, length in zip(roles, lengths, strict=True):
        if length == 0:
            weights.append(ResponseWeight(0.0, 0.0, 0.0))
            continue
        pool = ALL_ROLES if shared else role
        match config.aggregation:
            case "role-token-mean" | "token-mean":
                mean, kl = 1.0 / tokens[pool], 1.0 / tokens[ALL_ROLES]
            case "sequence-mean":
                mean, kl = 1.0 / (counts[pool] * length), 1.0 / (counts[ALL_ROLES] * length)
            case "dr-grpo":
                mean, kl = (1.0 / (counts[key] * config.dr_grpo_tokens) for key in (pool, ALL_ROLES))
        factor = config.generator_weight if role == "generator" else 1.0
        weights.append(ResponseWeight(mean, factor, kl))
    return weights


# --------------------------------------------------------------------------- refusals


def check_group(group: Group) -> None:
    """Refuse what cannot be trained on, before any work is done."""
    if group.role not in TRAINED_ROLES:
        raise _refusal(group, "this role is not trained", "hand over solver and generator groups only")
    if len(group.samples) != len(group.rewards):
        raise _refusal(
            group, f"{len(group.rewards)} rewards for {len(group.samples)} samples", "give one reward per sample"
        )
    for sample in group.samples:
        _check_sample(group, sample)
        if sample.rollout is not None:
            sample.rollout.release()  # all of a step at once may be more than is wanted in memory


def _check_sample(group: Group, sample: Sample) -> None:
    subject, rollout = f"sample {sample.index}", sample.rollout
    if rollout is None:
        if sample.tokens:
            raise _refusal(
                group,
                f"{subject} has {sample.tokens} tokens and no rollout",
                "sample with a request that trains, on a policy that can be trained",
            )
        return
    if len(rollout.logprobs) != len(rollout.token_ids):
        raise _refusal(
            group,
            f"{subject} has {len(rollout.logprobs)} log-probabilities for {len(rollout.token_ids)} tokens",
            "a sampler must record one per token",
        )
    if rollout.token_ids and not rollout.prompt_ids:
        raise _refusal(group, f"{subject} has no prompt tokens", "the first token needs something that predicts it")
    if not rollout.temperature > 0:
        raise _refusal(group, f"{subject} was sampled at temperature {rollout.temperature}", "sample above 0 to train")
    if not all(map(math.isfinite, rollout.logprobs)):
        raise _refusal(group, f"{subject} has a log-probability that is not finite", "check the sampler")


def _refusal(group: Group, got: str, advice: str) -> PolicyError:
    return PolicyError(f"group {group.id} ({group.role}): {got}; {advice}.")


def check_objective(config: TrainingConfig) -> None:
    """Refuse settings under which the weights above mean nothing."""
    for name in ("epochs", "minibatches", "dr_grpo_tokens"):
        if getattr(config, name) < 1:
            raise ConfigError(f"training.{name} = {getattr(config, name)}: expected 1 or more.")
    if config.generator_weight < 0.0:
        raise ConfigError(f"training.generator_weight = {config.generator_weight}: expected 0 or more.")
