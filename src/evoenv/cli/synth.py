"""`evoenv synth`: a verified pool out of any OpenAI-compatible model; the same loop, without solving and learning."""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.assembly import open_embedder, open_ports, open_sandbox, open_silent_policy, require_packages
from evoenv.cli import driving
from evoenv.cli.common import console
from evoenv.config import load_config, to_mapping
from evoenv.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from evoenv.config import Config
    from evoenv.records import Message

BATCH = {"generator": {"prompts": 16, "candidates_per_prompt": 1}}
"""Without groups to compare, every candidate gets a prompt of its own: other examples, another environment."""

FLAGS = {
    "base_url": "model.base_url",
    "model": "model.name",
    "candidates": "run.candidates",
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

AMOUNTS = (
    "candidates", "token_budget", "money_budget", "input_price", "output_price", "solver_input_price",
    "solver_output_price",
)  # fmt: skip


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "synth",
        help="a verified pool from any OpenAI-compatible model, without training",
        description="Let a model write environments, and keep those that pass validation, review, calibration and "
        "novelty. Nothing is trained. The API key is read from OPENAI_API_KEY, that of a solver elsewhere from "
        "EVOENV_SOLVER_API_KEY. Stopped by Ctrl-C or a budget, --resume continues; no answer is paid for twice.",
    )
    parser.add_argument(
        "--base-url", metavar="U", help="the server, as in http://localhost:8000/v1; a local model if absent"
    )
    parser.add_argument("--model", metavar="M", help="the model's name")
    parser.add_argument("--candidates", type=int, metavar="N", help="candidates to propose in all")
    parser.add_argument("--token-budget", type=int, metavar="T", help="stop at so many prompt and answer tokens")
    parser.add_argument("--money-budget", type=float, metavar="X", help="stop at this cost; needs the prices")
    parser.add_argument("--input-price", type=float, metavar="X", help="per million prompt tokens")
    parser.add_argument("--output-price", type=float, metavar="X", help="per million answer tokens")
    parser.add_argument("--solver-model", metavar="M", help="another model for the calibration: whom the pool is for")
    parser.add_argument("--solver-base-url", metavar="U", help="its server, where it is not the author's")
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
    own = [
        f"{setting}={json.dumps(value)}"
        for flag, setting in FLAGS.items()
        if (value := getattr(arguments, flag)) is not None
    ]
    if arguments.help_config:
        print(driving.config_help(new_config(arguments, own)))
        return 0
    require_packages("numpy")
    driving.check_minutes(arguments.minutes)
    check_budget(arguments)
    screen = console(stderr=True)
    if arguments.resume:
        if arguments.dry_run:
            raise InputError("--dry-run shows the first prompt of a new run; leave --resume out")
        directory = driving.resolve_run(arguments, "")
    else:
        config = new_config(arguments, own)
        check_new(arguments, config)
        if arguments.dry_run:
            return dry_run(config, console(), allow_degraded=arguments.allow_degraded)
        directory = driving.resolve_run(arguments, "synth")
    return synthesise(arguments, directory, None if arguments.resume else config, own, screen)


def new_config(arguments: argparse.Namespace, own: list[str]) -> Config:
    return load_config(BATCH, *driving.layers_of(arguments), overrides=[*arguments.overrides, *own])


def check_new(arguments: argparse.Namespace, config: Config) -> None:
    if not config.model.base_url and arguments.model is None and arguments.preset is None and arguments.config is None:
        raise InputError("synth needs --base-url U and --model M: who writes the environments?")
    if config.model.base_url and arguments.model is None and arguments.config is None:
        raise InputError("synth needs --model M: the name under which the server knows the model")
    if config.run.candidates < 1:
        raise InputError(f"--candidates is {config.run.candidates}; expected how many are to be proposed, 1 or more")
    prices = config.endpoint
    if prices.money_budget and not (prices.input_price or prices.output_price):
        raise InputError("--money-budget needs --input-price and --output-price (per million tokens) to be measured")
    check_solver(config)


def check_solver(config: Config) -> None:
    """A solver of its own: named, reachable by a URL, priced where money counts, and with something to do."""
    endpoint = config.endpoint
    if endpoint.solver_base_url and not endpoint.solver_model:
        raise InputError("--solver-base-url needs --solver-model M: the name under which that server knows the solver")
    if not endpoint.solver_model:
        return
    if not config.model.base_url:
        raise InputError("--solver-model needs --base-url: a local author solves by itself")
    if not config.calibration.enabled:
        raise InputError(
            "--solver-model answers in the calibration, which --no-calibration leaves out; drop one of them"
        )
    if endpoint.solver_base_url and not endpoint.solver_base_url.startswith(("http://", "https://")):
        raise InputError(
            f"--solver-base-url is {endpoint.solver_base_url!r}; expected http:// or https://, as in "
            "http://localhost:8000/v1"
        )
    if endpoint.money_budget and not (endpoint.solver_input_price or endpoint.solver_output_price):
        raise InputError(
            "--money-budget with --solver-model needs --solver-input-price and --solver-output-price to be measured"
        )


def check_budget(arguments: argparse.Namespace) -> None:
    for flag in AMOUNTS:
        value = getattr(arguments, flag)
        if value is not None and value < 0:
            raise InputError(f"--{flag.replace('_', '-')} is {value}; expected 0 or more")


def synthesise(
    arguments: argparse.Namespace, directory: Path, new: Config | None, own: list[str], screen: Console
) -> int:
    from evoenv.cli.summary import show_summary
    from evoenv.run import create, reopen
    from evoenv.stages.context import Run
    from evoenv.store.store import Store
    from evoenv.writers import check_writers

    with ExitStack() as stack:
        stack.enter_context(driving.logged(screen))
        store: Store | None = None
        if new is None:
            overrides = [*arguments.overrides, *own]
            store, config = reopen(directory, [*overrides, *last_step(directory, overrides)])
            stack.callback(store.close)
        else:
            steps = math.ceil(new.run.candidates / batch_size(new))
            config = load_config(to_mapping(new), overrides=[f"run.steps={steps}"])
        check_writers(config.run.writers)
        ports = stack.enter_context(open_ports(config, learns=False, allow_degraded=arguments.allow_degraded))
        if store is None:
            store, config = create(directory, config)
            stack.callback(store.close)

        def meter(opened: Run) -> tuple[str, float]:
            spending = getattr(ports.policy, "spending", None)
            if spending is None:
                return "tokens per second", opened.clock.tokens_per_second
            return "tokens spent", spending.tokens

        code = driving.drive(
            store, config, ports,
            command="synth", screen=screen, plain=arguments.plain, minutes=arguments.minutes, training=False,
            meter=meter,
        )  # fmt: skip
    show_summary(directory, console())
    spending = getattr(ports.policy, "spending", None)
    if spending is not None:
        cost = spending.cost(config.endpoint)
        price = f", which cost {cost:,.4f}" if cost else ""
        solver = f" ({spending.solver_requests:,} by the solver)" if spending.solver_requests else ""
        line = f"{spending.requests:,} answers{solver}, {spending.tokens:,} tokens in all{price}"
        console().print(line, highlight=False, soft_wrap=True)
    return code


def batch_size(config: Config) -> int:
    size = config.generator.prompts * config.generator.candidates_per_prompt
    if size < 1:
        raise InputError("generator.prompts and generator.candidates_per_prompt must be 1 or more")
    return size


def last_step(directory: Path, overrides: list[str]) -> list[str]:
    """The step at which the wanted number of candidates is reached, as a setting: earlier steps may have been short."""
    from evoenv.store.store import Store

    with Store.read(directory) as store:
        config = load_config(store.meta("config"), overrides=overrides)
        done = store.last_step()
        left = config.run.candidates - store.count_candidates(before_step=done + 1)
    return [f"run.steps={done + max(0, math.ceil(left / batch_size(config)))}"]


# --------------------------------------------------------------------------- before anything is paid for


def dry_run(config: Config, screen: Console, *, allow_degraded: bool) -> int:
    """The first prompt as it would be sent, and what the run can cost at most."""
    from evoenv.prompts.generator import CHARS_PER_TOKEN
    from evoenv.run import create, prepare
    from evoenv.stages.synthesis import generator_requests

    with tempfile.TemporaryDirectory() as place, open_sandbox(config, allow_degraded=allow_degraded) as sandbox:
        store, config = create(Path(place) / "run", config)
        nobody = open_silent_policy()
        with prepare(store, config, nobody, sandbox, open_embedder(config), training=False) as opened:
            asked, _ = generator_requests(opened, 1, store.pool())
    messages = asked[0].request.messages
    for message in messages:
        screen.print(f"[{message.speaker}]", style="bold", markup=False)
        screen.print(message.content, markup=False, highlight=False, soft_wrap=True)
    screen.print()
    for line in estimate(config, messages, CHARS_PER_TOKEN):
        screen.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def estimate(config: Config, messages: tuple[Message, ...], chars_per_token: int) -> list[str]:
    """Bounds, not guesses: how much a model writes, and how much of it passes, nobody knows before."""
    count, answers = config.run.candidates, config.generator.max_tokens
    prompt = sum(len(message.content) for message in messages) // chars_per_token + 1
    review, solver, prices = config.review, config.solver, config.endpoint
    reviews = (1 if review.rule == "single" else review.reviews) if review.enabled else 0
    solving = config.calibration.instances if config.calibration.enabled else 0
    own_solver = bool(prices.solver_model)
    judged = [
        (reviews, review.max_prompt_tokens, review.max_tokens, prices.input_price, prices.output_price),
        (
            solving,
            solver.max_prompt_tokens,
            solver.max_tokens,
            prices.solver_input_price if own_solver else prices.input_price,
            prices.solver_output_price if own_solver else prices.output_price,
        ),
    ]
    extra = sum(times * (asked + said) for times, asked, said, _, _ in judged)
    by = f" by {prices.solver_model}" if own_solver else ""
    parts = [f"{reviews} reviews"] * bool(reviews) + [f"{solving} responses{by}"] * bool(solving)
    lines = [
        f"Nothing was asked. {count:,} candidates would be proposed; a prompt has about {prompt:,} tokens.",
        f"Proposing: {count * prompt:,} prompt tokens and at most {answers:,} answer tokens each: {count * answers:,}.",
        f"Each candidate that reaches L5 adds {' and '.join(parts)}: at most {extra:,} tokens."
        if parts
        else "Nothing is asked about a candidate that reaches L5: no review, no calibration.",
    ]
    if prices.input_price or prices.output_price:
        cost = count * (prompt * prices.input_price + answers * prices.output_price) / 1e6
        each = sum(times * (asked * price_in + said * price_out) for times, asked, said, price_in, price_out in judged)
        lines.append(
            f"Proposing costs at most {cost:,.2f} at these prices; a candidate at L5 at most {each / 1e6:,.4f} more."
        )
    budgets = [
        text
        for text, wanted in (
            (f"{prices.token_budget:,} tokens", prices.token_budget),
            (f"{prices.money_budget:g} of money", prices.money_budget),
        )
        if wanted
    ]
    lines.append(
        f"The run would stop at {' or '.join(budgets)}."
        if budgets
        else "No budget is set: see --token-budget, --money-budget and --minutes."
    )
    return lines
