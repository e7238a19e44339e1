"""A comparison in numbers: intervals, curves, tables, plans that continue, one run's life with a scripted policy."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.comparison import single
from evoenv.comparison.figures import (
    combine,
    consistency,
    figures_of,
    funnel,
    moving_mean,
    training_and_held_out,
    write_figures,
)
from evoenv.comparison.plan import (
    ComparisonPlan,
    RunPlan,
    SuiteSettings,
    continued,
    is_done,
    make_plan,
    read_plan,
    run_directory,
    run_settings,
    write_plan,
)
from evoenv.comparison.series import ComparedRun, from_csv, read_runs, to_csv
from evoenv.comparison.table import averages_of, lines_of, mean_of, share, to_markdown, write_results
from evoenv.config import load_config, to_mapping
from evoenv.corpus import Author, break_program, read_environment
from evoenv.errors import InputError
from evoenv.records import Request
from evoenv.report.charts import Groups, Lines
from evoenv.store.store import Store
from tests.curricula.scripted_runs import Scripts, install, scripted_plan

# --------------------------------------------------------------------------- statistics


def test_an_interval_over_seeds_is_students() -> None:
    found = mean_of([0.2, 0.3, 0.4])
    # deviation 0.1, t for two degrees of freedom 4.303
    assert (found.mean, found.half, found.n) == (pytest.approx(0.3), pytest.approx(4.303 * 0.1 / math.sqrt(3)), 3)
    assert share(found) == "30.0% ± 24.8"
    assert share(mean_of([-0.05, 0.05]), signed=True) == "+0.0 ± 63.5"


def test_one_seed_has_no_interval() -> None:
    assert mean_of([0.4]).half is None
    assert share(mean_of([0.4])) == "40.0%"
    assert mean_of([0.4]).to_json() == {"mean": 0.4, "low": None, "high": None, "n": 1}


def test_many_seeds_come_close_to_the_normal_interval() -> None:
    half = mean_of([0.0, 1.0] * 50).half
    assert half == pytest.approx(1.984 * math.sqrt(0.25 * 100 / 99) / 10, rel=1e-3)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=60), st.integers(1, 9))
def test_a_moving_mean_stays_within_its_window(values: list[float], window: int) -> None:
    smooth = moving_mean(np.array(values), window)
    half = window // 2
    for index, value in enumerate(smooth):
        around = values[max(0, index - half) : index + half + 1]
        assert min(around) - 1e-9 <= value <= max(around) + 1e-9


def test_seeds_measured_at_other_positions_are_compared_in_between_and_no_further_than_all_reach() -> None:
    one = (np.array([0.0, 10.0, 20.0]), np.array([0.0, 1.0, 2.0]))
    two = (np.array([0.0, 30.0]), np.array([1.0, 4.0]))
    positions, mean, low, high = combine([one, two])
    assert (positions[0], positions[-1]) == (0.0, 20.0)
    assert (mean[-1], low[-1], high[-1]) == pytest.approx((2.5, 2.0, 3.0))
    positions, mean, _, _ = combine([one, (one[0], one[1] + 1)])
    assert list(positions) == [0, 10, 20]
    assert list(mean) == [0.5, 1.5, 2.5]
    assert len(combine([])[0]) == 0


# --------------------------------------------------------------------------- table and figures

SUITE = "accuracy:held"


def some_run(curriculum: str, seed: int, final: float, steps: int = 20) -> ComparedRun:
    """A run as `series` leaves it: a start, a middle and an end that were evaluated."""
    rows = [{"step": 0, "tokens": 0, SUITE: 0.25}]
    for step in range(1, (0 if curriculum == "untrained" else steps) + 1):
        row = {"step": step, "tokens": 100 * step, "tokens_sampled": 80, "tokens_trained": 20, "train_score": step / 40,
               "zero_variance": 0.5, "pool": 10 + step, "prototypes": 5}  # fmt: skip
        if curriculum.startswith("evoenv"):
            counts = {"candidates": 8, "l1": 6, "l2": 5, "l3": 5, "l4": 4, "l5": 3, "reviewed": 3, "calibrated": 2}
            row |= counts | {"admitted": 1, "l5_consistent": 2, "l5_inconsistent": 1, "l5_unread": 0}
            row |= {"admitted_consistent": 1, "admitted_inconsistent": 0, "admitted_unread": 0, "generator_reward": 1.5}
        if step in (steps // 2, steps):
            row[SUITE] = 0.25 + (final - 0.25) * step / steps
        rows.append(row)
    return ComparedRun(curriculum, seed, tuple(rows))


def some_plan(
    *names: str, seeds: tuple[int, ...] = (0, 1), steps: int = 20, suites: tuple[str, ...] = ("held",)
) -> ComparisonPlan:
    def config(name: str, seed: int) -> dict[str, object]:
        return to_mapping(load_config(overrides=run_settings(name, seed, steps, 0)))

    return ComparisonPlan(
        model="tiny-test",
        steps=steps,
        eval_every=10,
        evaluation=SuiteSettings(suites=suites),
        runs=tuple(RunPlan(curriculum=name, seed=seed, config=config(name, seed)) for name in names for seed in seeds),
    )


def test_the_table_pairs_differences_to_untrained_by_seed() -> None:
    plan = some_plan("untrained", "fixed")
    runs = [some_run("untrained", 0, 0.25), some_run("untrained", 1, 0.25), some_run("fixed", 0, 0.5),
            some_run("fixed", 1, 0.7)]  # fmt: skip
    untrained, fixed = lines_of(plan, runs)
    assert untrained.difference is None
    assert untrained.final.mean == untrained.start.mean == 0.25
    assert fixed.difference is not None
    assert (fixed.final.mean, fixed.difference.mean) == (pytest.approx(0.6), pytest.approx(0.35))
    assert fixed.difference.half == pytest.approx(12.706 * 0.1414214 / math.sqrt(2), rel=1e-4)
    assert fixed.tokens.mean == 2000
    assert fixed.training is not None
    assert fixed.training.mean == pytest.approx((19 + 20) / 2 / 40)  # the last tenth of twenty steps
    page = to_markdown(plan, [untrained, fixed], {"held": (0.25, 0.2, 0.31)})
    assert "| fixed | 2 | 20 | 2,000 | 60.0% ± 127.1 | +35.0 ± 127.1 | 48.8% ± 0.0 |" in page
    assert "| untrained | 2 | 0 | 0 | 25.0% | – | – |" in page
    assert "The model before training: 25.0%, 95% interval 20.0% to 31.0%" in page


def test_the_average_over_suites_and_its_gain_stand_beside_them() -> None:
    plan = some_plan("untrained", "fixed", suites=("held", "far"))

    def with_far(run: ComparedRun, start: float, end: float) -> ComparedRun:
        rows = [dict(row) for row in run.rows]
        rows[0]["accuracy:far"], rows[-1]["accuracy:far"] = start, end
        return ComparedRun(run.curriculum, run.seed, tuple(rows))

    runs = [with_far(some_run("untrained", 0, 0.25), 0.15, 0.15), with_far(some_run("untrained", 1, 0.25), 0.15, 0.15),
            with_far(some_run("fixed", 0, 0.5), 0.15, 0.3), with_far(some_run("fixed", 1, 0.7), 0.15, 0.1)]  # fmt: skip
    untrained, fixed = averages_of(plan, runs)
    assert (untrained.suite, untrained.difference) == ("Avg", None)
    assert untrained.final.mean == pytest.approx(0.2)  # (0.25 + 0.15) / 2
    assert fixed.start.mean == pytest.approx(0.2)
    # seed 0: (0.5 + 0.3) / 2 = 0.4; seed 1: (0.7 + 0.1) / 2 = 0.4; the middle of the run, without `far`, does not count
    assert (fixed.final.mean, fixed.final.half, fixed.best.mean) == (
        pytest.approx(0.4),
        pytest.approx(0),
        fixed.final.mean,
    )
    assert fixed.difference is not None
    assert fixed.difference.mean == pytest.approx(0.2)
    page = to_markdown(plan, lines_of(plan, runs), {}, [untrained, fixed])
    assert "| curriculum | held | far | Avg | Avg Δ |" in page
    assert "| untrained | 25.0 | 15.0 | 20.0 | – |" in page
    assert "| fixed | 60.0 ± 127.1 | 20.0 ± 127.1 | 40.0" in page
    assert "| +20.0" in page
    assert averages_of(some_plan("fixed"), [some_run("fixed", 0, 0.5)]) == [], "of one suite there is no average"


def test_without_an_untrained_run_there_is_no_difference() -> None:
    (line,) = lines_of(some_plan("fixed"), [some_run("fixed", 0, 0.5)])
    assert line.difference is None
    assert line.final.half is None


def test_a_series_survives_csv() -> None:
    run = some_run("evoenv", 3, 0.4)
    assert from_csv("evoenv", 3, to_csv([run])) == run
    header, first, *_ = to_csv([run], named=True).splitlines()
    assert header.startswith("curriculum,seed,step,tokens,")
    assert first.startswith("evoenv,3,0,0,")


def test_figures_are_drawn_for_what_the_curricula_have(tmp_path: Path) -> None:
    plan = some_plan("untrained", "fixed", "evoenv")
    runs = [some_run(name, seed, 0.5) for name in plan.curricula for seed in (0, 1)]
    written = {path.relative_to(tmp_path).as_posix() for path in write_figures(tmp_path, plan, runs)}
    assert written == {
        "compare.png",
        *(f"figures/{name}.png" for name in ("compare_by_tokens", "zero_variance", "pool", "generator", "tokens",
                                              "consistency", "funnel", "funnel_by_step")),
    }  # fmt: skip
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in written)
    alone = [run for run in runs if run.curriculum == "fixed"]
    assert funnel(plan, alone) is consistency(plan, alone, "step") is None


@pytest.mark.parametrize("reviewed", [True, False])
def test_a_review_that_is_left_out_has_no_bar_in_the_funnel(reviewed: bool) -> None:
    plan = some_plan("evoenv")
    runs = tuple(
        RunPlan(curriculum=run.curriculum, seed=run.seed, config={**run.config, "review": {"enabled": reviewed}})
        for run in plan.runs
    )
    figure = funnel(msgspec.structs.replace(plan, runs=runs), [some_run("evoenv", seed, 0.5) for seed in (0, 1)])
    assert figure is not None
    (panel,) = figure.panels
    assert isinstance(panel, Groups)
    assert ("reviewed" in panel.rows) == reviewed
    assert panel.rows[-2:] == ["calibrated", "admitted"]
    # eight candidates in each step, six at L1, one admitted, from the first step to the last
    for series in panel.series:
        assert (series.values[0], series.values[1], series.values[-1]) == pytest.approx((1.0, 6 / 8, 1 / 8))
    assert [series.name for series in panel.series] == ["first tenth", "last tenth"]


def test_a_curve_is_the_mean_over_seeds_with_a_band_from_the_lowest_to_the_highest() -> None:
    plan = some_plan("untrained", "fixed", "evoenv")
    runs = [some_run("untrained", seed, 0.25) for seed in (0, 1)]
    runs += [
        some_run("fixed", 0, 0.5),
        some_run("fixed", 1, 0.7),
        some_run("evoenv", 0, 0.3),
        some_run("evoenv", 1, 0.3),
    ]
    figure = training_and_held_out("compare", plan, runs, "step")
    training, held_out = figure.panels
    assert isinstance(held_out, Lines)
    assert isinstance(training, Lines)
    assert [series.name for series in training.series] == ["fixed", "evoenv"]
    fixed, evoenv, untrained = held_out.series
    assert list(fixed.x) == [0, 10, 20]
    assert fixed.values == pytest.approx([0.25, (0.375 + 0.475) / 2, 0.6])
    assert (fixed.low[2], fixed.high[2]) == pytest.approx((0.5, 0.7))
    assert (set(untrained.values), untrained.colour) == ({0.25}, "grey")
    assert fixed.colour == training.series[0].colour != evoenv.colour
    assert held_out.title.startswith("held-out accuracy")


def test_figures_hold_numbers_or_gaps() -> None:
    plan = some_plan("untrained", "fixed", "evoenv")
    for figure in figures_of(plan, [some_run(name, seed, 0.5) for name in plan.curricula for seed in (0, 1)]):
        for panel in figure.panels:
            assert isinstance(panel, Lines | Groups)
            values = [value for series in panel.series for value in (*series.values, *series.low, *series.high)]
            assert all(value is None or math.isfinite(value) for value in values), figure.key


# --------------------------------------------------------------------------- plans


def test_a_comparison_may_be_continued_with_more_seeds_curricula_and_steps(tmp_path: Path) -> None:
    write_plan(tmp_path, some_plan("untrained", "fixed"))
    more = continued(tmp_path, some_plan("rlve", seeds=(0, 1, 2), steps=30))
    assert [run.name for run in more.runs] == [
        "untrained-seed0", "untrained-seed1", "fixed-seed0", "fixed-seed1", "rlve-seed0", "rlve-seed1", "rlve-seed2",
    ]  # fmt: skip
    assert {run.config["run"]["steps"] for run in more.runs} == {30}
    write_plan(tmp_path, more)
    again = read_plan(tmp_path)
    assert again is not None
    assert again.runs == continued(tmp_path, again).runs
    assert [run.name for run in again.runs] == [run.name for run in more.runs]


def test_a_setting_with_a_curriculum_before_it_goes_to_its_runs_alone(tmp_path: Path) -> None:
    def plan(*overrides: str) -> ComparisonPlan:
        settings = SuiteSettings(suites=("held",), max_tokens=0)
        return make_plan(
            ["fixed", "rlve"], [0, 1], evaluation=settings, preset="tiny-test", steps=3,
            overrides=["curriculum.environments=seeds", "solver.max_tokens=40", *overrides],
        )  # fmt: skip

    made = plan("rlve:curriculum.environments=corpus:train:20", "rlve : solver.max_tokens=50")
    of_runs = {run.name: (run.config["curriculum"]["environments"], run.config["solver"]["max_tokens"])
               for run in made.runs}  # fmt: skip
    assert of_runs == {
        "fixed-seed0": ("seeds", 40),
        "fixed-seed1": ("seeds", 40),
        "rlve-seed0": ("corpus:train:20", 50),
        "rlve-seed1": ("corpus:train:20", 50),
    }
    assert made.evaluation.max_tokens == 40, "all are asked in the same way"
    page = to_markdown(made, [], {})
    assert "alone: rlve: curriculum.environments=corpus:train:20, solver.max_tokens=50." in page
    write_plan(tmp_path, made)
    assert continued(tmp_path, made) == made
    with pytest.raises(InputError, match=r"rlve-seed1: curriculum.environments differs"):
        continued(tmp_path, plan("rlve:curriculum.environments=corpus:train:21", "rlve:solver.max_tokens=50"))


def test_a_comparison_of_other_settings_is_refused(tmp_path: Path) -> None:
    plan = some_plan("fixed")
    write_plan(tmp_path, plan)
    with pytest.raises(InputError, match="evaluation differs"):
        continued(tmp_path, some_plan("fixed", suites=("other",)))
    with pytest.raises(InputError, match="can be raised, not lowered"):
        continued(tmp_path, some_plan("fixed", steps=10))
    other = to_mapping(load_config({"training": {"kl": 0.5}}, overrides=run_settings("fixed", 0, 20, 0)))
    changed = msgspec.structs.replace(plan, runs=(RunPlan(curriculum="fixed", seed=0, config=other),))
    with pytest.raises(InputError, match=r"fixed-seed0: training.kl differs"):
        continued(tmp_path, changed)
    with pytest.raises(InputError, match="kind of budget"):
        continued(tmp_path, msgspec.structs.replace(plan, steps=0, tokens=10**6))


def test_a_place_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty and holds no comparison"):
        continued(tmp_path, some_plan("fixed"))
    with pytest.raises(InputError, match="Not a directory; choose another -o"):
        continued(tmp_path / "notes.txt" / "x", some_plan("fixed"))
    (tmp_path / "plan.json").write_text('{"model": 1}')
    with pytest.raises(InputError, match="is not the plan of a comparison"):
        continued(tmp_path, some_plan("fixed"))


# --------------------------------------------------------------------------- one run's life


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripts:
    return install(monkeypatch)


@pytest.mark.sandbox
def test_a_run_is_evaluated_at_the_start_every_so_many_steps_and_at_the_end(
    tmp_path: Path, scripted: Scripts, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "out"
    plan = scripted_plan(tmp_path, 5, "untrained", "fixed")
    write_plan(place, plan)
    for run in plan.runs:
        assert not is_done(place, plan, run)
        single.run_one(place, plan, run)
        assert is_done(place, plan, run)
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [item["step"] for item in told if "accuracy" in item] == [0, 0, 2, 4, 5]
    assert len(scripted.opened) == 2  # untrained evaluates once for all; fixed finds its start there
    untrained, fixed = read_runs(place, plan)
    column = f"accuracy:{tmp_path / 'held'}"
    # right where (sample + last digit of the instance) % 3 == 0: one of three samples
    assert [(row["step"], value) for row, value in fixed.column(column)] == [
        (0, 0.0),
        (2, pytest.approx(1 / 3, abs=1e-5)),
        (4, pytest.approx(1 / 3, abs=1e-5)),
        (5, pytest.approx(1 / 3, abs=1e-5)),
    ]
    assert [row["step"] for row in untrained.rows] == [0]
    assert [row["tokens"] for row in fixed.rows] == sorted(row["tokens"] for row in fixed.rows)
    assert fixed.rows[1]["tokens_sampled"] > 0
    with Store.read(run_directory(place, plan.runs[1])) as store:
        assert [item.step for item in store.evaluations()] == [0, 2, 4, 5]
    document = write_results(place, plan)
    assert document["missing"] == []
    assert document["table"][1]["difference"]["mean"] == pytest.approx(1 / 3, abs=1e-5)


@pytest.mark.sandbox
def test_a_finished_run_is_not_repeated_and_a_raised_budget_continues_it(tmp_path: Path, scripted: Scripts) -> None:
    place = tmp_path / "out"
    plan = scripted_plan(tmp_path, 2, "fixed")
    write_plan(place, plan)
    single.run_one(place, plan, plan.runs[0])
    before = len(scripted.opened)
    single.run_one(place, plan, plan.runs[0])
    assert len(scripted.opened) == before
    longer = continued(place, scripted_plan(tmp_path, 3, "fixed"))
    write_plan(place, longer)
    assert not is_done(place, longer, longer.runs[0])
    single.run_one(place, longer, longer.runs[0])
    (run,) = read_runs(place, longer)
    assert [row["step"] for row, _ in run.column(f"accuracy:{tmp_path / 'held'}")] == [0, 2, 3]


@pytest.mark.sandbox
def test_the_series_of_evoenv_has_the_funnel_and_what_the_oracle_says(tmp_path: Path, scripted: Scripts) -> None:
    program = next(
        item
        for item in Author(5, "train").programs(50)
        if len(item.steps) == 2 and read_environment(item.source).consistent
    )
    faults = ("asks-other-quantity", "reference-shifted")
    other, shifted = (broken.source for fault in faults if (broken := break_program(program, fault)) is not None)
    # the one is read as inconsistent; the other's code is not made of known parts, and its words are run instead
    assert [read_environment(source).consistent for source in (program.source, other, shifted)] == [True, False, None]

    def propose(request: Request, index: int) -> str:
        if request.role == "generator":
            source = (program.source, other, shifted, None)[index % 4]
            return "no idea" if source is None else f"```python\n{source}\n```"
        return "VERDICT: ACCEPT" if request.role == "reviewer" else "<answer>1</answer>"

    scripted.answer = propose
    place = tmp_path / "out"
    plan = scripted_plan(tmp_path, 1, "evoenv")
    write_plan(place, plan)
    single.run_one(place, plan, plan.runs[0])
    (run,) = read_runs(place, plan)
    row = run.rows[1]
    # two groups of seven: four of each source, two without
    assert [row[name] for name in ("candidates", "l1", "l5", "reviewed")] == [14, 12, 12, 12]
    assert [row[f"l5_{verdict}"] for verdict in ("consistent", "inconsistent", "unread")] == [4, 8, 0]
    assert sum(row[f"admitted_{verdict}"] for verdict in ("consistent", "inconsistent", "unread")) == row["admitted"]
