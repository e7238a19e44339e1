"""`evoenv doctor --engine NAME`: try an engine out on this machine, and print what to report."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import tempfile
from pathlib import Path

from rich.markup import escape

from evoenv.assembly import open_policy
from evoenv.cli.common import console, print_json
from evoenv.config import load_config
from evoenv.diagnosis import describe_machine
from evoenv.engines.selfcheck import SelfCheck
from evoenv.memory import in_gb
from evoenv.models.devices import find_device
from evoenv.ports import Policy
from evoenv.presets import preset

REPORTED = ("evoenv", "torch", "transformers", "ray", "verl", "vllm", "flash_attn")


def try_engine(arguments: argparse.Namespace) -> int:
    """Run the self-check with the small model that ships with the package, or with the one that --set names."""
    own = [f"engine.name={arguments.engine}"]
    config = load_config(preset("nano"), overrides=[*own, *arguments.overrides])
    out = console()
    versions = {name: version for name in REPORTED if (version := _version_of(name)) is not None}
    machine, device = describe_machine(), find_device(config.model.device)
    findings = []
    if not arguments.json:
        devices = "no device" if device is None else f"{device.name} with {in_gb(device.memory)}"
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
        out.print(escape(f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; {devices}; {listed}"))
    with tempfile.TemporaryDirectory(prefix="evoenv-doctor-") as folder:

        def open_engine(directory: Path) -> Policy:
            return open_policy(config, learns=True, run_directory=directory)

        for finding in SelfCheck(config, open_engine, Path(folder)).run():
            findings.append(finding)
            if not arguments.json:
                mark = "[green]ok[/]    " if finding.ok else "[red]failed[/]"
                out.print(f"{mark} {finding.name:<13} {finding.seconds:6.1f} s  {escape(finding.detail)}")
    ok = all(finding.ok for finding in findings)
    if arguments.json:
        rows = [
            {"name": item.name, "ok": item.ok, "seconds": round(item.seconds, 2), "detail": item.detail}
            for item in findings
        ]
        print_json(
            {
                "engine": arguments.engine,
                "ok": ok,
                "machine": machine,
                "device": None if device is None else dataclasses.asdict(device),
                "versions": versions,
                "findings": rows,
            }
        )
    elif not ok:
        out.print("To report it, send the lines above, and for verl the logs that they name.")
    return 0 if ok else 1


def _version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
