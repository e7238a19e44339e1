"""`evoenv compare`: curricula side by side at equal compute, over random seeds, on held-out suites."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from evoenv.assembly import require_packages
from evoenv.cli import driving
from evoenv.cli.common import console, parse_levels, print_json
from evoenv.cli.compare_view import open_watcher
from evoenv.comparison.checks import check_plan, require_matplotlib
from evoenv.comparison.ladder import (
    RUNGS,
    SUITES,
    TEMPERATURES,
    check_ladder,
    check_same_responses,
    check_same_size,
    first_runs,
    judge_upper_bound,
    ladder_suites,
    tokens_of_upper_bound,
)
from evoenv.comparison.ladder_results import write_ladder
from evoenv.comparison.orchestrate import run_all
from evoenv.comparison.plan import (
    RUNS,
    UPPER_BOUND,
    VARIANTS,
    ComparisonPlan,
    SuiteSettings,
    continued,
    make_plan,
    parse_names,
    parse_numbers,
    split_overrides,
    with_equal_tokens,
    write_plan,
)
from evoenv.comparison.table import write_results
from evoenv.errors import InputError, StoreError
from evoenv.evaluation.protocol import load_protocol
from evoenv.settings import run_config

DEFAULT_PRESET = "nano"
NO_ROOM = 3
"""Exit code of a ladder whose upper bound did not move."""
UNSAID = SuiteSettings(suites=())
"""How suites are asked without a flag."""
SUITE_FLAGS = (
    "samples", "temperature", "top_p", "max_tokens", "limit", "difficulties", "instances", "programs",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Train one model by several curricula at equal compute, each with several random seeds, and "
        "compare held-out accuracies. Start the same command again to continue: finished runs are not repeated, a "
        "stopped one resumes."
    )
    parser.add_argument(
        "--curricula",
        metavar="A,B",
        help=f"of {', '.join(VARIANTS)}; with --ladder more rungs; evoenv@LABEL: with settings of its own",
    )
    ladder = parser.add_argument_group("the headroom ladder (docs/ladder.md)")
    ladder.add_argument(
        "--ladder",
        action="store_true",
        help="instead of --curricula: fixed-all (the upper bound) first and, if it moves beyond noise, fixed, rlve, "
        "evoenv and both ablations; tables at equal responses and at equal tokens",
    )
    ladder.add_argument("--anyway", action="store_true", help="run all rungs even if the upper bound does not move")
    ladder.add_argument(
        "--equal-tokens", type=int, metavar="N", help="of the second table (what the upper bound has spent)"
    )
    temperatures = ",".join(f"{value:g}" for value in TEMPERATURES)
    ladder.add_argument("--temperatures", metavar="T,T", help=f"each suite is asked at each of them ({temperatures})")
    parser.add_argument("--model", metavar="M", help="the model that every run starts from (model.name)")
    parser.add_argument("--preset", metavar="P", help="a shipped configuration; nano if none is named")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML, on top of the preset")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="a.b=v",
        help="one setting, for every run; CURRICULUM:a.b=v for the runs of one curriculum alone",
    )
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--steps", type=int, metavar="N", help="training steps of every run")
    budget.add_argument("--tokens", type=int, metavar="N", help="tokens that every run may sample and train on")
    budget.add_argument(
        "--responses", type=int, metavar="N", help="solver responses of every run, rounded up to whole steps"
    )
    parser.add_argument(
        "--seeds", default="0,1,2", metavar="0,1,2", help="random seeds; each curriculum runs with each"
    )
    parser.add_argument(
        "--suite",
        dest="suites",
        action="append",
        default=[],
        metavar="S",
        help="held-out: corpus:held-out, seeds, run:DIR, rlve-held-out:DIR, a file or folder of environments, or a "
        "JSONL file of problems; may be repeated",
    )
    parser.add_argument(
        "--protocol",
        metavar="P",
        help="instead of suites and how they are asked: `paper`, `paper-ablation`, or a TOML file of your own",
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="where a protocol's benchmark files are (data)")
    parser.add_argument(
        "--allow-overlap",
        action="store_true",
        help="evaluate on environments that are trained on, too; such a comparison is refused otherwise",
    )
    parser.add_argument("--eval-every", type=int, default=0, metavar="N", help="evaluate every N steps as well")
    levels = ",".join(map(str, UNSAID.difficulties))
    parser.add_argument("--difficulties", metavar="L", help=f"levels of the suite's instances, as 0-3 ({levels})")
    parser.add_argument(
        "--instances", type=int, metavar="N", help=f"instances per environment and level ({UNSAID.instances})"
    )
    parser.add_argument("--programs", type=int, metavar="N", help="corpus programs in all (one of every family)")
    parser.add_argument("--limit", type=int, metavar="N", help="of a benchmark file, the first N problems (all)")
    parser.add_argument("--samples", type=int, metavar="K", help=f"responses per instance ({UNSAID.samples})")
    parser.add_argument("--temperature", type=float, metavar="T", help=f"of the evaluation ({UNSAID.temperature:g})")
    parser.add_argument("--top-p", type=float, metavar="P", help=f"of the evaluation ({UNSAID.top_p:g})")
    parser.add_argument(
        "--max-tokens", type=int, metavar="N", help="of a response in the evaluation (solver.max_tokens)"
    )
    parser.add_argument("--suite-seed", type=int, metavar="N", help=f"chooses instances and samples ({UNSAID.seed})")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at a time, each on one core if N > 1")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="the comparison's directory")
    parser.add_argument("--json", action="store_true", help="the results as one JSON document on stdout")
    parser.add_argument("--plain", action="store_true", help="lines instead of bars")
    parser.add_argument("--allow-degraded", action="store_true", help="run even if isolation is incomplete")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    require_packages("numpy", "torch", "transformers")
    require_matplotlib()
    check_flags(arguments)
    plan = continued(arguments.output, read_flags(arguments))
    if plan.ladder:
        check_ladder(plan)
    elif arguments.responses:
        check_same_size(plan)
    check_plan(plan, allow_overlap=arguments.allow_overlap)
    write_plan(arguments.output, plan)
    try:
        if plan.ladder:
            return climb(arguments, plan)
        document = drive(arguments, plan, plan)
    except KeyboardInterrupt:
        again = shlex.join(["evoenv", *sys.argv[1:]])
        console(stderr=True).print(f"stopped; nothing is lost. Continue: {again}", markup=False, soft_wrap=True)
        return driving.INTERRUPTED
    if arguments.json:
        print_json(document)
    else:
        print((arguments.output / "table.md").read_text(encoding="utf-8"))
        print(f"in {arguments.output}: table.md, table.csv, results.json, series.csv, compare.png, figures/, runs/")
    return 0


def drive(arguments: argparse.Namespace, plan: ComparisonPlan, part: ComparisonPlan) -> dict[str, Any]:
    """Bring the runs of `part` to their end; whatever happens, the results of the whole plan are written."""
    screen = console(stderr=True)
    with ExitStack() as stack:
        watcher = open_watcher(part, arguments.output, screen, stack, plain=arguments.plain)
        try:
            run_all(arguments.output, part, arguments.jobs, watcher)
        finally:
            document = write_results(arguments.output, plan)
    return document


def climb(arguments: argparse.Namespace, plan: ComparisonPlan) -> int:
    """Run the upper bound and, if it moves or that does not matter, the other rungs."""
    directory, screen = arguments.output, console(stderr=True)
    try:
        drive(arguments, plan, msgspec.structs.replace(plan, runs=first_runs(plan)))
        verdict = judge_upper_bound(directory, plan)
        if verdict is None:
            raise StoreError(
                f"the upper bound's runs in {directory} have ended, but some of their evaluations cannot be read; "
                f"remove {directory / RUNS / UPPER_BOUND}-* and repeat the command: they are run again"
            )
        goes_on = verdict.moved or arguments.anyway
        screen.print(verdict.words, markup=False, highlight=False, soft_wrap=True)
        if goes_on:
            if not plan.equal_tokens:
                plan = with_equal_tokens(plan, tokens_of_upper_bound(directory, plan))
                write_plan(directory, plan)
            drive(arguments, plan, plan)
        else:
            screen.print("The other rungs are not run; --anyway runs them.", markup=False, highlight=False)
    finally:
        document = write_ladder(directory, plan)
    if arguments.json:
        print_json(document)
    else:
        print((directory / "ladder.md").read_text(encoding="utf-8"))
        print(
            f"in {directory}: ladder.md, ladder.csv, ladder.json, evaluations.csv, beside what every comparison leaves"
        )
    return 0 if goes_on else NO_ROOM


def read_flags(arguments: argparse.Namespace) -> ComparisonPlan:
    """Make the plan that the flags describe; every flag is checked."""
    seeds = parse_numbers(arguments.seeds, "--seeds")
    named = parse_names(arguments.curricula) if arguments.curricula is not None else ()
    names = tuple(dict.fromkeys((*RUNGS, *named))) if arguments.ladder else named
    own = [f"model.name={arguments.model}"] if arguments.model else []
    preset = driving.preset_of(arguments, DEFAULT_PRESET)
    shared, _ = split_overrides(arguments.overrides, names)
    solver = run_config(preset, arguments.config, [*own, *shared]).solver
    steps = arguments.steps or 0
    if arguments.responses:
        check_same_responses(names)
        in_a_step = solver.prompts * solver.responses_per_prompt
        if in_a_step < 1:
            raise InputError("--responses: a step has no solver responses (solver.prompts is 0); give --steps instead")
        steps = -(-arguments.responses // in_a_step)
    return make_plan(
        names, seeds,
        preset=preset, file=arguments.config, defaults=own, overrides=arguments.overrides,
        steps=steps, tokens=arguments.tokens or 0, eval_every=arguments.eval_every,
        evaluation=suites_of(arguments, solver.max_tokens),
        allow_degraded=arguments.allow_degraded,
        ladder=arguments.ladder, equal_tokens=arguments.equal_tokens or 0,
    )  # fmt: skip


def suites_of(arguments: argparse.Namespace, max_tokens: int) -> SuiteSettings:
    """Return the suites and how they are asked, by a protocol or by flags; flags that were given change a protocol."""
    given = {flag: value for flag in SUITE_FLAGS if (value := getattr(arguments, flag)) is not None}
    if "difficulties" in given:
        given["difficulties"] = parse_levels(given["difficulties"])
    if arguments.suite_seed is not None:
        given["seed"] = arguments.suite_seed
    if arguments.protocol is not None:
        if arguments.suites:
            raise InputError("--protocol has its own suites; leave --suite out, or write a protocol of your own")
        protocol = load_protocol(arguments.protocol, data=arguments.data, changes=given)
        return SuiteSettings(suites=tuple(plan.name for plan in protocol.suites), protocol=protocol)
    if arguments.data is not None:
        raise InputError("--data is where the files of a --protocol are; a --suite names its file")
    if arguments.ladder:
        given.pop("temperature", None)
        seed = given.pop("seed", UNSAID.seed)
        temperatures = parse_temperatures(arguments.temperatures)
        return ladder_suites(arguments.suites or SUITES, temperatures, {"max_tokens": max_tokens, **given}, seed)
    if not arguments.suites:
        raise InputError("compare needs --suite S (corpus:held-out, seeds, a folder, a JSONL file), or --protocol P")
    return SuiteSettings(suites=tuple(arguments.suites), **{"max_tokens": 0, **given})


def parse_temperatures(text: str | None) -> tuple[float, ...]:
    """Read `0.6,1.0` as different numbers above 0."""
    if text is None:
        return TEMPERATURES
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0 < value <= 10 for value in values) or len(set(values)) < len(values):
        raise InputError(f"--temperatures is {text!r}; expected different numbers above 0, for example 0.6,1.0")
    return tuple(values)


def check_ladder_flags(arguments: argparse.Namespace) -> None:
    """Refuse flags that a ladder, or a comparison that is none, does not have."""
    if not arguments.ladder:
        if arguments.curricula is None:
            raise InputError("compare needs --curricula A,B, or --ladder")
        for flag in ("--anyway", "--equal-tokens", "--temperatures"):
            if getattr(arguments, flag[2:].replace("-", "_")):
                raise InputError(f"{flag} belongs to a headroom ladder; give --ladder with it, or leave it out")
        return
    if arguments.tokens is not None:
        raise InputError("a ladder compares at equal responses and at equal tokens: use --responses N or --steps N, "
                         "and --equal-tokens M for the second table")  # fmt: skip
    if arguments.protocol is not None:
        raise InputError(
            "a ladder asks every suite at several temperatures; name them by --suite instead of --protocol"
        )
    if arguments.temperature is not None:
        raise InputError("a ladder asks every suite at several temperatures: use --temperatures T,T")


def check_flags(arguments: argparse.Namespace) -> None:
    check_ladder_flags(arguments)
    at_least = {
        "--steps": 1, "--responses": 1, "--tokens": 1, "--equal-tokens": 1, "--eval-every": 0, "--instances": 1,
        "--programs": 1, "--samples": 1, "--max-tokens": 1, "--limit": 1, "--jobs": 1,
    }  # fmt: skip
    for flag, least in at_least.items():
        value = getattr(arguments, flag[2:].replace("-", "_"))
        if value is not None and value < least:
            raise InputError(f"{flag} is {value}; expected {least} or more")
    temperature = UNSAID.temperature if arguments.temperature is None else arguments.temperature
    top_p = UNSAID.top_p if arguments.top_p is None else arguments.top_p
    if not 0 <= temperature <= 10 or not 0 < top_p <= 1:
        raise InputError(
            f"--temperature is {temperature:g} and --top-p is {top_p:g}; "
            "expected a temperature from 0 on and a share above 0 and at most 1"
        )
    if len(set(arguments.suites)) < len(arguments.suites):
        raise InputError("a --suite is named twice; name each once")
