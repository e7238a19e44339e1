"""`evoenv eval`: accuracy with confidence intervals, on environments or benchmark files; `evoenv eval convert`."""

from __future__ import annotations

import argparse
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich.table import Table

from evoenv.assembly import require_packages
from evoenv.cli import driving
from evoenv.cli.common import add_allow_degraded, add_json_option, console, parse_levels, print_json
from evoenv.cli.eval_view import ProgressBar, show
from evoenv.cli.warm_view import ability_rows, compose, open_bar
from evoenv.durable import write_bytes, write_document, write_lines
from evoenv.errors import InputError, StoreError
from evoenv.evaluation import Evaluation, Suite
from evoenv.evaluation.convert import convert
from evoenv.evaluation.naming import results_name
from evoenv.evaluation.overlap import environments_of, identities, in_words, shared_names
from evoenv.evaluation.protocol import Protocol, SuitePlan, check_protocol, load_protocol, open_suites
from evoenv.evaluation.scoreboard import Scoreboard
from evoenv.evaluation.sitting import open_sitting
from evoenv.evaluation.subject import Subject, enter_in_run, model_subject, run_subject
from evoenv.store.store import Store
from evoenv.warmstart.measuring import open_abilities

UNSAID = SuitePlan(name="", suite="")
"""How a suite is asked without a flag."""
SUITE_FLAGS = (
    "samples", "temperature", "top_p", "max_tokens", "limit", "difficulties", "instances", "programs", "per_family",
    "problem_field", "answer_field", "id_field",
)  # fmt: skip
"""Flags that are settings of a suite: without one, the protocol's hold, or UNSAID."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Ask a model every problem of one or more suites K times and grade the responses. Results are kept "
        "sample by sample; the same command continues what was stopped."
    )
    who = parser.add_argument_group("the model")
    who.add_argument("--run", dest="run_directory", type=Path, metavar="DIR", help="a run: its newest checkpoint")
    who.add_argument("--checkpoint", type=int, metavar="STEP", help="of the run, another step; 0: before training")
    who.add_argument("--model", metavar="M", help="name, hub id or directory")
    who.add_argument("--base-url", metavar="U", help="the OpenAI-compatible server that has the model")
    who.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="a.b=v",
        help="one setting of model or endpoint; may be repeated",
    )  # fmt: skip
    what = parser.add_argument_group("the suites")
    what.add_argument(
        "--suite", dest="suites", action="append", default=[], metavar="S",
        help="seeds, corpus:SPLIT (train, basic, paired, held-out, near), run:DIR, rlve-held-out:DIR (a checkout of "
        "RLVE), an environment file, a folder of them; or FILE.jsonl of problems and answers, also as math:FILE, "
        "choice:FILE, program:FILE; may be repeated",
    )  # fmt: skip
    what.add_argument(
        "--abilities", metavar="RECIPE",
        help="instead of suites: what the model can do as generator and solver (as reviewer and programmer if the "
        "recipe teaches them), on the corpus of a warm start's recipe (nano, laptop, or a file)",
    )  # fmt: skip
    what.add_argument(
        "--protocol", metavar="P",
        help="instead of suites: `paper` (the eight benchmarks of the paper's main table), `paper-ablation`, or a TOML "
        "file of your own; other flags change it for all of its suites",
    )  # fmt: skip
    what.add_argument("--data", type=Path, metavar="DIR", help="where a protocol's benchmark files are (data)")
    levels = ",".join(map(str, UNSAID.difficulties))
    what.add_argument("--difficulties", metavar="L", help=f"levels of environments, as 0,1,2 or 0-3 ({levels})")
    what.add_argument("--instances", type=int, metavar="N", help=f"per environment and level ({UNSAID.instances})")
    what.add_argument("--programs", type=int, metavar="N", help="corpus programs in all (one of every family)")
    what.add_argument("--per-family", type=int, metavar="N", help="corpus programs per family (1, without --programs)")
    what.add_argument("--limit", type=int, metavar="N", help="of a benchmark file, the first N problems (all)")
    for field in ("problem_field", "answer_field", "id_field"):
        flag = f"--{field.replace('_', '-')}"
        what.add_argument(flag, metavar="F", help=f"of a benchmark file ({getattr(UNSAID, field)})")
    what.add_argument("--seed", type=int, help="of instances, samples and intervals (0)")
    how = parser.add_argument_group("sampling", "what is in brackets holds for --suite; a protocol has its own values")
    how.add_argument(
        "--samples", type=int, metavar="K", help=f"per problem ({UNSAID.samples}; the paper: 16, or 1 by suite)"
    )
    how.add_argument("--temperature", type=float, metavar="T", help=f"of sampling ({UNSAID.temperature:g})")
    how.add_argument("--top-p", type=float, metavar="P", help=f"of sampling ({UNSAID.top_p:g})")
    how.add_argument("--max-tokens", type=int, metavar="N", help=f"per response ({UNSAID.max_tokens})")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="where results are kept, and continued from (evaluations/MODEL, or in the run)",
    )
    add_json_option(parser)
    add_allow_degraded(parser, trusted="models")
    parser.set_defaults(
        run=run,
        suite_defaults={
            action.option_strings[-1]: (action.dest, action.default)
            for group in (what, how)
            for action in group._group_actions
            if action.dest != "abilities"
        }
        | {"--output": ("output", None)},
    )
    actions = parser.add_subparsers(metavar="convert", required=False)
    add_convert_parser(actions)


def add_convert_parser(actions: Any) -> None:
    parser = actions.add_parser(
        "convert",
        help="make a suite of AIME, AMC, HMMT, BRUMO, BeyondAIME, GPQA or LiveCodeBench files",
        description="Public benchmark files (jsonl, json, csv, parquet) into one JSONL file that --suite takes. "
        "What a row is, its fields tell.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.jsonl")
    parser.add_argument("--seed", type=int, default=0, help="of the order of GPQA's options (%(default)s)")
    parser.add_argument("--since", metavar="DATE", help="LiveCodeBench: contests from this day on, as 2024-08-01 (all)")
    parser.add_argument("--until", metavar="DATE", help="LiveCodeBench: contests up to this day, as 2025-05-31 (all)")
    parser.set_defaults(run=run_convert)


# --------------------------------------------------------------------------- evaluating


def run(arguments: argparse.Namespace) -> int:
    if (arguments.run_directory is None) == (arguments.model is None):
        raise InputError("eval needs --model M or --run DIR: who is to be evaluated?")
    if arguments.checkpoint is not None and arguments.run_directory is None:
        raise InputError("--checkpoint is a step of a run; give --run DIR with it")
    if arguments.abilities:
        defaults = arguments.suite_defaults
        if ignored := [flag for flag, (name, value) in defaults.items() if getattr(arguments, name) != value]:
            raise InputError(f"--abilities measures what its recipe says; leave {', '.join(ignored)} out")
        return run_abilities(arguments)
    require_packages("numpy")
    protocol = protocol_of(arguments)
    suites = open_suites(protocol, allow_degraded=arguments.allow_degraded)
    subject = subject_of(arguments)
    folder = arguments.output or subject.folder
    screen = console(stderr=True)
    documents: list[dict[str, Any]] = []
    evaluations: list[Evaluation] = []
    with (
        driving.logged(screen),
        open_sitting(subject, suites, allow_degraded=arguments.allow_degraded) as sitting,
    ):
        for plan, suite in zip(protocol.suites, suites, strict=True):
            results = folder / f"{results_name(plan.name)}.jsonl"
            with ProgressBar(screen, plan.name) as progress:
                try:
                    evaluation = sitting.evaluate(
                        suite,
                        samples=plan.samples, temperature=plan.temperature, top_p=plan.top_p,
                        max_tokens=plan.max_tokens, results=results, progress=progress,
                    )  # fmt: skip
                except KeyboardInterrupt:
                    progress.stop()
                    screen.print(
                        f"stopped; what was graded is in {results}, and the same command continues",
                        markup=False, soft_wrap=True,
                    )  # fmt: skip
                    return driving.INTERRUPTED
            trained = trained_names(subject, suite)
            document = {"model": sitting.identity, "results": str(results), **evaluation.to_json()}
            if trained:
                document["trained_on"] = trained
                screen.print(
                    f"the run trains on {in_words({plan.name: trained})}: this accuracy is no held-out one",
                    markup=False, soft_wrap=True,
                )  # fmt: skip
            write_document(results.with_suffix(".json"), document)
            documents.append(document)
            evaluations.append(evaluation)
            try:
                enter_in_run(subject, evaluation)
            except StoreError as error:
                screen.print(
                    f"the accuracy was not entered in the run ({error}); when it is free, the same command enters it",
                    markup=False, soft_wrap=True,
                )  # fmt: skip
    document = {"model": subject.label, "output": str(folder), "suites": documents}
    table = Scoreboard(protocol, evaluations) if arguments.protocol else None
    if table is not None:
        document |= table.to_json()
        write_document(folder / f"protocol-{protocol.name}.json", {"model": subject.label, **table.to_json()})
        write_bytes(folder / f"protocol-{protocol.name}.md", table.to_markdown(subject.label).encode())
    if arguments.json:
        print_json(document)
    else:
        show(subject.label, folder, evaluations, table)
    return 0


def trained_names(subject: Subject, suite: Suite) -> list[str]:
    """Name the environments of the suite that the run has in its pool, and so trains on."""
    if subject.run is None or not subject.run[1] or not environments_of(suite):  # at step 0 nothing was trained on
        return []
    with Store.read(subject.run[0]) as store:
        sources = [source for record in store.environments() if (source := store.source(record.id)) is not None]
    return shared_names(suite, identities(sources))


def protocol_of(arguments: argparse.Namespace) -> Protocol:
    """Return the suites that the flags name, and how each is asked."""
    changes = {flag: value for flag in SUITE_FLAGS if (value := getattr(arguments, flag)) is not None}
    if "difficulties" in changes:
        changes["difficulties"] = parse_levels(changes["difficulties"])
    if arguments.protocol is not None:
        if arguments.suites:
            raise InputError("--protocol has its own suites; leave --suite out, or write a protocol of your own")
        seed = {} if arguments.seed is None else {"seed": arguments.seed}
        return load_protocol(arguments.protocol, data=arguments.data, changes=changes | seed)
    if arguments.data is not None:
        raise InputError("--data is where the files of a --protocol are; a --suite names its file")
    if not arguments.suites:
        raise InputError(
            "eval needs --suite S (seeds, corpus:held-out, run:DIR, a folder, or a JSONL file of problems), "
            "or --protocol P"
        )
    plans = tuple(SuitePlan(name=text, suite=text, **changes) for text in dict.fromkeys(arguments.suites))
    protocol = Protocol(name="suites", suites=plans, seed=arguments.seed or 0)
    check_protocol(protocol, flags=True)
    return protocol


def subject_of(arguments: argparse.Namespace) -> Subject:
    """Return the model or the run that the flags name."""
    if arguments.run_directory is None:
        return model_subject(arguments.model, arguments.base_url, arguments.overrides)
    if arguments.base_url:
        raise InputError("--base-url goes with --model; a run brings its own model")
    return run_subject(arguments.run_directory, arguments.checkpoint, arguments.overrides)


def run_abilities(arguments: argparse.Namespace) -> int:
    """Measure what `evoenv warm-start` measures, of any model and with more candidates and problems."""
    require_packages("numpy", *([] if arguments.base_url else ["torch", "transformers"]))
    subject = subject_of(arguments)
    screen = console(stderr=True)
    with (
        driving.logged(screen),
        open_abilities(subject, arguments.abilities, allow_degraded=arguments.allow_degraded) as measuring,
    ):
        with open_bar(screen) as bar:
            for source in measuring.sources:
                compose(source, bar)
        with screen.status("reading what was shown") if screen.is_terminal else nullcontext() as status:

            def tell(what: str) -> None:
                screen.print(what, markup=False) if status is None else status.update(what)

            abilities = measuring.measure(tell)
    if arguments.json:
        print_json({"model": subject.label, "recipe": arguments.abilities, "abilities": abilities})
        return 0
    table = Table("measure", "value", title=f"what {subject.label} can do", title_justify="left")
    for name, value in ability_rows(abilities):
        table.add_row(name, value)
    console().print(table)
    return 0


# --------------------------------------------------------------------------- converting


def run_convert(arguments: argparse.Namespace) -> int:
    for flag in ("since", "until"):
        value = getattr(arguments, flag)
        if value is not None and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value, re.ASCII) is None:
            raise InputError(f"--{flag} is {value!r}; expected a day as 2024-08-01")
    output: Path = arguments.output
    if output.suffix != ".jsonl":
        raise InputError(f"-o is {str(output)!r}; expected a name that ends in .jsonl, as --suite wants it")
    if output.exists():
        raise InputError(f"{output} is there already; remove it, or choose another name")
    rows = convert(arguments.files, seed=arguments.seed, since=arguments.since, until=arguments.until)
    count = write_lines(output, rows)
    if not count:
        output.unlink()
        raise InputError("no row was left to convert; check the files, --since and --until")
    console(stderr=True).print(f"{count} problems in {output}", markup=False, soft_wrap=True)
    return 0
