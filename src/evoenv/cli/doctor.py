"""`evoenv doctor`: what this machine offers: sandbox layers, packages, models; what is missing and how to get it."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evoenv.cli.common import console, print_json
from evoenv.diagnosis import examine


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit with 0 if model-written code can be confined, else with 1."""
    report = examine()
    if arguments.json:
        print_json(report)
    else:
        show(report, console())
    return 0 if report["sandbox"]["ok"] else 1


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
