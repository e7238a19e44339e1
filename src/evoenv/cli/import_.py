"""`evoenv import SOURCE (--pool DIR | --run DIR)`: take environments in from elsewhere, each through validation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evoenv.assembly import open_sandbox
from evoenv.cli.common import console, print_json, progress_bar, visible
from evoenv.cli.exchanging import add_trust_options
from evoenv.config import load_config
from evoenv.environment.held_out import held_out_names, names_of, read_excluded
from evoenv.errors import InputError
from evoenv.exchange.bundle import PoolEntry, modules_of, read_entries
from evoenv.exchange.checking import allowed_modules, hint_for, judged
from evoenv.exchange.export import check_output
from evoenv.exchange.folder import POOL_NAME, extend_pool, read_pool
from evoenv.exchange.runs import create_run, extend_run
from evoenv.presets import preset
from evoenv.store.database import is_run
from evoenv.wording import plural

SHOWN = 40
"""How many refused environments are listed; --json lists all."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Validate environments from elsewhere and put those that pass into a packed pool or a run, with "
        "origin and licence. What is there already stays as it is."
    )
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="an environment file, a folder of them, RLVE-Gym's Gym folder, a packed pool, an export, a run, `seeds`, "
        "corpus:SPLIT:N, or reasoning-gym:NAME,NAME…",
    )
    destination = parser.add_mutually_exclusive_group(required=True)
    destination.add_argument("--pool", type=Path, metavar="DIR", help="a packed pool, new or to be added to")
    destination.add_argument(
        "--run", dest="run_directory", type=Path, metavar="DIR", help="a run, new or to be added to"
    )
    parser.add_argument("--preset", metavar="P", help="the configuration of a new run: nano, laptop, …")
    parser.add_argument("--origin", metavar="TEXT", help="where they come from (default: the folder's name)")
    parser.add_argument("--licence", metavar="SPDX", help="their licence (default: read off a LICENSE file)")
    parser.add_argument(
        "--exclude", type=Path, action="append", default=[], metavar="FILE",
        help="leave out the environments that a file names, one name or id a line; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--held-out-of", type=Path, metavar="DIR", help="leave out what a checkout of RLVE holds out for evaluation"
    )
    add_trust_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    modules = allowed_modules(arguments.allow_module)
    check_place(arguments)
    excluded = excluded_names(arguments)
    sources, left_out = split_entries(read_source_entries(arguments, modules), excluded)
    if left_out and not sources:
        raise InputError(
            f"all {len(left_out)} environments of {arguments.source} are excluded; nothing is left to import"
        )
    with (
        open_sandbox(allow_degraded=arguments.allow_degraded, modules=modules_of(sources)) as sandbox,
        progress_bar("validating", quiet=arguments.json) as progress,
    ):
        entries = judged(sources, sandbox, progress)
    passed = [replace(entry, original=True, active=True) for entry in entries if entry.report.passed]
    refused = [entry for entry in entries if not entry.report.passed]
    added = land(arguments, passed) if passed else []
    unknown = excluded - {name for entry in left_out for name in names_of(entry.source, entry.name)}
    report(arguments, added, passed, refused, left_out, sorted(unknown))
    return 0 if passed else 1


def excluded_names(arguments: argparse.Namespace) -> set[str]:
    """Read which environments the flags leave out, by name or id."""
    names = {name for path in arguments.exclude for name in read_excluded(path)}
    if arguments.held_out_of is not None:
        names.update(held_out_names(arguments.held_out_of))
    return names


def split_entries(entries: Sequence[PoolEntry], excluded: set[str]) -> tuple[list[PoolEntry], list[PoolEntry]]:
    """Separate the entries to be imported from those that are left out."""
    kept: list[PoolEntry] = []
    left_out: list[PoolEntry] = []
    for entry in entries:
        (kept if names_of(entry.source, entry.name).isdisjoint(excluded) else left_out).append(entry)
    return kept, left_out


def check_place(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, a place that cannot take environments."""
    directory: Path = arguments.pool or arguments.run_directory
    if arguments.preset and (arguments.pool or is_run(directory)):
        raise InputError("--preset configures a new run; leave it out")
    if arguments.pool and (directory / POOL_NAME).is_file():
        read_pool(directory)
    elif not (arguments.run_directory and is_run(directory)):
        check_output(directory, "--pool" if arguments.pool else "--run")


def read_source_entries(arguments: argparse.Namespace, modules: tuple[str, ...]) -> list[PoolEntry]:
    return read_entries(
        arguments.source, trust=arguments.trust, origin=arguments.origin, licence=arguments.licence, modules=modules
    )


def land(arguments: argparse.Namespace, passed: Sequence[PoolEntry]) -> list[PoolEntry]:
    """Put the environments where they are to go; return those that were not there yet."""
    if arguments.pool:
        return extend_pool(arguments.pool, passed)
    if is_run(arguments.run_directory):
        return extend_run(arguments.run_directory, passed)
    create_run(arguments.run_directory, passed, load_config(*([preset(arguments.preset)] if arguments.preset else [])))
    return list(passed)


def report(
    arguments: argparse.Namespace,
    added: Sequence[PoolEntry],
    passed: Sequence[PoolEntry],
    refused: Sequence[PoolEntry],
    left_out: Sequence[PoolEntry],
    unknown: Sequence[str],
) -> None:
    """Say what was imported, refused and left out; `unknown` was to be left out and is not in the source."""
    destination = arguments.pool or arguments.run_directory
    if arguments.json:
        print_json(
            {
                "output": str(destination),
                "imported": [described(entry) for entry in added],
                "present": len(passed) - len(added),
                "excluded": [described(entry) for entry in left_out],
                "excluded_unknown": list(unknown),
                "refused": [
                    described(entry)
                    | {
                        "layer": entry.report.layer,
                        "findings": [
                            {
                                "code": finding.code,
                                "message": finding.message,
                                "hint": hint_for(finding),
                            }
                            for finding in entry.report.findings
                        ],
                    }
                    for entry in refused
                ],
            }
        )
        return
    screen = console(stderr=True)
    for entry in refused[:SHOWN]:
        first = entry.report.findings[0]
        line = f"refused {entry.name} ({entry.origin}): {first.code} {first.message}; "
        screen.print(visible(line + hint_for(first)), markup=False, soft_wrap=True)
    if len(refused) > SHOWN:
        screen.print(f"… and {len(refused) - SHOWN} more; --json lists them all", markup=False)
    if unknown:
        names = ", ".join(unknown[:SHOWN])
        line = f"{plural(len(unknown), 'name')} to leave out, not in {arguments.source}: {names}"
        screen.print(visible(line), markup=False, soft_wrap=True)
    present = f", {len(passed) - len(added)} there already" if len(passed) > len(added) else ""
    line = f"imported {len(added)} of {len(passed) + len(refused)} environments into {destination}{present}"
    if left_out:
        line += f"; left out, as asked: {len(left_out)} ({', '.join(entry.name for entry in left_out[:SHOWN])})"
    console().print(visible(line), markup=False, soft_wrap=True)


def described(entry: PoolEntry) -> dict[str, Any]:
    return {"id": entry.id, "name": entry.name, "origin": entry.origin, "licence": entry.licence}
