"""What a synthesis would ask, and what it can cost at most: before anything is paid for."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from evoenv.assembly import open_embedder, open_sandbox, open_silent_policy
from evoenv.config import Config
from evoenv.prompts.generator import CHARS_PER_TOKEN
from evoenv.records import Message
from evoenv.run import create, prepare
from evoenv.stages.synthesis import generator_requests


def first_prompt(config: Config, *, allow_degraded: bool = False) -> tuple[Message, ...]:
    """Return the first generator prompt of a run with this configuration, as it would be sent."""
    with (
        tempfile.TemporaryDirectory() as directory,
        open_sandbox(config, allow_degraded=allow_degraded) as sandbox,
    ):
        store, config = create(Path(directory) / "run", config)
        with prepare(store, config, open_silent_policy(), sandbox, open_embedder(config), training=False) as run:
            asked, _ = generator_requests(run, 1, store.pool())
    return asked[0].request.messages


def estimate(config: Config, messages: Sequence[Message]) -> list[str]:
    """Write what is asked and how long it may be: how much a model writes, and how much of it passes, nobody knows.

    Prompts differ by their examples: the first one's length is that of all "about".
    """
    count, answers = config.run.candidates, config.generator.max_tokens
    repairs, longest = config.synth.repairs, config.generator.max_prompt_tokens
    prompt = sum(len(message.content) for message in messages) // CHARS_PER_TOKEN + 1
    review, solver, prices = config.review, config.solver, config.endpoint
    reviews = (1 if review.rule == "single" else review.reviews) if review.reads else 0
    programs = review.programs if review.recomputes else 0
    solving = config.calibration.instances if config.calibration.enabled else 0
    own_solver = bool(prices.solver_model)
    judged = [
        (reviews, review.max_prompt_tokens, review.max_tokens, prices.input_price, prices.output_price),
        (programs, review.max_prompt_tokens, review.program_max_tokens, prices.input_price, prices.output_price),
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
    parts = [f"{reviews} reviews"] * bool(reviews) + [f"{programs} programs"] * bool(programs)
    parts += [f"{solving} responses{by}"] * bool(solving)
    mended = f"at most {repairs * longest:,} prompt tokens and {repairs * answers:,} answer tokens"
    mending = [f"Each candidate that fails is sent back up to {repairs} times: {mended}."] * bool(repairs)
    proposing = (
        f"Proposing: about {count * prompt:,} prompt tokens, and at most {answers:,} answer tokens each: "
        f"{count * answers:,}."
    )
    lines = [
        f"Nothing was asked. {count:,} candidates would be proposed; a prompt has about {prompt:,} tokens.",
        proposing,
        *mending,
        f"Each candidate that reaches L5 adds {' and '.join(parts)}: at most {extra:,} tokens."
        if parts
        else "Nothing is asked about a candidate that reaches L5: no review, no calibration.",
    ]
    if prices.input_price or prices.output_price:
        cost = count * (prompt * prices.input_price + answers * prices.output_price) / 1e6
        cost += count * repairs * (longest * prices.input_price + answers * prices.output_price) / 1e6
        each = sum(times * (asked * price_in + said * price_out) for times, asked, said, price_in, price_out in judged)
        lines.append(
            f"Proposing costs about {cost:,.2f} at these prices if all answers are as long as they may be; a candidate "
            f"at L5 at most {each / 1e6:,.4f} more."
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
        else f"No budget is set: see {'--token-budget, --money-budget and ' if config.model.base_url else ''}--minutes."
    )
    return lines
