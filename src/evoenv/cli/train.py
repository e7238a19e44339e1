"""`evoenv train`: the whole loop: synthesise, validate, review, calibrate, admit, solve, learn, rotate."""

from __future__ import annotations

import argparse

from evoenv.api import train
from evoenv.assembly import require_packages
from evoenv.cli import driving
from evoenv.cli.common import console
from evoenv.cli.summary import show_summary
from evoenv.config import Config
from evoenv.run import check_trainable
from evoenv.settings import config_help, run_config
from evoenv.stages.context import Run

DEFAULT_PRESET = "nano"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Train a model on the environments it writes. Settings: defaults < --preset < --config < --set. "
        "Ctrl-C finishes the current stage and stops; --resume continues as if nothing had been."
    )
    driving.add_run_options(parser)
    parser.add_argument("--steps", type=int, metavar="N", help="iterations in all (run.steps)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    own = [] if arguments.steps is None else [f"run.steps={arguments.steps}"]
    overrides = [*arguments.overrides, *own]
    if arguments.help_config:
        print(config_help(run_config(driving.preset_of(arguments), arguments.config, overrides)))
        return 0
    require_packages("numpy", "torch", "transformers")
    driving.check_minutes(arguments.minutes)
    config: Config | None = None
    if arguments.resume:
        directory = driving.resolve_run(arguments, "")
    else:
        config = run_config(driving.preset_of(arguments, DEFAULT_PRESET), arguments.config, overrides)
        check_trainable(config)
        directory = driving.resolve_run(arguments, arguments.preset or DEFAULT_PRESET)
    screen = console(stderr=True)
    terminal = driving.Terminal("train", screen, plain=arguments.plain, minutes=arguments.minutes, meter=meter)
    with driving.logged(screen):
        result = train(
            config, directory,
            overrides=overrides, watch=terminal.watch, preparing=terminal.preparing,
            allow_degraded=arguments.allow_degraded,
        )  # fmt: skip
        code = terminal.end(result)
    show_summary(directory, console())
    return code


def meter(opened: Run) -> tuple[str, float]:
    return "tokens per second", opened.clock.tokens_per_second
