"""`evoenv validate FILE…`: L1–L5 with findings; exit 0 only if all reach L5, 1 if not, 2 on misuse."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.cli.common import (
    add_environment_options,
    console,
    find_controller,
    open_sandbox,
    parse_parameters,
    print_json,
    read_controller,
    read_source,
    short,
    visible,
)
from evoenv.errors import InputError
from evoenv.records import ValidationReport

if TYPE_CHECKING:
    from evoenv.sandbox.host import Sandbox


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "validate",
        help="check environment files, layers L1 to L5",
        description="Check environment files in the sandbox, layers L1 to L5. Exit 0 only if all reach L5.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="environment files, or folders of them")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--jobs", type=int, metavar="N", help="files checked at once (default: all cores)")
    add_environment_options(parser)
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Job:
    path: Path
    source: str
    controller: str | None
    problem: ValidationReport | None


def run(arguments: argparse.Namespace) -> int:
    if arguments.jobs is not None and arguments.jobs < 1:
        raise InputError(f"--jobs is {arguments.jobs}; expected 1 or more (leave it out to use all cores)")
    parameters = parse_parameters(arguments.parameters)
    controller = read_controller(arguments.controller)
    paths = list(expand(arguments.files))
    # Every file is looked at before any work starts: a misspelt name must not cost the others' time.
    jobs = [prepare(path, controller, parameters is not None) for path in paths]
    workers = min(arguments.jobs or os.cpu_count() or 1, len(jobs))
    with open_sandbox(arguments) as sandbox:
        reports = validate_all(jobs, sandbox, parameters, workers, quiet=arguments.json)
    if arguments.json:
        print_json([to_json(path, report) for path, report in zip(paths, reports, strict=True)])
    else:
        show(paths, reports)
    return 0 if all(report.passed for report in reports) else 1


def expand(paths: Sequence[Path]) -> Iterator[Path]:
    """Files as given; a folder stands for the Python files below it."""
    for path in paths:
        if is_folder(path):
            found = sorted(
                file for file in path.rglob("*.py") if file.name not in ("__init__.py", "parameter_controller.py")
            )
            if not found:
                raise InputError(f"{short(path)} holds no Python file; give files or a folder of them")
            yield from found
        else:
            yield path


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name too long, say: reading it as a file gives the reason
        return False


def prepare(path: Path, controller: str | None, has_parameters: bool) -> Job:
    source, problem = read_source(path)
    if controller is None and not has_parameters:
        controller = read_controller(find_controller(path))
    return Job(path, source, controller, ValidationReport(0, (problem,)) if problem is not None else None)


def validate_all(
    jobs: Sequence[Job], sandbox: Sandbox, parameters: list[dict[str, Any]] | None, workers: int, quiet: bool
) -> list[ValidationReport]:
    """All reports in order, on all cores, with a progress bar where somebody watches."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from evoenv.validation.validate import validate

    def work(job: Job) -> ValidationReport:
        if job.problem is not None:
            return job.problem
        return validate(job.source, sandbox, controller=job.controller, parameters=parameters)

    columns = TextColumn("validating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    screen = console(stderr=True)
    hidden = quiet or len(jobs) < 2 or not screen.is_terminal
    with (
        Progress(*columns, console=screen, transient=True, disable=hidden) as progress,
        ThreadPoolExecutor(workers) as pool,
    ):
        task = progress.add_task("", total=len(jobs))
        futures = [pool.submit(work, job) for job in jobs]
        for _ in as_completed(futures):
            progress.advance(task)
        return [future.result() for future in futures]


def to_json(path: Path, report: ValidationReport) -> dict[str, Any]:
    return {
        "path": str(path),
        "class": report.class_name,
        "dialect": report.dialect,
        "layer": report.layer,
        "findings": [
            {"code": one.code, "layer": one.layer, "message": one.message, "hint": one.hint} for one in report.findings
        ],
        "seconds": round(report.seconds, 4),
        "sandbox": list(report.sandbox),
    }


def show(paths: Sequence[Path], reports: Sequence[ValidationReport]) -> None:
    from rich.text import Text

    screen = console()
    passed_mark, failed_mark, arrow = ("ok", "no", "->") if screen.options.ascii_only else ("✓", "✗", "→")
    for path, report in zip(paths, reports, strict=True):
        mark = (passed_mark, "bold green") if report.passed else (failed_mark, "bold red")
        facts = visible(", ".join(filter(None, (report.class_name, report.dialect, report.family))))
        line = Text.assemble(mark, " ", (f"L{report.layer}", mark[1]), f"  {visible(str(path))}  ", (facts, "dim"))
        line.append(f"  {report.seconds * 1000:.0f} ms", "dim")
        screen.print(line, soft_wrap=True)
        for one in report.findings:
            screen.print(Text.assemble("     ", (one.code, "yellow"), f"  {visible(one.message)}"), soft_wrap=True)
            screen.print(Text(f"       {arrow} {visible(one.hint)}", "cyan"), soft_wrap=True)
    passed = sum(report.passed for report in reports)
    if len(reports) > 1:
        screen.print(f"{passed} of {len(reports)} reach L5")
