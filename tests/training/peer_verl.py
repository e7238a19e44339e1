"""Runs inside verl's own environment: a batch as JSON on stdin, verl's numbers as JSON on stdout."""

import json
import sys

import numpy as np
import torch
from verl.trainer.ppo.core_algos import (
    agg_loss,
    compute_grpo_outcome_advantage,
    compute_policy_loss_vanilla,
    kl_penalty,
)
from verl.workers.config import ActorConfig

batch = json.load(sys.stdin)
width = max(map(len, batch["logp"]))


def padded(name: str) -> torch.Tensor:
    return torch.tensor([row + [0.0] * (width - len(row)) for row in batch[name]], dtype=torch.float64)


mask = torch.tensor([[1.0] * len(row) + [0.0] * (width - len(row)) for row in batch["logp"]], dtype=torch.float64)
logp, sampled, reference = padded("logp"), padded("sampled"), padded("reference")
config = ActorConfig(
    strategy="fsdp",
    rollout_n=4,
    ppo_micro_batch_size_per_gpu=1,
    clip_ratio=batch["clip_low"],
    clip_ratio_low=batch["clip_low"],
    clip_ratio_high=batch["clip_high"],
    clip_ratio_c=batch["dual_clip"],
)
rewards = torch.zeros_like(mask)
rewards[:, 0] = torch.tensor(batch["rewards"], dtype=torch.float64)
result = {}
for mode, options in {
    "token-mean": {},
    "seq-mean-token-mean": {},
    "seq-mean-token-sum-norm": {"loss_scale_factor": batch["dr_grpo_tokens"]},
}.items():
    advantages, _ = compute_grpo_outcome_advantage(
        rewards, mask, np.array(batch["group"]), norm_adv_by_std_in_grpo=mode != "seq-mean-token-sum-norm"
    )
    config.global_batch_info.clear()
    config.global_batch_info.update(options)
    loss, metrics = compute_policy_loss_vanilla(sampled, logp, advantages, mask, mode, config)
    kl = agg_loss(kl_penalty(logp, reference, "low_var_kl"), mask, mode, **options)
    result[mode] = {
        "loss": loss.item() + batch["kl"] * kl.item(),
        "surrogate": loss.item(),
        "kl": kl.item(),
        "advantages": advantages[:, 0].tolist(),
        "dual": metrics["actor/pg_clipfrac_lower"],
    }
json.dump(result, sys.stdout)
