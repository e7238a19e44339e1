"""`evoenv audit SUITE`: verdicts with evidence that can be replayed, on somebody else's environments."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from evoenv.assembly import open_sandbox
from evoenv.cli.common import (
    add_allow_degraded,
    add_allow_module,
    add_json_option,
    console,
    print_json,
    progress_bar,
    visible,
)
from evoenv.errors import InputError
from evoenv.exchange.checking import allowed_modules
from evoenv.suite_audit.page import summary, write_pages
from evoenv.suite_audit.suites import EXPECTED, read_suite
from evoenv.suite_audit.verdicts import audit


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Judge every set of a suite on all cores and write a page with every verdict and its evidence. Kill it and "
        "start it again: sets that have a verdict are not judged again."
    )
    parser.add_argument("suite", metavar="SUITE", help=EXPECTED)
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="where to (default: audit-NAME)")
    add_allow_module(parser)
    parser.add_argument("--jobs", type=int, metavar="N", help="sets judged at once (default: all cores)")
    add_json_option(parser)
    add_allow_degraded(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.jobs is not None and arguments.jobs < 1:
        raise InputError(f"--jobs is {arguments.jobs}; expected 1 or more (leave it out to use all cores)")
    members, modules = read_suite(arguments.suite, allowed_modules(arguments.allow_module))
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(arguments.suite).name or "suite").strip("-")[:60]
    directory = arguments.output or Path(f"audit-{name}")
    with (
        open_sandbox(modules=modules, allow_degraded=arguments.allow_degraded, workers=arguments.jobs) as sandbox,
        progress_bar("judging", quiet=arguments.json) as progress,
    ):
        verdicts = audit(members, sandbox, directory, workers=arguments.jobs, progress=progress)
    page, document = write_pages(arguments.suite, verdicts, directory)
    facts = summary(arguments.suite, verdicts)
    if arguments.json:
        print_json({**facts, "page": str(page), "document": str(document)})
        return 0
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in facts["outcomes"].items())
    console().print(visible(f"{facts['sets']} sets: {outcomes}; {page}"), markup=False, soft_wrap=True)
    return 0
