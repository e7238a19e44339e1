"""`evoenv synth`: a verified pool out of any OpenAI-compatible model; the same loop, without solving and learning."""

from __future__ import annotations

import argparse
import json

from rich.console import Console

from evoenv.api import SYNTHESIS, RunResult, check_synthesis, synthesise
from evoenv.assembly import require_packages
from evoenv.cli import driving
from evoenv.cli.common import console
from evoenv.cli.summary import show_summary
from evoenv.config import Config, load_config
from evoenv.errors import InputError
from evoenv.estimate import estimate, first_prompt
from evoenv.ports import Spends
from evoenv.presets import preset
from evoenv.settings import config_help
from evoenv.stages.context import Run

FLAGS = {
    "base_url": "model.base_url",
    "model": "model.name",
    "candidates": "run.candidates",
    "repairs": "synth.repairs",
    "token_budget": "endpoint.token_budget",
    "money_budget": "endpoint.money_budget",
    "input_price": "endpoint.input_price",
    "output_price": "endpoint.output_price",
    "solver_base_url": "endpoint.solver_base_url",
    "solver_model": "endpoint.solver_model",
    "solver_input_price": "endpoint.solver_input_price",
    "solver_output_price": "endpoint.solver_output_price",
    "calibration": "calibration.enabled",
}
"""The command's own flags and the settings they stand for."""

ON_THIS_MACHINE = "laptop"
"""The preset below a synthesis whose author is a model in this process: the paper's limits are for servers."""
GROUPED = {"generator": {"prompts": 8, "candidates_per_prompt": 8}, "solver": {"max_tokens": 256}}
"""Its batches: a group shares its prompt, and the next prompts may show what was admitted. Its author may be larger
than the preset's model, and such a one writes down how it comes to an answer."""

AMOUNTS = (
    "candidates", "repairs", "token_budget", "money_budget", "input_price", "output_price", "solver_input_price",
    "solver_output_price",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Let a model write environments, and keep those that pass validation, review, calibration and "
        "novelty. Nothing is trained. The API key is read from OPENAI_API_KEY, that of a solver elsewhere from "
        "EVOENV_SOLVER_API_KEY. Stopped by Ctrl-C or a budget, --resume continues; no answer is paid for twice."
    )
    parser.add_argument(
        "--base-url", metavar="U", help="the server, as in http://localhost:8000/v1; a local model if absent"
    )
    parser.add_argument("--model", metavar="M", help="the model's name")
    parser.add_argument("--candidates", type=int, metavar="N", help="candidates to propose in all")
    parser.add_argument(
        "--repairs",
        type=int,
        metavar="R",
        help="send a candidate that fails validation back to its author, with its findings, up to R times",
    )
    parser.add_argument("--token-budget", type=int, metavar="T", help="stop at T prompt and answer tokens")
    parser.add_argument("--money-budget", type=float, metavar="X", help="stop at this cost; needs the prices")
    parser.add_argument("--input-price", type=float, metavar="X", help="per million prompt tokens")
    parser.add_argument("--output-price", type=float, metavar="X", help="per million answer tokens")
    parser.add_argument("--solver-model", metavar="M", help="another model for the calibration: whom the pool is for")
    parser.add_argument("--solver-base-url", metavar="U", help="its server, if it is not the author's")
    parser.add_argument(
        "--solver-input-price", type=float, metavar="X", help="per million of the solver's prompt tokens"
    )
    parser.add_argument("--solver-output-price", type=float, metavar="X", help="per million of its answer tokens")
    parser.add_argument(
        "--no-calibration",
        dest="calibration",
        action="store_const",
        const=False,
        help="ask no solver: admit candidates of any difficulty",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the first prompt and an estimate; ask nothing")
    driving.add_run_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    overrides = [
        *arguments.overrides,
        *(
            f"{setting}={json.dumps(value)}"
            for flag, setting in FLAGS.items()
            if (value := getattr(arguments, flag)) is not None
        ),
    ]
    if arguments.help_config:
        print(config_help(new_config(arguments, overrides)))
        return 0
    require_packages("numpy")
    driving.check_minutes(arguments.minutes)
    check_budget(arguments)
    config: Config | None = None
    if arguments.resume:
        if arguments.dry_run:
            raise InputError("--dry-run shows the first prompt of a new run; leave --resume out")
        directory = driving.resolve_run(arguments, "")
    else:
        config = new_config(arguments, overrides)
        check_author(arguments, config)
        check_synthesis(config)
        if arguments.dry_run:
            return dry_run(config, console(), allow_degraded=arguments.allow_degraded)
        directory = driving.resolve_run(arguments, "synth")
    screen = console(stderr=True)
    terminal = driving.Terminal("synth", screen, plain=arguments.plain, minutes=arguments.minutes, meter=meter)
    with driving.logged(screen):
        result = synthesise(
            config, directory,
            overrides=overrides, watch=terminal.watch, preparing=terminal.preparing,
            allow_degraded=arguments.allow_degraded,
        )  # fmt: skip
        code = terminal.end(result)
    show_summary(directory, console())
    show_spending(result)
    return code


def new_config(arguments: argparse.Namespace, overrides: list[str]) -> Config:
    layers = [
        *([preset(arguments.preset)] if arguments.preset else []),
        *([arguments.config] if arguments.config else []),
    ]
    config = load_config(SYNTHESIS, *layers, overrides=overrides)
    if layers or config.model.base_url or arguments.model is None:
        return config
    return load_config(preset(ON_THIS_MACHINE), GROUPED, overrides=overrides)


def check_author(arguments: argparse.Namespace, config: Config) -> None:
    """Raise InputError if nobody is named who could write environments."""
    if not config.model.base_url and arguments.model is None and arguments.preset is None and arguments.config is None:
        raise InputError("synth needs --base-url U and --model M: who writes the environments?")
    if config.model.base_url and arguments.model is None and arguments.config is None:
        raise InputError("synth needs --model M: the name under which the server knows the model")


def check_budget(arguments: argparse.Namespace) -> None:
    for flag in AMOUNTS:
        value = getattr(arguments, flag)
        if value is not None and value < 0:
            raise InputError(f"--{flag.replace('_', '-')} is {value}; expected 0 or more")


def meter(opened: Run) -> tuple[str, float]:
    if isinstance(opened.policy, Spends):
        return "tokens spent", opened.policy.spending.tokens
    return "tokens per second", opened.clock.tokens_per_second


def show_spending(result: RunResult) -> None:
    """Show what a served model was asked, and what that cost."""
    spending = result.spending
    if spending is None:
        return
    price = f", which cost {spending.cost:,.4f}" if spending.cost else ""
    solver = f" ({spending.solver_requests:,} by the solver)" if spending.solver_requests else ""
    line = f"{spending.requests:,} answers{solver}, {spending.tokens:,} tokens in all{price}"
    console().print(line, highlight=False, soft_wrap=True)


def dry_run(config: Config, screen: Console, *, allow_degraded: bool) -> int:
    """Show the first prompt as it would be sent, and what the run can cost at most."""
    messages = first_prompt(config, allow_degraded=allow_degraded)
    for message in messages:
        screen.print(f"[{message.speaker}]", style="bold", markup=False)
        screen.print(message.content, markup=False, highlight=False, soft_wrap=True)
    screen.print()
    for line in estimate(config, messages):
        screen.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0
