"""`evoenv validate FILE…`: L1–L5 with findings; exit 0 only if all reach L5, 1 if not, 2 on misuse.

With `--recompute` a model also writes programs from the rendered prompts alone; files that they contradict fail, too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.assembly import open_policy, open_sandbox
from evoenv.checking import find_files, read_environment_file, validate_files
from evoenv.cli.common import (
    add_environment_options,
    add_json_option,
    console,
    parse_parameters,
    print_json,
    progress_bar,
    visible,
)
from evoenv.config import Config, load_config
from evoenv.environment.files import read_controller
from evoenv.errors import InputError
from evoenv.records import ValidationReport

if TYPE_CHECKING:
    from evoenv.stages.recomputing import Recomputations


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = "Check environment files in the sandbox, layers L1 to L5. Exit 0 only if all reach L5."
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="environment files, or folders of them")
    add_json_option(parser)
    parser.add_argument("--jobs", type=int, metavar="N", help="files checked at once (default: all cores)")
    add_environment_options(parser)
    review = parser.add_argument_group("recomputation")
    review.add_argument(
        "--recompute",
        action="store_true",
        help="let a model write programs from the prompts alone, and compare them with the reference",
    )
    review.add_argument("--model", metavar="M", help="the model that writes them: a name, a folder, or the server's")
    review.add_argument("--base-url", metavar="U", help="the OpenAI-compatible server that has the model")
    review.add_argument(
        "--set", action="append", default=[], dest="overrides", metavar="KEY=VALUE",
        help="settings of the model and of the review, as in review.programs=5",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.jobs is not None and arguments.jobs < 1:
        raise InputError(f"--jobs is {arguments.jobs}; expected 1 or more (leave it out to use all cores)")
    config = recompute_config(arguments)
    parameters = parse_parameters(arguments.parameters)
    if config is not None and (arguments.controller is not None or parameters is not None):
        raise InputError("--recompute draws from the file as it is; leave --controller and --parameters out")
    controller = read_controller(arguments.controller)
    # Every file is looked at before any work starts: a misspelt name must not cost the others' time.
    files = [
        read_environment_file(path, controller, has_parameters=parameters is not None)
        for path in find_files(arguments.files)
    ]
    paths = [file.path for file in files]
    with progress_bar("validating", quiet=arguments.json or len(files) < 2) as progress:
        reports = validate_files(
            files, parameters=parameters, workers=arguments.jobs, allow_degraded=arguments.allow_degraded,
            progress=progress,
        )  # fmt: skip
    recomputed: list[Recomputations | None] = [None] * len(files)
    if config is not None:
        sources = [file.source if report.passed else None for file, report in zip(files, reports, strict=True)]
        recomputed = recompute_files(sources, config, arguments)
    if arguments.json:
        rows = zip(paths, reports, recomputed, strict=True)
        print_json([{**to_json(path, report), **recomputation_json(item)} for path, report, item in rows])
    else:
        show(paths, reports)
        for path, item in zip(paths, recomputed, strict=True):
            if item is not None:
                show_recomputation(path, item)
    contradicted = any(item is not None and item.recomputation.verdict == "contradicted" for item in recomputed)
    return 0 if all(report.passed for report in reports) and not contradicted else 1


def recompute_config(arguments: argparse.Namespace) -> Config | None:
    """Return the settings of the model that writes programs; None if none is asked for."""
    if not arguments.recompute:
        if arguments.model or arguments.base_url or arguments.overrides:
            raise InputError("--model, --base-url and --set go with --recompute; add it, or leave them out")
        return None
    if not arguments.model:
        raise InputError("--recompute needs --model M: who writes the programs?")
    own = [f"model.name={json.dumps(arguments.model)}"]
    own += [f"model.base_url={json.dumps(arguments.base_url)}"] if arguments.base_url else []
    return load_config(overrides=["review.kind=recomputing", *arguments.overrides, *own])


def recompute_files(
    sources: Sequence[str | None], config: Config, arguments: argparse.Namespace
) -> list[Recomputations | None]:
    """Recompute the files that reached L5, one after the other."""
    from evoenv.stages.recomputing import recompute_source  # not at the top: the help starts without numpy

    policy = open_policy(config)
    found: list[Recomputations | None] = []
    with (
        closing(policy),
        open_sandbox(config, allow_degraded=arguments.allow_degraded) as sandbox,
        progress_bar("recomputing", quiet=arguments.json) as progress,
    ):
        for number, source in enumerate(sources, 1):
            levels = sorted({0, config.solver.difficulty})
            found.append(
                None if source is None else recompute_source(source, policy, sandbox, config.review, levels=levels)
            )
            progress(number, len(sources))
    return found


def recomputation_json(item: Recomputations | None) -> dict[str, Any]:
    if item is None:
        return {}
    found = item.recomputation
    witness = None if found.witness is None else asdict(found.witness)
    return {
        "recomputation": {
            "verdict": found.verdict,
            "instances": found.instances,
            "shares": list(found.shares),
            "witness": witness,
            "programs": list(item.programs),
        }
    }


def show_recomputation(path: Path, item: Recomputations) -> None:
    """Print the verdict, and the witness of a contradiction: what was asked, what the reference says, what they say."""
    from rich.text import Text  # not at the top: `evoenv validate --help` starts without rich

    screen, found = console(), item.recomputation
    colour = {"confirmed": "bold green", "contradicted": "bold red"}.get(found.verdict, "bold yellow")
    shares = ", ".join(f"{share:.0%}" for share in found.shares) or "none"
    line = Text.assemble((found.verdict, colour), f"  {visible(str(path))}  ")
    line.append(f"programs right on {found.instances} fresh instances: {shares}", "dim")
    screen.print(line, soft_wrap=True)
    if found.witness is not None:
        witness = found.witness
        screen.print(f"     seed {witness.seed}, difficulty {witness.difficulty}:", markup=False)
        for text in witness.prompt.splitlines():
            screen.print(Text(f"     | {visible(text)}", "dim"), soft_wrap=True)
        numbers = " and ".join(str(number + 1) for number in witness.programs)
        screen.print(f"     reference: {visible(witness.reference)}", markup=False, soft_wrap=True)
        screen.print(f"     programs {numbers}: {visible(witness.answer)}", markup=False, soft_wrap=True)
        screen.print(
            f"     replay: evoenv play {visible(str(path))} --seed {witness.seed} --difficulty {witness.difficulty} "
            f"--answer {visible(repr(witness.answer))}",
            markup=False, soft_wrap=True,
        )  # fmt: skip


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
