"""`evoenv train`: the whole loop: synthesise, validate, review, calibrate, admit, solve, learn, rotate."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from evoenv.assembly import open_ports, require_packages
from evoenv.cli import driving
from evoenv.cli.common import console
from evoenv.errors import ConfigError

if TYPE_CHECKING:
    from evoenv.config import Config
    from evoenv.store.store import Store

DEFAULT_PRESET = "nano"


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "train",
        help="the whole loop: a model writes, checks and solves its own environments",
        description="Train a model on the environments it writes. Settings: defaults < --preset < --config < --set. "
        "Ctrl-C finishes the current stage and stops; --resume continues as if nothing had been.",
    )
    driving.add_run_options(parser)
    parser.add_argument("--steps", type=int, metavar="N", help="iterations in all (run.steps)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    own = [] if arguments.steps is None else [f"run.steps={arguments.steps}"]
    if arguments.help_config:
        print(driving.config_help(driving.load(arguments, None, own)))
        return 0
    require_packages("numpy", "torch", "transformers")
    driving.check_minutes(arguments.minutes)
    if arguments.resume:
        directory = driving.resolve_run(arguments, "")
    else:
        config = driving.load(arguments, DEFAULT_PRESET, own)
        check_trainable(config)
        directory = driving.resolve_run(arguments, arguments.preset or DEFAULT_PRESET)
    from evoenv.cli.summary import show_summary
    from evoenv.run import create, reopen
    from evoenv.stages.context import Run
    from evoenv.writers import check_writers

    screen = console(stderr=True)
    store: Store | None = None
    with ExitStack() as stack:
        stack.enter_context(driving.logged(screen))
        if arguments.resume:
            store, config = reopen(directory, [*arguments.overrides, *own])
            stack.callback(store.close)
            check_trainable(config)
        check_writers(config.run.writers)
        ports = stack.enter_context(open_ports(config, learns=True, allow_degraded=arguments.allow_degraded))
        if store is None:  # last, so that a model that does not load leaves no run behind
            store, config = create(directory, config)
            stack.callback(store.close)

        def meter(opened: Run) -> tuple[str, float]:
            return "tokens per second", opened.clock.tokens_per_second

        code = driving.drive(
            store, config, ports,
            command="train", screen=screen, plain=arguments.plain, minutes=arguments.minutes, meter=meter,
        )  # fmt: skip
    show_summary(directory, console())
    return code


def check_trainable(config: Config) -> None:
    if config.model.base_url:
        raise ConfigError(
            f"model.base_url is {config.model.base_url!r}: a served model can only sample, so it cannot be trained. "
            "Use `evoenv synth` to build a pool with it, or leave model.base_url empty and name a local model"
        )
    if not config.calibration.enabled:
        raise ConfigError(
            "calibration.enabled is false: the generator's reward is made of the solver's pass rate, so training needs "
            "it; leave it true, or build a pool without training by `evoenv synth`"
        )
    if config.run.steps < 1:
        raise ConfigError(f"run.steps is {config.run.steps}; expected 1 or more")
    from evoenv.curricula import check_curriculum

    check_curriculum(config)
