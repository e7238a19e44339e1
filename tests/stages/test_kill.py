"""Real kills at random points: a resumed run must equal an undisturbed one in everything but the clocks."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loop_support import contents

from tests.effort import HANG_S

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

STEPS = 3
PROGRAM = Path(__file__).with_name("loop_support.py")


def start(directory, *more):
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(directory), str(STEPS), *map(str, more)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def drive(directory, *kill_at):
    """Run the program to its end or its death; the number of ticks it counted, or None where it was killed."""
    with start(directory, *kill_at) as process:
        output, errors = process.communicate(timeout=HANG_S)
    if process.returncode == -9:
        return None
    assert process.returncode == 0, errors
    return int(output)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("undisturbed") / "run"
    ticks = drive(directory)
    return contents(directory), ticks


def test_two_undisturbed_runs_are_equal(undisturbed, tmp_path):
    drive(tmp_path / "run")
    assert contents(tmp_path / "run") == undisturbed[0]


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.long)])
def test_kills_between_any_two_writes_lose_nothing_and_repeat_nothing(undisturbed, tmp_path, kills):
    reference, ticks = undisturbed
    rng = random.Random(20261115)
    deaths = 0
    while deaths < kills:
        directory = tmp_path / "run"
        points = [rng.randrange(1, ticks // 4)]
        while drive(directory, points[-1]) is None:
            points.append(rng.randrange(1, ticks // 4))
        deaths += len(points) - 1
        assert contents(directory) == reference, points
        shutil.rmtree(directory)


def test_kills_from_outside_at_any_moment_lose_nothing_and_repeat_nothing(undisturbed, tmp_path):
    rng = random.Random(7)
    directory = tmp_path / "run"
    for _ in range(12):
        with start(directory) as process:
            time.sleep(rng.uniform(0.3, 1.2))
            process.kill()
    drive(directory)
    assert contents(directory) == undisturbed[0]
