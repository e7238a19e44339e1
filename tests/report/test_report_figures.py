"""The figures, as data: hand-computed numbers, and a picture of each."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_support import begin

from evoenv.records import Novelty
from evoenv.report.asymmetry_figure import asymmetry
from evoenv.report.audit import MARKS_EMBEDDED, figure_document, panel_document
from evoenv.report.charts import (
    Bars,
    Columns,
    Figure,
    Lines,
    Spans,
    Tree,
    is_measured,
    window_words,
    windows,
)
from evoenv.report.figures import figures_of, funnel, rejections, scores
from evoenv.report.png import paint
from evoenv.report.pool_figures import lay_out
from evoenv.report.reading import RunData, read_run
from evoenv.runs.candidates import Entry
from evoenv.runs.environments import closest_parent
from evoenv.runs.view import quantile
from evoenv.store.store import EnvironmentRecord, Store
from evoenv.watch.documents import encode


@pytest.fixture(scope="module")
def data(small_run: Path) -> RunData:
    with Store.read(small_run) as store:
        return read_run(store)


@pytest.fixture
def empty(tmp_path: Path) -> RunData:
    with begin(tmp_path / "run") as store:
        return read_run(store)


# --------------------------------------------------------------------------- arithmetic


@pytest.mark.parametrize(
    ("last", "at_most", "expected"),
    [
        (3, 5, [(1, 1), (2, 2), (3, 3)]),
        (12, 6, [(1, 2), (3, 4), (5, 6), (7, 8), (9, 10), (11, 12)]),
        (100, 16, [(first, first + 9) for first in range(1, 100, 10)]),
        (11, 5, [(1, 5), (6, 10), (11, 11)]),
    ],
)
def test_windows_are_of_round_equal_width(last, at_most, expected):
    assert windows(range(1, last + 1), at_most) == expected


@given(last=st.integers(1, 3000), at_most=st.integers(1, 120))
def test_windows_cover_every_step_once(last, at_most):
    found = windows([last], at_most)
    assert len(found) <= at_most
    assert [step for first, end in found for step in range(first, end + 1)] == list(range(1, last + 1))


def test_windows_in_words():
    assert [window_words(window) for window in ((4, 4), (1, 10))] == ["4", "1–10"]


def test_quantiles_interpolate():
    assert quantile([4.0, 1.0, 2.0, 3.0], 0.5) == 2.5
    assert quantile([0.0, 10.0], 0.1) == 1.0
    assert quantile([7.0], 0.9) == 7.0


# --------------------------------------------------------------------------- what the figures say


def test_the_funnel_agrees_with_the_run(data: RunData):
    table = funnel(data).table
    counts = [row[1] for row in table.rows]
    assert counts[0] == 60
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == len(data.generated)
    assert table.rows[1][2] == pytest.approx(counts[1] / 60)


def test_a_test_that_the_run_leaves_out_has_no_bar(data: RunData):
    assert "review" in [row[0] for row in funnel(data).table.rows]
    without = replace(data, config={**data.config, "review": {"enabled": False}})
    figure = funnel(without)
    (bars,) = figure.panels
    assert isinstance(bars, Bars)
    assert [bar.label for bar in bars.bars][5:] == ["pass L5", "right difficulty", "admitted"]
    assert [row[0] for row in figure.table.rows][5:] == ["L5", "calibration", "admitted"]
    assert "This run leaves review out." in figure.caption
    passed = {row[0]: row for row in figure.table.rows}
    assert passed["calibration"][3] == pytest.approx(passed["calibration"][1] / passed["L5"][1])


def test_each_refusal_is_counted_once(data: RunData):
    rows = rejections(data).table.rows
    assert sum(row[2] for row in rows) == 60 - len(data.generated)
    assert all(row[3] for row in rows)


def test_columns_stack_to_the_candidates_of_a_step(data: RunData):
    figure = next(item for item in figures_of(data) if item.key == "funnel_by_step")
    (panel,) = figure.panels
    assert isinstance(panel, Columns)
    assert [sum(series.values[i] for series in panel.series) for i in range(3)] == [20.0, 20.0, 20.0]


def test_evaluations_are_a_line_with_intervals_where_they_were_made(tmp_path: Path):
    with begin(tmp_path / "run", 4) as store:
        for step in range(1, 5):
            store.add_metrics(step, {"solver/score": 0.1 * step})
            with store.stage(step, "rotated"):
                pass
        store.record_evaluation(0, "aime", 0.2, 0.1, 0.3, 30)
        store.record_evaluation(4, "aime", 0.6, 0.5, 0.7, 30)
        figure = scores(read_run(store))
    (panel,) = figure.panels
    assert isinstance(panel, Lines)
    assert list(panel.x) == [0, 1, 2, 3, 4]
    training, _, held_out = panel.series
    assert training.values == [None, 0.1, 0.2, pytest.approx(0.3), 0.4]
    assert held_out.values == pytest.approx([0.2, 0.3, 0.4, 0.5, 0.6])
    assert [is_measured(held_out, index) for index in range(5)] == [True, False, False, False, True]
    assert "No held-out evaluation" not in figure.caption
    assert figure.table.rows[-1] == (4, "aime", 0.6, 0.5, 0.7, 30)


def test_without_evaluations_the_figure_says_that_it_is_open(data: RunData):
    assert "No held-out evaluation" in scores(data).caption


def test_a_run_without_anything_has_figures_that_say_so(empty: RunData):
    drawn = {figure.key for figure in figures_of(empty) if figure.panels}
    assert drawn == {"pool"}  # the seeds are there
    assert all(figure.caption.startswith(("No", "This")) for figure in figures_of(empty) if not figure.panels)


# --------------------------------------------------------------------------- lineage


def record(name: str, tags: str = "") -> EnvironmentRecord:
    return EnvironmentRecord(name, name, original=True, tags=frozenset(tags))


def test_the_closest_parent_is_the_nearest_then_the_most_alike_then_the_first():
    records = {name: record(name, tags) for name, tags in (("a", "xy"), ("b", "xyz"), ("c", "q"))}
    child = Entry("e", "e", "pool", 1, tags=frozenset("xyz"), parents=("c", "a", "b"))
    assert closest_parent(child, records) == "b"
    near = Novelty(0.5, 0.5, nearest="c")
    assert closest_parent(Entry("e", "e", "pool", 1, parents=("a", "c"), novelty=near), records) == "c"
    far = Novelty(0.5, 0.5, nearest="z")
    assert closest_parent(Entry("e", "e", "pool", 1, parents=("c", "a"), novelty=far), records) == "c"
    assert closest_parent(Entry("e", "e", "pool", 1, parents=("unknown",)), records) is None


def test_every_environment_has_its_own_row_and_comes_after_its_parent(data: RunData):
    tree = lay_out(data)
    assert tree is not None
    assert sorted(node.y for node in tree.nodes) == list(range(len(data.environments)))
    assert len(tree.links) == len(data.generated)
    for parent, child in [*tree.links, *tree.faint]:
        assert tree.nodes[parent].x < tree.nodes[child].x
    assert all(tree.nodes[parent].y < tree.nodes[child].y for parent, child in tree.links)
    assert len(tree.links) + len(tree.faint) == 3 * len(data.generated)


def test_seeds_alone_are_no_lineage(empty: RunData):
    assert lay_out(empty) is None


# --------------------------------------------------------------------------- pictures


def drawn(data: RunData) -> list[Figure]:
    """The figures with something to draw: all but that of an overlap which nobody measured."""
    figures = figures_of(data)
    assert [figure.key for figure in figures if not figure.panels] == ["overlap"]
    return [figure for figure in figures if figure.panels]


def test_every_figure_is_a_png(data: RunData):
    for figure in drawn(data):
        image = paint(figure)
        assert image.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", image[16:24])
        assert width == 1200
        assert 300 <= height <= 2400, figure.key


# --------------------------------------------------------------------------- what the page draws


def test_every_figure_is_a_document_that_json_can_write_with_words_for_those_who_do_not_see_it(data: RunData):
    for figure in drawn(data):
        document = json.loads(encode(figure_document(figure)))
        assert document["alt"]
        assert [panel["kind"] for panel in document["panels"]] == [type(p).__name__.lower() for p in figure.panels]
        assert len(document["table"]["rows"]) == len(figure.table.rows)


def test_a_forest_or_a_timeline_that_no_page_could_draw_is_cut_and_counted(data: RunData):
    tree = lay_out(data)
    assert tree is not None
    many = Tree([*tree.nodes] * 100, tree.links, tree.faint, 100, 900)
    assert panel_document(many) == {"kind": "omitted", "left_out": 100 * len(tree.nodes)}
    (spans,) = next(figure for figure in drawn(data) if figure.key == "lifetimes").panels
    assert isinstance(spans, Spans)
    document = panel_document(Spans([*spans.spans] * 100, spans.last))
    assert len(document["spans"]) == MARKS_EMBEDDED
    assert document["left_out"] == 100 * len(spans.spans) - MARKS_EMBEDDED


def test_the_asymmetry_is_drawn_for_runs_that_recompute_alone(data: RunData) -> None:
    assert "asymmetry" not in {figure.key for figure in figures_of(data)}
    entries = [
        Entry("a", "A", "pool", 1, asymmetry=0.5, pass_rate=0.5),
        Entry("b", "B", "review", 1, asymmetry=-1.0, pass_rate=1.0),
        Entry("c", "C", "too-hard", 2, asymmetry=1.0, pass_rate=0.0),
        Entry("d", "D", "l1", 2),
    ]
    (figure,) = asymmetry(replace(data, entries=entries))
    columns, lines = figure.panels
    assert isinstance(columns, Columns)
    assert isinstance(lines, Lines)
    admitted, refused = ([index for index, value in enumerate(item.values) if value] for item in columns.series)
    assert (admitted, refused) == ([15], [0, 19])
    assert [list(item.values) for item in lines.series] == [[-0.25, 1.0], [0.5, None]]
    assert [row[0] for row in figure.table.rows] == ["a", "b", "c"]
    assert paint(figure)
    assert encode(figure_document(figure))
