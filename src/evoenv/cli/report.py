"""`evoenv report`: a run's audit: one HTML file that works offline, and PNG and CSV of every figure."""

from __future__ import annotations

import argparse
from pathlib import Path

from evoenv.cli.common import add_json_option, console, print_json, visible
from evoenv.environment.files import short
from evoenv.errors import InputError
from evoenv.report.page import TEXT_BUDGET
from evoenv.report.write import write_report


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("run_directory", type=Path, metavar="RUN", help="the run's directory; it may still be running")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="where to write (default: RUN/report)")
    parser.add_argument(
        "--texts", type=float, metavar="MB", help="megabytes of sources, prompts and responses to embed (default: 12)"
    )
    parser.add_argument("--no-png", action="store_true", help="leave the PNG out: the page alone is ready sooner")
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.texts is not None and not 0 <= arguments.texts <= 1000:
        raise InputError(f"--texts is {arguments.texts:g}; expected megabytes from 0 to 1000")
    budget = TEXT_BUDGET if arguments.texts is None else round(arguments.texts * 1e6)
    try:
        report = write_report(arguments.run_directory, arguments.output, budget, pictures=not arguments.no_png)
    except OSError as error:  # a name too long, say
        reason = error.strerror or error
        raise InputError(f"cannot read {short(arguments.run_directory)}: {reason}; give the folder of a run") from error
    if arguments.json:
        print_json(
            {
                "page": str(report.page),
                "bytes": report.size,
                "entries": report.entries,
                "embedded": report.embedded,
                "csv": [str(path) for path in report.csv],
                "png": [str(path) for path in report.png],
                "summary": {label: value for label, value, _ in report.overview.tiles},
                "notes": [*report.overview.notes, *([report.warning] if report.warning else [])],
            }
        )
        return 0
    screen = console(stderr=True)
    for note in (*report.overview.notes, *([report.warning] if report.warning else [])):
        screen.print(visible(note), soft_wrap=True, markup=False)
    pictures = f", {len(report.png)} PNG" if report.png else ""
    console().print(
        f"report: {visible(str(report.page))} ({report.size / 1e6:.1f} MB; {len(report.csv)} CSV{pictures} beside it)",
        soft_wrap=True,
        markup=False,
    )
    return 0
