"""Start-up canaries: each layer that the zygote claims is attacked once, harmlessly, before it is believed."""

from __future__ import annotations

from dataclasses import dataclass

from evoenv.sandbox.launcher import Zygote
from evoenv.sandbox.outcomes import Limits
from evoenv.sandbox.process import Exchange, WorkerProcess

CANARY_CPU_S = 2.0
CANARY_WALL_S = 20.0


@dataclass(frozen=True, slots=True)
class Canary:
    """An attack of `guest/canary.py` and the layer that must stop it."""

    attack: str
    layer: str
    off: tuple[str, ...] = ("seccomp", "rlimits")
    """Layers that would stop it first and so hide the one under test."""
    fatal: bool = False
    """The system call filter kills for it, so it needs a worker of its own."""


CANARIES = (
    Canary("read_root_directory", "landlock"),
    Canary("see_a_system_directory", "namespaces:mnt"),
    Canary("see_a_network_interface", "namespaces:net"),
    Canary("see_other_processes", "namespaces:pid"),
    Canary("be_root", "uid"),
    Canary("use_a_capability", "capabilities"),
    Canary("open_a_descriptor", "rlimits", off=("seccomp",)),
    Canary("raise_a_limit", "rlimits", off=("seccomp",)),
    Canary("read_the_environment", "seccomp", off=()),
    Canary("map_executable_memory", "seccomp", off=()),
    Canary("open_a_file", "seccomp", off=()),
    Canary("learn_the_pid", "seccomp", off=()),
    Canary("open_a_socket", "seccomp", off=(), fatal=True),
    Canary("fork_a_process", "seccomp", off=(), fatal=True),
    Canary("signal_the_parent", "seccomp", off=(), fatal=True),
)


@dataclass(frozen=True, slots=True)
class CanaryResult:
    canary: Canary
    held: bool
    detail: str
    """What stopped it, or the evidence that nothing did."""


def layer_is_on(layer: str, layers: tuple[str, ...]) -> bool:
    """Return whether a layer is on: `namespaces:net` is if the zygote lists `net` among its namespaces."""
    family, _, part = layer.partition(":")
    for claimed in layers:
        name, _, parts = claimed.partition(":")
        if name == family and (not part or part in parts.split(",")):
            return True
    return False


def run_canaries(zygote: Zygote, limits: Limits) -> list[CanaryResult]:
    """Attack every claimed layer, in as few throw-away workers as the attacks allow."""
    groups: dict[object, list[Canary]] = {}
    for canary in CANARIES:
        if layer_is_on(canary.layer, zygote.layers):
            groups.setdefault(canary if canary.fatal else canary.off, []).append(canary)
    return [result for group in groups.values() for result in _attack(zygote, limits, group)]


def _attack(zygote: Zygote, limits: Limits, canaries: list[Canary]) -> list[CanaryResult]:
    process = WorkerProcess(zygote, limits, off=canaries[0].off)
    try:
        exchange: Exchange = process.call(
            "canary",
            {},
            [canary.attack for canary in canaries],
            expected=len(canaries),
            cpu_s=CANARY_CPU_S,
            wall_s=CANARY_WALL_S,
        )
    finally:
        process.close()
    results = []
    for index, canary in enumerate(canaries):
        if index < len(exchange.results):
            verdict = exchange.results[index]
            results.append(CanaryResult(canary, verdict[0] != "ok", str(verdict[-1] or verdict[2])))
        elif exchange.death is not None and canary.fatal:
            results.append(CanaryResult(canary, exchange.death.kind == "killed", exchange.death.reason))
        else:
            reason = "no answer" if exchange.death is None else exchange.death.reason
            results.append(CanaryResult(canary, False, f"the canary's worker failed: {reason}"))
    return results
