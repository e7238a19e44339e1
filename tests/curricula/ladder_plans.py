"""Plans of ladders, and what their runs measured, by hand."""

from __future__ import annotations

from evoenv.comparison.ladder import ladder_suites
from evoenv.comparison.ladder_table import Reading
from evoenv.comparison.plan import ComparisonPlan, make_plan, with_equal_tokens
from evoenv.comparison.weighing import Measured

COLUMNS = ("near T=0.6", "near T=1", "far T=0.6", "far T=1")


def some_plan(*names: str, steps: int = 10, equal_tokens: int = 0) -> ComparisonPlan:
    """A ladder over two suites at two temperatures, with two seeds."""
    suites = ladder_suites(("near", "far"), (0.6, 1.0), {}, 0)
    assert suites.suites == COLUMNS
    plan = make_plan(
        names, (0, 1), evaluation=suites, preset="tiny-test", steps=steps, ladder=True,
        overrides=["curriculum.environments=corpus:basic:10"],
    )  # fmt: skip
    return with_equal_tokens(plan, equal_tokens)


def measured(*right: float, pass_at: float = 0.5, environments: tuple[int, ...] = ()) -> Measured:
    return Measured(sum(right) / len(right), pass_at, right, {"0": (right[0], pass_at, 1)}, 8, environments)


def everywhere(*right: float, pass_at: float = 0.5) -> dict[str, Measured]:
    return {column: measured(*right, pass_at=pass_at) for column in COLUMNS}


def reading(curriculum: str, seed: int, step: int, tokens: int, *right: float) -> Reading:
    return Reading(curriculum, seed, step, 16 * step, tokens, tokens - 300, everywhere(*right, pass_at=0.75))
