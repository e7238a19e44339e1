"""`evoenv doctor`: what this machine offers: sandbox layers, packages, models; what is missing and how to get it."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.cli.common import console, print_json
from evoenv.errors import SandboxError

if TYPE_CHECKING:
    from rich.console import Console

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


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("doctor", help="check this machine", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0 where model-written code can be confined, 1 where it cannot."""
    report = examine()
    if arguments.json:
        print_json(report)
    else:
        show(report, console())
    return 0 if report["sandbox"]["ok"] else 1


def examine() -> dict[str, Any]:
    """Everything as plain values."""
    sandbox = examine_sandbox()
    packages = {extra: {name: _version_of(name) for name in names} for extra, names in PACKAGES.items()}
    models = find_models()
    return {
        "evoenv": _evoenv_version(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "machine": describe_machine(),
        "sandbox": sandbox,
        "packages": packages,
        "models": models,
        "advice": advise(sandbox, packages, models),
    }


def describe_machine() -> dict[str, Any]:
    """Processor, cores, memory and kernel: what a measurement needs to be read."""
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
    """Start a sandbox, with its canaries; where it refuses, start it degraded to see what there is."""
    from evoenv.assembly import open_sandbox

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
    """From the package's metadata: importing torch takes seconds and proves no more."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _evoenv_version() -> str:
    from evoenv import __version__

    return __version__


def find_models() -> list[dict[str, Any]]:
    """The models that EvoEnv can name, and whether their weights are on this machine."""
    from evoenv.models.cache import cache_root
    from evoenv.models.registry import PACKAGED_MODELS

    hub = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface") / "hub"
    models = []
    for model in PACKAGED_MODELS.values():
        places = (
            cache_root() / "models" / model.cache_key,
            hub / ("models--" + model.hub_id.replace("/", "--")),
        )
        found = next((str(place) for place in places if place.is_dir()), None)
        models.append({"name": model.name, "path": found, "download_bytes": model.wheel_bytes})
    return models


def advise(sandbox: dict[str, Any], packages: dict[str, Any], models: list[dict[str, Any]]) -> list[str]:
    """One line per thing that is missing and worth having."""
    lines = [
        f"sandbox layer {name}: {ADVICE[name.partition(':')[0]]}"
        for name in sandbox["missing"]
        if name.partition(":")[0] in ADVICE
    ]
    if sandbox["error"] and not sandbox["missing"]:
        lines.append(f"sandbox: {sandbox['error']}")
    for extra, found in packages.items():
        absent = [name for name, version in found.items() if version is None]
        if absent and extra == "core":
            lines.append(f"packages {', '.join(absent)}: reinstall EvoEnv (pip install evoenv)")
        elif absent:
            purpose = {"local": "a policy on this machine", "endpoint": "a policy behind an OpenAI-compatible server"}
            lines.append(f"packages {', '.join(absent)}: pip install 'evoenv[{extra}]', for {purpose[extra]}")
    lines += [f"model {model['name']}: downloaded when a run first needs it" for model in models if not model["path"]]
    return lines


def show(report: dict[str, Any], out: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    def table() -> Table:
        return Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))

    machine, sandbox = report["machine"], report["sandbox"]
    out.print(f"[bold]evoenv {report['evoenv']}[/] on Python {report['python']} ({escape(report['executable'])})")
    memory = f"{machine['memory_mb'] / 1024:.0f} GB, " if machine["memory_mb"] else ""
    out.print(escape(f"{machine['processor']}, {machine['cores']} cores, {memory}{machine['system']}"))

    verdict = (
        f"[green]ready[/] in {sandbox['start_ms']:.0f} ms"
        if sandbox["ok"]
        else f"[red]not safe:[/] {escape(sandbox['error'])}"
    )
    out.print(f"\n[bold]Sandbox[/] {verdict}")
    rows = table()
    for layer in sandbox["layers"]:
        attacks = [
            canary for canary in sandbox["canaries"] if canary["layer"].partition(":")[0] == layer.partition(":")[0]
        ]
        held = sum(canary["held"] for canary in attacks)
        rows.add_row("[green]on[/]", escape(layer), f"{held} of {len(attacks)} canaries stopped" if attacks else "")
    for name, reason in sandbox["missing"].items():
        rows.add_row("[yellow]off[/]", escape(name), escape(reason))
    out.print(rows)

    out.print("\n[bold]Packages[/]")
    rows = table()
    for extra, found in report["packages"].items():
        listed = ", ".join(
            f"{name} {version}" if version else f"[yellow]no {name}[/]" for name, version in found.items()
        )
        rows.add_row(extra, listed)
    out.print(rows)

    out.print("\n[bold]Models[/]")
    rows = table()
    for model in report["models"]:
        place = (
            escape(model["path"]) if model["path"] else f"not here ({model['download_bytes'] / 1e6:.0f} MB to fetch)"
        )
        rows.add_row("[green]here[/]" if model["path"] else "[yellow]absent[/]", model["name"], place)
    out.print(rows)

    if report["advice"]:
        out.print("\n[bold]What is missing, and how to get it[/]")
        for line in report["advice"]:
            out.print(f"- {escape(line)}")
