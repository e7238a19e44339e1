"""verl's configuration tree out of ours: its own generated defaults with our settings over them."""

from __future__ import annotations

import importlib.util
import logging
import math
from importlib.resources import files
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from verl.plugin.platform import get_platform

from evoenv.config import Config
from evoenv.errors import ConfigError

log = logging.getLogger(__name__)

DEFAULTS = "_generated_ppo_trainer.yaml"
NO_CLIPPING = 1e9
"""verl must have a number."""


def on_cpu() -> bool:
    """Say whether verl's platform is a CPU: only in tests, by a platform that they register."""
    return bool(get_platform().device_name == "cpu")


def longest_request(config: Config) -> tuple[int, int]:
    """Return the longest prompt and the longest response that any role may have."""
    review = config.review
    roles = (config.generator, config.solver, *((review,) if review.enabled else ()))
    programs = [review.program_max_tokens] if review.recomputes else []
    return max(role.max_prompt_tokens for role in roles), max([role.max_tokens for role in roles] + programs)


def longest_sequence(config: Config) -> int:
    """Return the longest prompt and response together that may be trained on."""
    return max(role.max_prompt_tokens + role.max_tokens for role in (config.generator, config.solver))


def tokens_per_device(config: Config) -> int:
    """Return how many tokens of a micro-batch a device holds at once."""
    return config.engine.tokens_per_device or max(config.training.micro_batch_tokens, longest_sequence(config))


def precision(chosen: str, config: Config) -> str:
    """Resolve `auto` to the model's own precision, which is by default float32 on a CPU and bfloat16 elsewhere."""
    if chosen != "auto":
        return chosen
    if config.model.dtype != "auto":
        return config.model.dtype
    return "float32" if on_cpu() else "bfloat16"


def check_settings(config: Config) -> None:
    """Refuse, before anything starts, what could not run or would poison the training processes."""
    engine = config.engine
    for name in ("nodes", "devices_per_node", "tensor_parallel", "sampler_rows"):
        if getattr(engine, name) < 1:
            raise ConfigError(f"engine.{name} is {getattr(engine, name)}; expected 1 or more")
    if engine.world % engine.tensor_parallel:
        raise ConfigError(
            f"engine.tensor_parallel is {engine.tensor_parallel}, for {engine.world} devices (engine.nodes × "
            "engine.devices_per_node); expected a number that divides them"
        )
    if not 0 < engine.sampler_memory < 1:
        raise ConfigError(f"engine.sampler_memory is {engine.sampler_memory}; expected a share between 0 and 1")
    if not 0 < engine.patience_seconds < math.inf:
        raise ConfigError(f"engine.patience_seconds is {engine.patience_seconds}; expected seconds, more than 0")
    if tokens_per_device(config) < longest_sequence(config):
        raise ConfigError(
            f"engine.tokens_per_device is {engine.tokens_per_device}; the longest prompt and response that are trained "
            f"on may have {longest_sequence(config)} tokens, and a sequence cannot be cut. Raise it, or lower "
            "max_prompt_tokens or max_tokens of generator and solver"
        )
    if config.training.optimizer != "adamw":
        raise ConfigError(
            f"training.optimizer is {config.training.optimizer!r}: this engine trains with AdamW alone; set it to "
            "'adamw', or use engine.name=local"
        )
    for role, settings in (("generator", config.generator), ("solver", config.solver)):
        if settings.top_p < 1:
            raise ConfigError(
                f"{role}.top_p is {settings.top_p:g}: vLLM's log-probabilities are then those of a cut distribution, "
                "and the update would be wrong. Set it to 1 to train on this engine"
            )


def verl_config(config: Config, model_path: str, context: int) -> Any:
    """Build the whole tree; `context` is the longest prompt and response together."""
    engine, training, cpu = config.engine, config.training, on_cpu()
    packed = not cpu and importlib.util.find_spec("flash_attn") is not None
    if not (cpu or packed):
        log.warning("flash_attn is not installed: micro-batches are padded, and training is slower than it could be")
    prompt, response = longest_request(config)
    fsdp: dict[str, Any] = {"use_torch_compile": False}
    if precision(engine.trainer_dtype, config) == "float32":
        fsdp["mixed_precision"] = {"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}
    # with an adapter verl would export the wrapped layers, under names that nothing loads
    export = [] if training.lora_rank else ["hf_model"]
    ours = {
        "trainer": {
            "n_gpus_per_node": engine.devices_per_node,
            "nnodes": engine.nodes,
            "device": get_platform().device_name,
        },
        "actor_rollout_ref": {
            "model": {
                "path": model_path,
                "enable_gradient_checkpointing": training.gradient_checkpointing or not cpu,
                # Packed sequences need flash attention; without it micro-batches are padded.
                "use_remove_padding": packed,
                "override_config": {"attn_implementation": "flash_attention_2" if packed else "sdpa"},
                "lora_rank": training.lora_rank,
                "lora_alpha": training.lora_alpha,
                "target_modules": "all-linear",
                "lora": {"merge": True},  # whole weights go to the servers: adapters alone fail there
            },
            "actor": {
                "strategy": "fsdp2",
                "use_dynamic_bsz": True,  # micro-batches by tokens, not by rows
                "ppo_max_token_len_per_gpu": tokens_per_device(config),
                "use_torch_compile": False,
                "optim": {
                    "lr": training.learning_rate,
                    "weight_decay": training.weight_decay,
                    "betas": [0.9, 0.999],
                    "clip_grad": training.grad_clip if training.grad_clip > 0 else NO_CLIPPING,
                },
                "checkpoint": {"save_contents": ["model", "optimizer", "extra", *export]},
                "fsdp_config": {**fsdp, "param_offload": engine.offload, "optimizer_offload": engine.offload},
            },
            "ref": {"strategy": "fsdp2", "fsdp_config": {**fsdp, "param_offload": engine.offload}},
            "rollout": {
                "name": "vllm",
                "tensor_model_parallel_size": engine.tensor_parallel,
                "n_gpus_per_node": engine.devices_per_node,
                "dtype": precision(engine.sampler_dtype, config),
                "prompt_length": prompt,
                "response_length": response,
                "max_model_len": context,
                "max_num_seqs": engine.sampler_rows,
                "max_num_batched_tokens": max(context, 2048 if cpu else 8192),
                "gpu_memory_utilization": engine.sampler_memory,
                "load_format": "dummy",  # the weights come from the trainer, by the first sync
                "logprobs_mode": "processed_logprobs",  # at the sampling temperature
                "enforce_eager": cpu,
                "free_cache_engine": not cpu,  # sleep between sampling and training; a CPU has no such thing
                "enable_sleep_mode": not cpu,
                "checkpoint_engine": {"update_weights_bucket_megabytes": 64 if cpu else 2048},
            },
        },
    }
    defaults = OmegaConf.load(str(files("verl.trainer.config") / DEFAULTS))
    try:
        if bare := [text for text in engine.verl if "=" not in text]:
            raise ValueError(f"{bare[0]!r} has no value")
        return OmegaConf.merge(defaults, ours, OmegaConf.from_dotlist(list(engine.verl)))
    except (OmegaConfBaseException, yaml.YAMLError, ValueError) as error:
        raise ConfigError(
            f"engine.verl is {list(engine.verl)}: {error}; expected settings of verl's own, as in "
            "engine.verl=['actor_rollout_ref.rollout.enforce_eager=true']"
        ) from error
