"""Differences and their noise: of problems, of environments, of seeds."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from evoenv.comparison.ladder import verdict_of
from evoenv.comparison.ladder_differences import differences_markdown, differences_of
from evoenv.comparison.ladder_table import Reading
from evoenv.comparison.table import student
from evoenv.comparison.weighing import Measured
from evoenv.errors import StoreError
from tests.curricula.ladder_plans import COLUMNS, everywhere, measured, reading, some_plan


def test_noise_is_that_of_environments_and_that_of_seeds() -> None:
    plan = some_plan("untrained", "fixed-all")
    start = everywhere(0.2, 0.4)
    ends = [everywhere(0.4, 0.6), everywhere(0.5, 0.9)]
    verdict = verdict_of(plan, start, ends)
    # a problem is an environment: over seeds (0.2 + 0.3) / 2 and (0.2 + 0.5) / 2; by seed, over problems, 0.2 and 0.4
    assert verdict.by_suite["near"].gain == pytest.approx(0.3)
    problems = 0.1 / math.sqrt(2) / math.sqrt(2)  # deviation of 0.25 and 0.35, over two problems
    seeds = 0.2 / math.sqrt(2) / math.sqrt(2)
    assert verdict.by_suite["near"].here.error == pytest.approx(math.hypot(problems, seeds))
    # two suites halve the problems' variance; the seeds are the same in both
    assert verdict.average.here.error == pytest.approx(math.hypot(problems / math.sqrt(2), seeds))
    assert (verdict.average.gain, verdict.seeds) == (pytest.approx(0.3), 2)
    # one degree of freedom for each of the errors 0.05, 0.05 (environments, shrunk to 0.05/2 each) and 0.1 (seeds)
    parts = (problems / 2, problems / 2, seeds)
    freedom = sum(part**2 for part in parts) ** 2 / sum(part**4 for part in parts)
    assert verdict.average.here.freedom == pytest.approx(freedom)
    assert 1 < freedom < 2
    # between the points 12.706 and 4.303 of one and two degrees of freedom, linear in their inverse
    point = 4.303 + (12.706 - 4.303) * (1 / freedom - 1 / 2) / (1 - 1 / 2)
    assert verdict.average.here.half == pytest.approx(point * verdict.average.here.error)
    assert not verdict.moved, "two seeds that differ as much as that say nothing"
    agreeing = verdict_of(plan, start, [everywhere(0.4, 0.6), everywhere(0.401, 0.602)])
    assert agreeing.moved
    assert "there is room" in agreeing.words


def test_students_points_are_those_of_the_tables() -> None:
    assert [student(freedom) for freedom in (1, 1.9, 2, 30, math.inf)] == [
        12.706, pytest.approx(4.745, abs=1e-3), 4.303, pytest.approx(2.04, abs=3e-3), 1.96,
    ]  # fmt: skip
    assert student(120) == pytest.approx(1.980)


def test_instances_of_one_environment_are_not_independent() -> None:
    plan = some_plan("untrained", "fixed-all")

    def grouped(*right: float) -> dict[str, Measured]:
        return {column: measured(*right, environments=(0, 1, 1, 0)) for column in COLUMNS}

    verdict = verdict_of(plan, grouped(0.1, 0.1, 0.1, 0.1), [grouped(0.2, 0.4, 0.4, 0.2)])
    # gains of 0.1 and 0.3 by environment: their deviation 0.2 / √2, over √2
    assert verdict.by_suite["near"].gain == pytest.approx(0.2)
    assert verdict.by_suite["near"].elsewhere.error == pytest.approx(0.1)
    assert verdict.by_suite["near"].elsewhere.freedom == pytest.approx(1)
    # by problem, each by itself: deviations of 0.1, over four problems
    assert verdict.by_suite["near"].here.error == pytest.approx(0.1 / math.sqrt(3))
    assert verdict.by_suite["near"].here.freedom == pytest.approx(3)
    assert verdict.by_suite["near"].words == "+20.0 ± 18.4 (127.1)"
    unknown = verdict_of(plan, everywhere(0.1, 0.1, 0.1, 0.1), [everywhere(0.2, 0.4, 0.4, 0.2)])
    assert unknown.by_suite["near"].words == "+20.0 ± 18.4 (–)"
    assert unknown.average.to_json()["other_environments"] is None
    assert "How much seeds differ is not known from one." in verdict.words


@pytest.mark.parametrize(("end", "moved"), [((0.3, 0.5, 0.3, 0.5), True), ((0.3, 0.3, 0.1, 0.5), False)])
def test_the_same_mean_counts_only_if_the_problems_agree(end: tuple[float, ...], moved: bool) -> None:
    plan = some_plan("untrained", "fixed-all")
    start = everywhere(0.2, 0.4, 0.2, 0.4) if moved else everywhere(0.1, 0.3, 0.2, 0.4)
    verdict = verdict_of(plan, start, [everywhere(*end)])
    assert verdict.moved is moved
    if not moved:
        assert "nothing is learnt that the suites can show" in verdict.words


def test_curricula_are_weighed_against_the_originals_alone_problem_by_problem() -> None:
    plan = some_plan("untrained", "fixed", "evoenv", "rlve")
    points = {
        ("untrained", 0): [reading("untrained", 0, 0, 900, 0.5, 0.5)],
        ("fixed", 0): [reading("fixed", 0, 10, 900, 0.2, 0.4)],
        ("fixed", 1): [reading("fixed", 1, 10, 900, 0.4, 0.4)],
        ("evoenv", 0): [reading("evoenv", 0, 5, 900, 0.0, 0.0), reading("evoenv", 0, 10, 900, 0.6, 0.9)],
        ("evoenv", 1): [reading("evoenv", 1, 10, 900, 0.8, 0.9)],
        ("rlve", 0): [reading("rlve", 0, 10, 900, 0.4, 0.4)],
    }
    evoenv, rlve, against_evoenv = differences_of(plan, points)
    # fixed has 0.3 and 0.4 of its two problems right, evoenv 0.7 and 0.9: 0.4 and 0.5 more
    assert (evoenv.basis, evoenv.curriculum, evoenv.seeds) == ("responses", "evoenv", (2, 2))
    assert evoenv.average.gain == pytest.approx(0.45)
    problems = 0.05  # a deviation of 0.1 / √2, over √2
    seeds = 0.05  # means of 0.3 and 0.4, and of 0.75 and 0.85: the same
    assert evoenv.by_suite["near"].here.error == pytest.approx(math.hypot(problems, seeds, seeds))
    assert evoenv.average.here.error == pytest.approx(math.hypot(problems / math.sqrt(2), seeds, seeds))
    # four parts with one degree of freedom each, of 0.025, 0.025, 0.05 and 0.05: together 2.9
    freedom = (2 * 0.025**2 + 2 * 0.05**2) ** 2 / (2 * 0.025**4 + 2 * 0.05**4)
    assert evoenv.average.here.freedom == pytest.approx(freedom)
    assert evoenv.average.here.half == pytest.approx(student(freedom) * evoenv.average.here.error)
    assert (evoenv.words, rlve.words) == ("better on these environments", "one seed: open")
    page = differences_markdown([evoenv, rlve, against_evoenv])
    assert "| evoenv | responses | 2 and 2 | +45.0 ± 25.5 (–) | " in page
    assert page.count("one seed: open") == 2
    # rlve has 0.4 of both right, evoenv 0.7 and 0.9
    assert (against_evoenv.curriculum, against_evoenv.against, against_evoenv.seeds) == ("rlve", "evoenv", (1, 2))
    assert against_evoenv.average.gain == pytest.approx(-0.4)
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "## Against `fixed`, which has the originals alone", "## Against `evoenv`: the ablations, and the others"
    ]  # fmt: skip
    assert differences_markdown([evoenv, rlve]).count("## ") == 1
    alone = {key: own for key, own in points.items() if key[0] != "fixed"}
    assert [item.against for item in differences_of(plan, alone)] == ["evoenv"]
    assert differences_of(plan, {key: own for key, own in alone.items() if key[0] != "evoenv"}) == []
    assert differences_markdown([]) == ""
    other_way = {
        ("fixed", 0): points["evoenv", 1], ("fixed", 1): points["evoenv", 1],
        ("evoenv", 0): points["fixed", 1], ("evoenv", 1): points["fixed", 1],
    }  # fmt: skip
    renamed = {key: [replace(item, curriculum=key[0]) for item in own] for key, own in other_way.items()}
    assert [item.words for item in differences_of(plan, renamed)] == ["worse on these environments"]
    # two environments gain 0.1 and 0.3: beyond noise by problem (half 0.10), within it by environment (half 0.30)
    before, after = (
        {column: measured(*right, environments=(0, 0, 1, 1)) for column in COLUMNS}
        for right in ((0.2, 0.2, 0.2, 0.2), (0.3, 0.3, 0.5, 0.5))
    )
    kinds = {
        (name, seed): [Reading(name, seed, 10, 160, 900, 600, columns)]
        for name, columns in (("fixed", before), ("evoenv", after))
        for seed in (0, 1)
    }
    assert [item.words for item in differences_of(plan, kinds)] == ["better on these environments"]
    uneven = [replace(points["evoenv", 1][0], columns=everywhere(0.5))]
    with pytest.raises(StoreError, match="1 and 2 problems; expected the same ones"):
        differences_of(plan, {**points, ("evoenv", 1): uneven})
