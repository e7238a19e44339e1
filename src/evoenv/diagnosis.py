"""What this machine offers: sandbox layers, packages, models; what is missing and how to get it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evoenv import __version__
from evoenv.assembly import open_sandbox
from evoenv.config import Config
from evoenv.errors import SandboxError
from evoenv.memory import (
    GB,
    SPARE,
    DeviceKind,
    Need,
    local_need,
    refusal,
    sharded_need,
    sharded_refusal,
    smallest_world,
    what_fits,
)
from evoenv.models.cache import cache_root
from evoenv.models.devices import find_device
from evoenv.models.registry import PACKAGED_MODELS
from evoenv.models.shapes import find_shape
from evoenv.sandbox.host import Sandbox

PACKAGES: dict[str, tuple[str, ...]] = {
    "core": ("msgspec", "numpy", "rich"),
    "local": ("torch", "transformers", "safetensors", "accelerate", "gguf", "huggingface_hub", "peft", "tokenizers"),
    "endpoint": ("httpx",),
}
"""By extra; a test compares them with pyproject.toml."""

ADVICE = {
    "seccomp": "needs Linux on x86_64 or aarch64 with CONFIG_SECCOMP_FILTER; a container must not forbid seccomp. "
    "Until then EvoEnv refuses to run model-written code (--allow-degraded overrides, for trusted code only)",
    "landlock": "needs Linux 5.13 or newer with `landlock` in the boot parameter lsm=; the other layers stand without",
    "namespaces": "containers and some distributions forbid them (Docker: use a seccomp profile that allows unshare; "
    "Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0); the other layers stand without",
    "rlimits": "the kernel refused to lower limits; look at `ulimit -a`",
    "capabilities": "the kernel refused to drop capabilities; report this",
    "no-new-privs": "needs Linux 3.5 or newer",
    "oom-first": "/proc cannot be written here; when memory runs out the kernel may take another process than a worker",
    "pidfd": "needs Linux 5.3 or newer; without it workers are not stopped between calls",
}


def examine() -> dict[str, Any]:
    """Return everything that is examined, as plain values."""
    sandbox = examine_sandbox()
    packages = {extra: {name: _version_of(name) for name in names} for extra, names in PACKAGES.items()}
    models = find_models()
    return {
        "evoenv": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "machine": describe_machine(),
        "sandbox": sandbox,
        "packages": packages,
        "models": models,
        "advice": advise(sandbox, packages, models),
    }


def describe_machine() -> dict[str, Any]:
    """Describe processor, cores, memory and kernel: what a measurement needs to be read."""
    processor = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
        memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (OSError, ValueError):
        memory_mb = None
    return {
        "processor": processor,
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "memory_mb": memory_mb,
        "system": f"{platform.system()} {platform.release()}",
    }


def examine_sandbox() -> dict[str, Any]:
    """Start a sandbox, with its canaries; if it refuses, start it degraded to see what there is."""
    started = time.perf_counter()
    try:
        with open_sandbox() as sandbox:
            elapsed_ms = (time.perf_counter() - started) * 1000
            return {"ok": True, "error": None, "start_ms": round(elapsed_ms, 1), **_layers_of(sandbox)}
    except SandboxError as error:
        refusal = str(error)
    try:
        with open_sandbox(allow_degraded=True) as sandbox:
            return {"ok": False, "error": refusal, "start_ms": None, **_layers_of(sandbox)}
    except SandboxError:
        return {"ok": False, "error": refusal, "start_ms": None, "layers": [], "missing": {}, "canaries": []}


def _layers_of(sandbox: Sandbox) -> dict[str, Any]:
    return {
        "layers": list(sandbox.layers),
        "missing": dict(sandbox.missing),
        "canaries": [
            {
                "attack": result.canary.attack,
                "layer": result.canary.layer,
                "held": result.held,
                "detail": result.detail,
            }
            for result in sandbox.canaries
        ],
    }


def _version_of(distribution: str) -> str | None:
    """Read a version from the package's metadata: importing torch takes seconds and proves no more."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def find_models() -> list[dict[str, Any]]:
    """List the models that EvoEnv can name, and whether their weights are on this machine."""
    hub = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface") / "hub"
    models = []
    for model in PACKAGED_MODELS.values():
        places = (
            cache_root() / "models" / model.cache_key,
            hub / ("models--" + model.hub_id.replace("/", "--")),
        )
        path = next((str(directory) for directory in places if directory.is_dir()), None)
        models.append({"name": model.name, "path": path, "download_bytes": model.download_bytes})
    return models


def advise(sandbox: dict[str, Any], packages: dict[str, Any], models: list[dict[str, Any]]) -> list[str]:
    """Write one line per thing that is missing and worth having."""
    lines = [
        f"sandbox layer {name}: {ADVICE[name.partition(':')[0]]}"
        for name in sandbox["missing"]
        if name.partition(":")[0] in ADVICE
    ]
    if sandbox["error"] and not sandbox["missing"]:
        lines.append(f"sandbox: {sandbox['error']}")
    for extra, versions in packages.items():
        absent = [name for name, version in versions.items() if version is None]
        if absent and extra == "core":
            lines.append(f"packages {', '.join(absent)}: reinstall EvoEnv (pip install evoenv)")
        elif absent:
            purpose = {"local": "a policy on this machine", "endpoint": "a policy behind an OpenAI-compatible server"}
            lines.append(f"packages {', '.join(absent)}: pip install 'evoenv[{extra}]', for {purpose[extra]}")
    lines += [f"model {model['name']}: downloaded when a run first needs it" for model in models if not model["path"]]
    return lines


# --------------------------------------------------------------------------- what a configuration needs


def examine_memory(
    config: Config, *, worlds: Sequence[int] = (2, 4, 8), tensor_parallel: int = 1, device_memory: int = 80 * GB
) -> dict[str, Any]:
    """Estimate, in bytes, what a configuration needs of this machine, and of each device if it is sharded over several.

    `worlds`: numbers of devices with `device_memory` bytes each.
    """
    shape = find_shape(config.model.name)
    device = find_device(config.model.device)
    facts: dict[str, Any] = {
        "model": config.model.name,
        "parameters": None,
        "device": None,
        "needs": [],
        "refusal": None,
        "options": [],
    }
    if device is not None:
        facts["device"] = {"kind": device.kind, "name": device.name, "memory": device.memory}
    if shape is None:
        return facts
    kind: DeviceKind = "gpu" if device is not None and device.kind == "gpu" else "cpu"
    here = local_need(shape, config, device=kind)
    facts["needs"] = [
        _need_facts("this machine alone", here, 1, None if device is None else device.memory, 1.0),
        *(
            _need_facts(
                f"{world} devices" if world > 1 else "1 device",
                sharded_need(shape, config, devices=world, tensor_parallel=min(tensor_parallel, world)),
                world,
                device_memory,
                SPARE,
            )
            for world in worlds
        ),
    ]
    if device is not None:
        refuse = sharded_refusal if config.engine.name == "verl" else refusal
        facts["refusal"] = refuse(config.model.name, shape, config, device.memory, device=kind)
        facts["options"] = [str(option) for option in what_fits(shape, config, device.memory, device=kind)]
    return {
        **facts,
        "parameters": shape.parameters,
        "device_memory": device_memory,
        "smallest_world": smallest_world(shape, config, device_memory, tensor_parallel=tensor_parallel),
    }


def _need_facts(where: str, need: Need, devices: int, memory: int | None, usable: float) -> dict[str, Any]:
    return {
        "where": where,
        "devices": devices,
        "held": {part.name: part.bytes for part in need.held},
        "sampling": {part.name: part.bytes for part in need.sampling},
        "training": {part.name: part.bytes for part in need.training},
        "peak": need.peak,
        "least": need.least,
        "fits": None if memory is None else need.peak <= usable * memory,
    }
