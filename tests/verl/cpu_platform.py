"""The verl engine without a GPU: what must be in the environment before verl, vLLM or Ray are imported.

`cpu/` registers a platform with verl (its own plug-in point) and tells vLLM's workers to keep weights that can be
loaded again. None of it is part of the product, and none of it is needed with GPUs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

SHIMS = Path(__file__).parent / "cpu"

ENVIRONMENT = {
    "VERL_USE_EXTERNAL_MODULES": "verl_cpu",
    "VERL_PLATFORM": "cpu",
    "VERL_ENGINE_DEVICE": "cuda",  # verl's FSDP engines are registered for cuda and npu: take that entry
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "TORCHDYNAMO_DISABLE": "1",  # a first sample in 0.7 s instead of 30
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}

VERL_SETTINGS = (
    "actor_rollout_ref.rollout.engine_kwargs.vllm.worker_extension_cls=verl_cpu_vllm.CpuWorkerExtension",
    # vLLM turns a request's generator back after a part of its prompt, and generators of a CPU cannot be turned back.
    "actor_rollout_ref.rollout.enable_chunked_prefill=false",
)
OVERRIDES = (
    "engine.name=verl",
    "engine.patience_seconds=400",
    "engine.sampler_rows=64",
    f"engine.verl={list(VERL_SETTINGS)}",
)
"""Settings of a run on this platform."""


def prepare() -> None:
    """Make this process, and those that it starts, use the CPU platform."""
    os.environ.update(ENVIRONMENT)
    folders = [str(SHIMS), str(SHIMS.parent), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(folders))
    if str(SHIMS) not in sys.path:
        sys.path.insert(0, str(SHIMS))
