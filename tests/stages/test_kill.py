"""Real kills at random points: a resumed run must equal an undisturbed one in everything but the clocks."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from loop_support import contents

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

STEPS = 3
PROGRAM = Path(__file__).with_name("loop_support.py")


def drive(directory, kill_at=None):
    """Run the program to its end or its death; the number of ticks it counted, or None where it was killed."""
    arguments = [str(directory), str(STEPS), *([str(kill_at)] if kill_at else [])]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode == -9:
        return None
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("undisturbed") / "run"
    ticks = drive(directory)
    return contents(directory), ticks


def run_through_kills(directory, points):
    """Begin, die at each of the points (ticks after the last start), then run to the end; the deaths there were."""
    deaths = sum(drive(directory, point) is None for point in points)
    drive(directory)
    return deaths


def test_two_undisturbed_runs_are_equal(undisturbed, tmp_path):
    drive(tmp_path / "run")
    assert contents(tmp_path / "run") == undisturbed[0]


def test_sixty_kills_at_random_points_lose_nothing_and_repeat_nothing(undisturbed, tmp_path):
    reference, ticks = undisturbed
    rng = random.Random(20261115)
    deaths = 0
    for number in range(12):
        directory = tmp_path / f"run{number}"
        points = [rng.randrange(1, ticks // 2) for _ in range(6)]
        deaths += run_through_kills(directory, points)
        assert contents(directory) == reference, points
        shutil.rmtree(directory)
    assert deaths >= 50


def test_a_few_kills_at_the_start_in_the_middle_and_near_the_end(undisturbed, tmp_path):
    reference, ticks = undisturbed
    assert run_through_kills(tmp_path / "run", [25, ticks // 3, ticks // 2]) >= 2
    assert contents(tmp_path / "run") == reference
