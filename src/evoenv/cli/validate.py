"""`evoenv validate FILE…`: L1–L5 with findings; exit 0 only if all reach L5, 1 if not, 2 on misuse."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evoenv.checking import find_files, read_candidate, validate_files
from evoenv.cli.common import add_environment_options, console, parse_parameters, print_json, progress_bar, visible
from evoenv.environment.files import read_controller
from evoenv.errors import InputError
from evoenv.records import ValidationReport


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = "Check environment files in the sandbox, layers L1 to L5. Exit 0 only if all reach L5."
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="environment files, or folders of them")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--jobs", type=int, metavar="N", help="files checked at once (default: all cores)")
    add_environment_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.jobs is not None and arguments.jobs < 1:
        raise InputError(f"--jobs is {arguments.jobs}; expected 1 or more (leave it out to use all cores)")
    parameters = parse_parameters(arguments.parameters)
    controller = read_controller(arguments.controller)
    # Every file is looked at before any work starts: a misspelt name must not cost the others' time.
    files = [
        read_candidate(path, controller, has_parameters=parameters is not None) for path in find_files(arguments.files)
    ]
    paths = [file.path for file in files]
    with progress_bar("validating", quiet=arguments.json or len(files) < 2) as progress:
        reports = validate_files(
            files, parameters=parameters, workers=arguments.jobs, allow_degraded=arguments.allow_degraded,
            progress=progress,
        )  # fmt: skip
    if arguments.json:
        print_json([to_json(path, report) for path, report in zip(paths, reports, strict=True)])
    else:
        show(paths, reports)
    return 0 if all(report.passed for report in reports) else 1


def to_json(path: Path, report: ValidationReport) -> dict[str, Any]:
    return {
        "path": str(path),
        "class": report.class_name,
        "dialect": report.dialect,
        "layer": report.layer,
        "findings": [
            {"code": finding.code, "layer": finding.layer, "message": finding.message, "hint": finding.hint}
            for finding in report.findings
        ],
        "seconds": round(report.seconds, 4),
        "sandbox": list(report.sandbox),
    }


def show(paths: Sequence[Path], reports: Sequence[ValidationReport]) -> None:
    from rich.text import Text  # not at the top: `evoenv validate --help` starts without rich

    screen = console()
    passed_mark, failed_mark, arrow = ("ok", "no", "->") if screen.options.ascii_only else ("✓", "✗", "→")
    for path, report in zip(paths, reports, strict=True):
        mark = (passed_mark, "bold green") if report.passed else (failed_mark, "bold red")
        facts = visible(", ".join(filter(None, (report.class_name, report.dialect, report.family))))
        line = Text.assemble(mark, " ", (f"L{report.layer}", mark[1]), f"  {visible(str(path))}  ", (facts, "dim"))
        line.append(f"  {report.seconds * 1000:.0f} ms", "dim")
        screen.print(line, soft_wrap=True)
        for finding in report.findings:
            screen.print(
                Text.assemble("     ", (finding.code, "yellow"), f"  {visible(finding.message)}"), soft_wrap=True
            )
            screen.print(Text(f"       {arrow} {visible(finding.hint)}", "cyan"), soft_wrap=True)
    passed = sum(report.passed for report in reports)
    if len(reports) > 1:
        screen.print(f"{passed} of {len(reports)} reach L5")
