"""`evoenv export SOURCE --to FORMAT -o DIR`: write a pool the way another project wants to read it."""

from __future__ import annotations

import argparse
from pathlib import Path

from evoenv.assembly import open_sandbox
from evoenv.cli.common import console, parse_levels, print_json, progress_bar, visible
from evoenv.cli.exchanging import add_trust_options
from evoenv.errors import InputError
from evoenv.exchange.bundle import PoolEntry, modules_of, read_entries
from evoenv.exchange.checking import allowed_modules, judged
from evoenv.exchange.export import FORMATS, Export, check_output, check_verified, choose, run_export, slug


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write verified environments the way another project reads them. Every export carries a scorer "
        "that needs nothing but Python, and stamps version, source hash and verdict on each environment."
    )
    parser.add_argument(
        "source", metavar="SOURCE", help="a run, a packed pool, an export, environment files, or `seeds`"
    )
    parser.add_argument("--to", required=True, choices=tuple(FORMATS), metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR", help="a new directory")
    parser.add_argument("--name", metavar="NAME", help="of the data set or package (default: the directory's name)")
    parser.add_argument(
        "--instances", type=int, default=64, metavar="N", help="training instances per environment (default 64)"
    )
    parser.add_argument(
        "--test-instances", type=int, default=8, metavar="N", help="test instances per environment (default 8)"
    )
    parser.add_argument(
        "--difficulties", default="0-3", metavar="A-B|A,B,…", help="levels to spread them over (default 0-3)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="another seed draws other instances")
    parser.add_argument("--active", action="store_true", help="leave out what the run has retired")
    parser.add_argument("--without-originals", action="store_true", help="leave out what the run began with")
    parser.add_argument("--only", action="append", metavar="NAME|ID", help="this environment alone; may be repeated")
    add_trust_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    for flag, least in (("instances", 1), ("test_instances", 0), ("seed", 0)):
        if getattr(arguments, flag) < least:
            value = getattr(arguments, flag)
            raise InputError(f"--{flag.replace('_', '-')} is {value}; expected {least} or more")
    difficulties = tuple(sorted(parse_levels(arguments.difficulties)))
    name = slug(arguments.name or arguments.output.absolute().name)
    check_output(arguments.output)
    entries = read_entries(arguments.source, trust=arguments.trust, modules=allowed_modules(arguments.allow_module))
    chosen = choose(
        entries, arguments.source,
        only_active=arguments.active, originals=not arguments.without_originals, only=arguments.only or (),
    )  # fmt: skip
    with open_sandbox(allow_degraded=arguments.allow_degraded, modules=modules_of(chosen)) as sandbox:
        with progress_bar("validating", quiet=arguments.json) as progress:
            chosen = judged(chosen, sandbox, progress)
        check_verified(chosen)
        with progress_bar("drawing", quiet=arguments.json) as progress:
            export = Export(
                tuple(chosen),
                arguments.output,
                sandbox,
                name=name,
                instances=arguments.instances,
                test_instances=arguments.test_instances,
                difficulties=difficulties,
                seed=arguments.seed,
                progress=progress,
            )
            advice = run_export(export, arguments.to)
    report(arguments, chosen, export.notes, advice)
    return 0


def report(arguments: argparse.Namespace, chosen: list[PoolEntry], notes: list[str], advice: str) -> None:
    if arguments.json:
        print_json(
            {
                "format": arguments.to,
                "output": str(arguments.output),
                "environments": [{"id": entry.id, "name": entry.name} for entry in chosen],
                "notes": notes,
                "next": advice,
            }
        )
        return
    for note in notes:
        console(stderr=True).print(f"note: {visible(note)}", markup=False, soft_wrap=True)
    screen = console()
    what = f"{len(chosen)} environment{'s' if len(chosen) != 1 else ''}"
    screen.print(f"wrote {what} to {visible(str(arguments.output))}", markup=False, soft_wrap=True)
    screen.print(visible(advice), markup=False, soft_wrap=True)
