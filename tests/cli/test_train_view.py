"""What watchers of a run see: the snapshot, the plain lines, the live screen, the summary, against a scripted run."""

from __future__ import annotations

import io

import pytest
from loop_support import configuration, open_run
from rich.console import Console

from evoenv.cli.live import LiveView, bar_text, render, sparkline
from evoenv.cli.summary import show, summarise
from evoenv.cli.watching import PlainView, Snapshot
from evoenv.evolve import evolve
from evoenv.ports import Traffic
from evoenv.runs.funnel import read_funnel as funnel
from evoenv.sandbox.host import Sandbox
from evoenv.stages.context import Observers
from tests.effort import becomes_true

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Two scripted steps, watched by a plain and a live view."""
    lines, screen = [], Console(file=io.StringIO(), force_terminal=True, width=100, height=40)
    with Sandbox() as sandbox:
        config = configuration(run={"steps": 2})
        run, _ = open_run(tmp_path_factory.mktemp("watched") / "run", sandbox, config)
        plain = PlainView(run.store, config, "train", lines.append)
        live = LiveView(run.store, config, "train", screen)
        run.observer = Observers([plain, live])
        evolve(run, 1)
        # The screen is drawn four times a second: on a fast machine both steps would fit between two drawings.
        becomes_true(lambda: "admitted Fresh, Second" in screen.file.getvalue())
        evolve(run, 2)
        live.close()
        yield run.store, lines, live.snapshot, screen.file.getvalue()
        run.close()


def test_the_funnel_counts_who_passed_what(watched):
    store, _, snapshot, _ = watched
    # step 1 is the hand-made table of the loop's tests: one refused by review, one too hard, one too easy
    assert funnel(store, 1) == (14, 11, 10, 9, 8, 7, 6, 4, 2)
    assert funnel(store, 3) == (0, 0, 0, 0, 0, 0, None, None, None)
    assert snapshot.funnel == funnel(store, 2)


def test_plain_lines_say_what_is_waited_for_and_how_long_a_stage_is_at_work(watched):
    store, _, _, _ = watched
    lines: list[str] = []
    now: list[Traffic | None] = [Traffic(0, 0, 0)]
    view = PlainView(store, configuration(run={"steps": 2}), "synth", lines.append, quiet_s=0.01)
    view.follow(lambda: now[0])
    view.stage(2, "generated")
    now[0] = Traffic(3, 1240, 0)
    said = "waiting for 3 answers: 1,240 tokens of them so far"
    assert becomes_true(lambda: f"step 2/2  generated   {said}" in lines)
    now[0] = Traffic(1, 1, 2)
    assert becomes_true(lambda: lines[-1].endswith("1 token of them so far, 2 failed requests repeated"))
    now[0] = None
    view.stage(2, "validated")
    view.progress(2, "validated", 3, 14)
    assert becomes_true(lambda: lines[-1].startswith("step 2/2  validated   at work for "))
    assert becomes_true(lambda: lines[-1].endswith(", 3 of 14"))
    view.close()


def test_the_live_screen_says_what_a_server_is_waited_for():
    snapshot = Snapshot(
        "synth", "runs/x", 5, step=1, stage="generated", done=2, total=9, waiting="waiting for 3 answers"
    )
    screen = Console(file=io.StringIO(), width=120)
    screen.print(render(snapshot, 0.0, width=120, height=40))
    assert "2 of 9 · waiting for 3 answers" in screen.file.getvalue()


def test_plain_lines_say_what_each_stage_came_to(watched):
    _, lines, _, _ = watched
    first = [line.partition("  (")[0] for line in lines if line.startswith("step 1/2")]
    assert first[0] == "step 1/2  generated   14 candidates from 2 prompts"
    assert first[1].startswith("step 1/2  validated   L1 11 → L2 10 → L3 9 → L4 8 → L5 7; most often L1.")
    assert first[2] == "step 1/2  reviewed    18 accept, 3 reject"
    assert first[3] == "step 1/2  calibrated  pass rates 0.50, 0.00, 1.00, 0.50, 0.25, 0.50, 0.75"
    assert first[4] == (
        "step 1/2  decided     admitted Fresh, Second; refused 7 by validation, 1 by review, 1 too hard, "
        "1 too easy, 1 not novel, 1 duplicate in the batch; mean reward +1.73"
    )
    assert first[5] == "step 1/2  solved      mean score 0.333, fully right 33%, no signal in 0% of the groups"
    assert first[6].startswith("step 1/2  rotated     pool: 4 active, 2 examples")
    assert first[7].startswith("step 1/2  done        in ")
    assert "left" in first[7]
    assert "left" not in lines[-1]


def test_the_snapshot_follows_the_pool_and_the_trends(watched):
    _, _, snapshot, _ = watched
    assert (snapshot.step, snapshot.steps, snapshot.stage) == (2, 2, None)
    assert (snapshot.active, snapshot.few_shot, snapshot.originals, snapshot.admitted) == (3, 4, 2, 3)
    assert len(snapshot.trends["generator/reward"]) == 2
    assert snapshot.step_seconds > 0


def test_the_live_view_draws_the_run(watched):
    drawn = watched[3]
    for words in ("evoenv train", "funnel of this step", "generator reward", "admitted Fresh, Second"):
        assert words in drawn


def test_the_summary_says_what_was_proposed_refused_admitted_and_learnt(watched):
    store, _, _, _ = watched
    summary = summarise(store)
    assert summary.steps == 2
    assert summary.funnel[0] == 28
    assert [item.name for item in summary.admitted] == ["Fresh", "Second", "Third"]
    assert summary.admitted[0].pass_rate == 0.25
    assert set(summary.admitted[0].parents) == {"FirstSeed", "SecondSeed"}
    assert summary.findings["L1.no-code"] == 1 + 8
    assert summary.refusals["layer"] == 7 + 11
    assert summary.solver.first == pytest.approx(8 / 24)
    assert summary.solver.responses == 48
    assert {item.name for item in summary.environments} <= {"FirstSeed", "SecondSeed", "Fresh", "Second", "Third"}
    screen = Console(file=io.StringIO(), width=100)
    show(summary, store.directory, screen)
    text = screen.file.getvalue()
    assert "Proposed: 28 candidates" in text
    assert "Fresh  step 1, pass rate 0.25" in text
    assert "evoenv envs --run" in text


@pytest.mark.parametrize(("width", "height"), [(60, 18), (80, 24), (100, 32), (200, 60)])
def test_the_screen_fits_any_terminal(width, height):
    shown = Snapshot(
        "train", "runs/a-rather-long-name-of-a-run-directory", 1000, step=7, stage="solved", done=5, total=9
    )
    shown.funnel = (128, 97, 71, 64, 52, 31, None, None, None)
    shown.trends = {"solver/score": [0.1, 0.9, 0.4]}
    shown.events.append((6, "decided", "admitted " + "AVeryLongClassName, " * 20))
    console = Console(width=width, height=height, file=io.StringIO())
    lines = console.render_lines(render(shown, shown.began + 5, width=width, height=height))
    assert len(lines) <= height
    assert all(sum(segment.cell_length for segment in line) <= width for line in lines)


def test_time_left_counts_down_within_a_step():
    shown = Snapshot("train", "x", steps=10, step=4, stage="solved", step_began=100.0)
    assert shown.seconds_left(130.0) is None
    shown.step_seconds = 60.0
    assert shown.seconds_left(130.0) == 60 * 6 + 30
    assert shown.seconds_left(300.0) == 60 * 6
    shown.stage = None
    assert shown.seconds_left(5000.0) == 60 * 6


def test_small_drawings():
    assert sparkline([0, 1, 2, 3, 6], 4) == "▁▂▃▇"
    assert sparkline([5, 5], 4) == "▁▁"
    assert sparkline([5], 4) == ""
    assert bar_text(0.5, 4, "red").plain == "██  "
    assert bar_text(0.001, 4, "red").plain == "▏   "
    assert bar_text(0.0, 4, "red").plain == "    "
