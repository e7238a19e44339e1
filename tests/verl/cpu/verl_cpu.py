"""Everything that lets verl 0.9.1 run without an accelerator. None of it is needed on real GPUs.

Loaded by verl itself in every process (driver, Ray workers, vLLM server, vLLM's own worker process) through
VERL_USE_EXTERNAL_MODULES=verl_cpu, together with VERL_PLATFORM=cpu and VERL_ENGINE_DEVICE=cuda.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import timedelta
from types import ModuleType
from typing import Any

import torch
import torch.distributed.fsdp
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry


class _CpuDevice(ModuleType):
    """`torch.cpu` plus the parts of the `torch.cuda` namespace that verl asks for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    def is_available(self) -> bool:
        return True

    def get_device_name(self, *_: Any) -> str:
        return "CPU"

    def empty_cache(self) -> None: ...
    def ipc_collect(self) -> None: ...
    def synchronize(self, *_: Any) -> None: ...
    def set_device(self, *_: Any) -> None: ...
    def reset_peak_memory_stats(self, *_: Any) -> None: ...

    def memory_allocated(self, *_: Any) -> int:
        return 0

    memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated

    def mem_get_info(self, *_: Any) -> tuple[int, int]:
        return (0, 0)

    get_rng_state = staticmethod(torch.get_rng_state)
    set_rng_state = staticmethod(torch.set_rng_state)


_DEVICE = _CpuDevice("verl_cpu_device")


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformBase):
    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _DEVICE

    def is_available(self) -> bool:
        return True

    def current_device(self) -> Any:
        # verl writes `tensor.to(get_device_id())`: an index would mean cuda:0.
        return torch.device("cpu")

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None: ...
    def synchronize(self, device_index: int | None = None) -> None: ...

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings: str) -> None: ...
    def empty_cache(self) -> None: ...

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return (None, None)

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Any:
        yield

    def profiler_start(self) -> None: ...
    def profiler_stop(self) -> None: ...

    def ray_resource_name(self) -> str:
        # Logical GPUs that ray.init(num_gpus=...) is told of: placement groups and actor ids work unchanged.
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        # Weight sync falls back to POSIX shared memory.
        return False

    def cudart(self) -> None:
        return None


def _keep_vllm_weights_reloadable() -> None:
    """Keep plain torch linear layers: vLLM's CPU ones hand their weight to oneDNN (or AMX) and drop it.

    A second load then finds an empty parameter, the receiving process raises, and verl's sender waits for its answer.
    """
    import vllm._custom_ops as ops
    import vllm.model_executor.layers.utils as layers

    ops._supports_onednn = False
    layers.check_cpu_sgl_kernel = lambda *_: False


def _no_pinned_memory() -> None:
    """verl always gives a forward-only FSDP2 model CPUOffloadPolicy(pin_memory=True); pinning needs an accelerator."""
    import verl.workers.engine.fsdp.transformer_impl as implementation
    from torch.distributed.fsdp import CPUOffloadPolicy

    implementation.CPUOffloadPolicy = lambda pin_memory=False: CPUOffloadPolicy(pin_memory=False)


def prepare_trainer() -> None:
    """Called by EvoEnv's worker in every training process, before the model is built."""
    _no_pinned_memory()
    # verl would ask for "cpu:gloo,cpu:gloo", which torch refuses; it leaves an existing group alone.
    torch.distributed.init_process_group("gloo", timeout=timedelta(seconds=600))


def patch_sampler() -> None:
    """To be called inside vLLM's worker process, before the model is loaded."""
    _keep_vllm_weights_reloadable()


def _prepare_stock_workers() -> None:
    """For verl's own trainer, whose workers do not call `prepare_trainer`: the same two changes, made beforehand."""
    start, offload = torch.distributed.init_process_group, torch.distributed.fsdp.CPUOffloadPolicy

    def start_group(backend: str | None = None, **options: Any) -> None:
        start("gloo" if backend and "cpu:gloo" in backend else backend, **options)

    torch.distributed.init_process_group = start_group
    torch.distributed.fsdp.CPUOffloadPolicy = lambda pin_memory=False: offload(pin_memory=False)


if os.environ.get("VERL_CPU_STOCK_WORKERS"):
    _prepare_stock_workers()
