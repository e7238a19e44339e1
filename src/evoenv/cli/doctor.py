"""`evoenv doctor`: what this machine offers: sandbox layers, packages, models; what is missing and how to get it."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evoenv.cli.common import add_json_option, console, parse_levels, print_json
from evoenv.cli.engine_check import try_engine
from evoenv.diagnosis import examine, examine_memory
from evoenv.errors import InputError
from evoenv.memory import GB
from evoenv.presets import preset_names
from evoenv.settings import run_config


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    add_json_option(parser)
    parser.add_argument(
        "--preset", metavar="P", help=f"also what it needs of each device's memory: {', '.join(preset_names())}"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="A.B=V", dest="overrides", help="a setting of the preset or trial"
    )
    parser.add_argument("--devices", default="2,4,8", metavar="N,…", help="worlds of several devices (2,4,8)")
    parser.add_argument(
        "--tensor-parallel", type=int, default=1, metavar="N", help="devices over which the sampler is cut (1)"
    )
    parser.add_argument("--device-memory", type=float, default=80, metavar="GB", help="of each of several devices (80)")
    parser.add_argument("--engine", metavar="NAME", help="try an engine out instead, in a few minutes: local, verl")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; return 0 if model-written code can be confined and a preset that is named may run here."""
    if arguments.engine:
        return try_engine(arguments)
    report = examine()
    if arguments.preset is not None:
        if arguments.tensor_parallel < 1 or arguments.device_memory <= 0:
            raise InputError(
                f"--tensor-parallel is {arguments.tensor_parallel} and --device-memory {arguments.device_memory:g}; "
                "expected 1 or more, and a number above 0"
            )
        worlds = parse_levels(arguments.devices, "--devices")
        if 0 in worlds:
            raise InputError("--devices has 0; expected numbers of devices, as 2,4,8")
        report["preset"] = {
            "name": arguments.preset,
            **examine_memory(
                run_config(arguments.preset, overrides=arguments.overrides),
                worlds=worlds,
                tensor_parallel=arguments.tensor_parallel,
                device_memory=int(arguments.device_memory * GB),
            ),
        }
    elif arguments.overrides:
        raise InputError("--set changes a preset; name one with --preset")
    if arguments.json:
        print_json(report)
    else:
        show(report, console())
        if "preset" in report:
            show_memory(report["preset"], console())
    return 0 if report["sandbox"]["ok"] and not report.get("preset", {}).get("refusal") else 1


def show(report: dict[str, Any], out: Console) -> None:
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
    for extra, versions in report["packages"].items():
        listed = ", ".join(
            f"{name} {version}" if version else f"[yellow]no {name}[/]" for name, version in versions.items()
        )
        rows.add_row(extra, listed)
    out.print(rows)

    out.print("\n[bold]Models[/]")
    rows = table()
    for model in report["models"]:
        location = (
            escape(model["path"]) if model["path"] else f"not here ({model['download_bytes'] / 1e6:.0f} MB to fetch)"
        )
        rows.add_row("[green]here[/]" if model["path"] else "[yellow]absent[/]", model["name"], location)
    out.print(rows)

    if report["advice"]:
        out.print("\n[bold]What is missing, and how to get it[/]")
        for line in report["advice"]:
            out.print(f"- {escape(line)}")


def show_memory(preset: dict[str, Any], out: Console) -> None:
    """Print what a preset needs as a table: one row for each use, one column for each number of devices."""
    out.print(f"\n[bold]Memory of each device for {escape(preset['name'])}[/] ({escape(preset['model'])})")
    if not preset["needs"]:
        out.print("The shape of this model is not known here: give model.name a directory with its config.json.")
        return
    needs = preset["needs"]
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    rows.add_column("GB")
    for need in needs:
        rows.add_column(need["where"], justify="right")

    def row(title: str, values: list[int | None], style: str = "") -> None:
        cells = ["" if value is None else f"{value / GB:.1f}" for value in values]
        rows.add_row(title, *cells, style=style)

    for phase, title in (("held", "always"), ("sampling", "while sampling"), ("training", "while training")):
        parts = dict.fromkeys(name for need in needs for name in need[phase])
        rows.add_row(f"[dim]{title}[/]")
        for part in parts:
            values = [need[phase].get(part) for need in needs]
            if any(values):
                row(f"  {part}", values)
    row("peak", [need["peak"] for need in needs], "bold")
    row("at least", [need["least"] for need in needs])
    device = preset["device"]
    memories = [None if device is None else device["memory"], *[preset["device_memory"]] * (len(needs) - 1)]
    row("there is", memories)
    fits = {None: "", True: "[green]yes[/]", False: "[red]no[/]"}
    rows.add_row("fits", *(fits[need["fits"]] for need in needs))
    out.print(rows)
    out.print(
        "The peak is reached if prompts and responses are as long as they may be; every update takes at least the line "
        "below it. Several devices: the training state is cut over all of them (FSDP); computed, not measured.",
        style="dim",
    )
    if preset["refusal"]:
        out.print(f"[red]Refused here:[/] {escape(preset['refusal'])}")
    elif not needs[0]["fits"]:
        out.print("It may run here while texts stay shorter than they may be. What would fit in any case:")
        for option in preset["options"]:
            out.print(f"- {escape(option)}")
