"""`evoenv pool pack RUN DIR`, `evoenv pool unpack DIR RUN`: a pool as a plain directory, and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from evoenv.assembly import open_sandbox
from evoenv.cli.common import console, print_json, progress_bar, visible
from evoenv.cli.exchanging import add_trust_options
from evoenv.config import load_config
from evoenv.errors import InputError
from evoenv.exchange.bundle import SEEDS, modules_of, read_entries
from evoenv.exchange.checking import allowed_modules, judged
from evoenv.exchange.export import check_output
from evoenv.exchange.folder import find_pool, new_directory, write_pool
from evoenv.exchange.runs import create_run
from evoenv.presets import preset
from evoenv.store.database import is_run


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A packed pool is a directory with one source file and one metadata file per environment, readable "
        "in a diff. Packing the same pool twice gives the same bytes."
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    pack = actions.add_parser("pack", help="write a run's pool to a new directory", description=pack_pool.__doc__)
    pack.add_argument("source", metavar="RUN", help="a run, or `seeds`")
    pack.add_argument("directory", type=Path, metavar="DIR", help="a new directory")
    pack.set_defaults(run=pack_pool)
    unpack = actions.add_parser("unpack", help="begin a run with a packed pool", description=unpack_pool.__doc__)
    unpack.add_argument("source", type=Path, metavar="DIR", help="a packed pool, or an export")
    unpack.add_argument("directory", type=Path, metavar="RUN", help="a new run's directory")
    unpack.add_argument("--preset", metavar="P", help="the run's configuration: nano, laptop, …")
    unpack.set_defaults(run=unpack_pool)
    for action in (pack, unpack):
        add_trust_options(action)


def pack_pool(arguments: argparse.Namespace) -> int:
    """Write every environment that a run ever admitted, with its place in the pool, to a new directory."""
    if arguments.source != SEEDS and not is_run(Path(arguments.source)):
        raise InputError(
            f"there is no run in {arguments.source}; for files and folders use `evoenv import … --pool DIR`"
        )
    check_output(arguments.directory, "DIR")
    entries = read_entries(arguments.source, modules=allowed_modules(arguments.allow_module))
    if not entries:
        raise InputError(f"the pool of {arguments.source} is empty; a run enters its first environments when it starts")
    with (
        open_sandbox(allow_degraded=arguments.allow_degraded, modules=modules_of(entries)) as sandbox,
        progress_bar("validating", quiet=arguments.json) as progress,
    ):
        entries = judged(entries, sandbox, progress)
    with new_directory(arguments.directory) as staged:
        write_pool(entries, staged)
    return say(arguments, "packed", len(entries))


def unpack_pool(arguments: argparse.Namespace) -> int:
    """Begin a run with the environments of a packed pool, in their old places: active or retired, level, epochs."""
    if find_pool(arguments.source) is None:
        raise InputError(f"there is no packed pool in {arguments.source} (pool.json is missing); check the path")
    check_output(arguments.directory, "RUN")
    config = load_config(*([preset(arguments.preset)] if arguments.preset else []))
    entries = read_entries(arguments.source, trust=arguments.trust, modules=allowed_modules(arguments.allow_module))
    with (
        open_sandbox(allow_degraded=arguments.allow_degraded, modules=modules_of(entries)) as sandbox,
        progress_bar("validating", quiet=arguments.json) as progress,
    ):
        entries = judged(entries, sandbox, progress)
    if failed := [entry for entry in entries if not entry.report.passed]:
        first = failed[0].report.findings[0]
        raise InputError(
            f"{failed[0].name} does not pass validation here ({first.code}: {first.message}); remove its two files, or "
            "take those that pass with `evoenv import`"
        )
    create_run(arguments.directory, entries, config)
    return say(arguments, "unpacked", len(entries))


def say(arguments: argparse.Namespace, done: str, count: int) -> int:
    if arguments.json:
        print_json({"output": str(arguments.directory), "environments": count})
    else:
        text = f"{done} {count} environments into {arguments.directory}"
        console().print(visible(text), markup=False, soft_wrap=True)
    return 0
