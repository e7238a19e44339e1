"""`evoenv compare`: curricula side by side at equal compute, over random seeds, on held-out suites."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from evoenv.assembly import require_packages
from evoenv.cli import driving
from evoenv.cli.common import console, parse_levels, print_json
from evoenv.comparison.checks import check_plan, require_matplotlib
from evoenv.comparison.orchestrate import Watcher, run_all
from evoenv.comparison.plan import (
    ComparisonPlan,
    RunPlan,
    SuiteSettings,
    continued,
    is_done,
    make_plan,
    parse_names,
    parse_numbers,
    write_plan,
)
from evoenv.comparison.table import write_results
from evoenv.errors import InputError
from evoenv.evaluation.protocol import load_protocol
from evoenv.wording import duration, plural

DEFAULT_PRESET = "nano"
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
        required=True,
        metavar="A,B",
        help="of untrained, fixed, rlve, dapo, r-zero, evoenv, evoenv-without-quality, evoenv-without-diversity",
    )
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
    plan = continued(arguments.output, read_flags(arguments))
    check_plan(plan, allow_overlap=arguments.allow_overlap)
    write_plan(arguments.output, plan)
    screen = console(stderr=True)
    with ExitStack() as stack:
        watcher = open_watcher(plan, arguments.output, screen, stack, plain=arguments.plain)
        try:
            run_all(arguments.output, plan, arguments.jobs, watcher)
        except KeyboardInterrupt:
            stack.close()
            again = shlex.join(["evoenv", *sys.argv[1:]])
            screen.print(f"stopped; nothing is lost. Continue: {again}", markup=False, soft_wrap=True)
            return driving.INTERRUPTED
        finally:
            document = write_results(arguments.output, plan)
    if arguments.json:
        print_json(document)
    else:
        print((arguments.output / "table.md").read_text(encoding="utf-8"))
        print(f"in {arguments.output}: table.md, table.csv, results.json, series.csv, compare.png, figures/, runs/")
    return 0


def read_flags(arguments: argparse.Namespace) -> ComparisonPlan:
    """Make the plan that the flags describe; every flag is checked."""
    names, seeds = parse_names(arguments.curricula), parse_numbers(arguments.seeds, "--seeds")
    check_flags(arguments)
    own = [f"model.name={arguments.model}"] if arguments.model else []
    return make_plan(
        names, seeds,
        preset=driving.preset_of(arguments, DEFAULT_PRESET), file=arguments.config, defaults=own,
        overrides=arguments.overrides,
        steps=arguments.steps or 0, tokens=arguments.tokens or 0, eval_every=arguments.eval_every,
        evaluation=suites_of(arguments),
        allow_degraded=arguments.allow_degraded,
    )  # fmt: skip


def suites_of(arguments: argparse.Namespace) -> SuiteSettings:
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
    if not arguments.suites:
        raise InputError("compare needs --suite S (corpus:held-out, seeds, a folder, a JSONL file), or --protocol P")
    return SuiteSettings(suites=tuple(arguments.suites), **{"max_tokens": 0, **given})


def check_flags(arguments: argparse.Namespace) -> None:
    at_least = {"--steps": 1, "--tokens": 1, "--eval-every": 0, "--instances": 1, "--programs": 1, "--samples": 1,
                "--max-tokens": 1, "--limit": 1, "--jobs": 1}  # fmt: skip
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


# --------------------------------------------------------------------------- progress


def open_watcher(plan: ComparisonPlan, directory: Path, screen: Console, stack: ExitStack, *, plain: bool) -> Watcher:
    done = [run.name for run in plan.runs if is_done(directory, plan, run)]
    screen.print(
        f"{plural(len(plan.runs), 'run')} of {plan.budget}, {len(done)} finished before; in {directory}",
        markup=False,
        soft_wrap=True,
    )
    if screen.is_terminal and not plain and not os.environ.get("NO_COLOR"):
        bars = Bars(plan, screen, done)
        stack.callback(bars.close)
        return bars
    return Lines(plan, screen)


class Lines:
    """One line per evaluation, for logs and pipes."""

    def __init__(self, plan: ComparisonPlan, screen: Console) -> None:
        self._plan, self._screen = plan, screen
        self._began: dict[str, float] = {}

    def _say(self, run: RunPlan, text: str) -> None:
        self._screen.print(f"{run.name}: {text}", markup=False, highlight=False, soft_wrap=True)

    def began(self, run: RunPlan) -> None:
        self._began[run.name] = time.monotonic()
        self._say(run, "begins")

    def progress(self, run: RunPlan, facts: dict[str, Any]) -> None:
        if "accuracy" in facts:
            where = f"step {facts['step']:,}, {facts['tokens']:,} tokens"
            self._say(run, f"{where}: {facts['accuracy']:.1%} on {facts['suite']}")

    def ended(self, run: RunPlan, error: str | None) -> None:
        took = duration(time.monotonic() - self._began[run.name])
        self._say(run, f"failed after {took}: {error}" if error else f"finished in {took}")


class Bars:
    """A bar for every run at work and one for all."""

    def __init__(self, plan: ComparisonPlan, screen: Console, done: list[str]) -> None:
        self._plan = plan
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[shown]}"),
            console=screen,
        )
        self._total = plan.steps or plan.tokens
        self._all = self._progress.add_task("all runs", total=len(plan.runs) * self._total, shown="")
        self._finished = len(done)
        self._tasks: dict[str, Any] = {}
        self._at: dict[str, int] = {}
        self._shown: dict[str, dict[str, str]] = {}
        self._advance()
        self._progress.start()

    def began(self, run: RunPlan) -> None:
        self._tasks[run.name] = self._progress.add_task(run.name, total=self._total, shown="")

    def progress(self, run: RunPlan, facts: dict[str, Any]) -> None:
        figures = self._shown.setdefault(run.name, {})
        if facts.get("score") is not None:
            figures["score"] = f"{facts['score']:.3f}"
        if "accuracy" in facts:
            figures[f"{facts['suite'][-16:]}"] = f"{facts['accuracy']:.1%}"
        at = min(facts["step"] if self._plan.steps else facts["tokens"], self._total)
        self._at[run.name] = at
        text = "  ".join(f"{name} {value}" for name, value in figures.items())
        self._progress.update(self._tasks[run.name], completed=at, shown=text)
        self._advance()

    def ended(self, run: RunPlan, error: str | None) -> None:
        self._at.pop(run.name, None)
        if error:
            self._progress.update(self._tasks[run.name], shown=f"failed: {error}")
        else:
            self._finished += 1
            self._progress.update(self._tasks[run.name], completed=self._total)
        self._advance()

    def _advance(self) -> None:
        self._progress.update(self._all, completed=self._finished * self._total + sum(self._at.values()))

    def close(self) -> None:
        self._progress.stop()
