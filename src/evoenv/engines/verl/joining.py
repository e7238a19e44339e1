"""Join a Ray cluster, or start one on this machine; say what it offers."""

from __future__ import annotations

import os
from typing import Any

import ray
from verl.plugin.platform import get_platform

from evoenv.config import Config
from evoenv.engines.verl.limits import EngineLost, last_line
from evoenv.engines.verl.settings import on_cpu
from evoenv.errors import ConfigError

HANDED_ON = ("VERL_", "VLLM_", "OMP_", "HF_", "NCCL_", "CUDA_", "TOKENIZERS_", "TORCH", "PYTHONPATH", "EVOENV_")
"""Environment variables, by their beginning, that every process of the engine gets."""
SYNC_TIMEOUT_MS = "EVOENV_SYNC_TIMEOUT_MS"
"""Environment variable: how long the weight sender waits for a server; verl itself would wait for ever."""
COLOCATED = 2
"""Processes on one device: a trainer and a server."""
CORES_PER_DEVICE = COLOCATED + 2
"""CPUs that Ray keeps for the processes of one device."""


def join_ray(config: Config) -> bool:
    """Join the cluster at `engine.ray_address`, or start one on this machine; False if this process is in one already.

    Ray's own files go where Ray puts them; its processes end with this one.
    """
    engine = config.engine
    if ray.is_initialized():
        return False
    environment = {name: value for name, value in os.environ.items() if name.startswith(HANDED_ON)}
    environment[SYNC_TIMEOUT_MS] = str(int(engine.patience_seconds * 1000))
    settings: dict[str, Any] = {"runtime_env": {"env_vars": environment}, "log_to_driver": False}
    if engine.ray_address:
        settings["address"] = engine.ray_address
    else:
        settings |= {"address": "local", "include_dashboard": False}
        # If this process is killed, the others notice after this time and end; Ray's own default is a minute.
        os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "5")
        if on_cpu():
            # Logical ones: Ray hands them out by number.
            settings |= {"num_cpus": CORES_PER_DEVICE * engine.world + 4, "num_gpus": engine.world}
    try:
        # In this very thread: Ray's processes end with the thread that started them. Its own waits have limits.
        ray.init(**settings)
    except Exception as error:
        where = f"join Ray at engine.ray_address = {engine.ray_address!r}" if engine.ray_address else "start Ray here"
        raise EngineLost(
            f"cannot {where}: {type(error).__name__}: {last_line(error)}; `ray status` says whether a cluster is there"
        ) from error
    return True


def check_offer(config: Config) -> None:
    """Refuse a cluster that has too few devices, and say what it has."""
    engine = config.engine
    resource = get_platform().ray_resource_name()
    offered = [int(node["Resources"].get(resource, 0)) for node in ray.nodes() if node["Alive"]]
    if sum(count >= engine.devices_per_node for count in offered) < engine.nodes:
        raise ConfigError(
            f"engine.nodes is {engine.nodes} with engine.devices_per_node = {engine.devices_per_node}; Ray offers "
            f"{', '.join(map(str, offered)) or 'no'} devices on its nodes. Lower them, or start Ray on more nodes"
        )


def free_cores(node: dict[str, Any]) -> int:
    """Return how many of a node's CPUs its devices leave over."""
    resources = node["Resources"]
    devices = int(resources.get(get_platform().ray_resource_name(), 0))
    return max(0, int(resources.get("CPU", 0)) - CORES_PER_DEVICE * devices)
