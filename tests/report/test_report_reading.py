"""A run as the report reads it: fates, funnels, steps that are not finished."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from report_support import add_candidate, begin

from evoenv.corpus import Author, break_program
from evoenv.records import Decision, Novelty, ValidationReport
from evoenv.report.overview import overview_of
from evoenv.report.reading import read_run
from evoenv.runs.funnel import FUNNEL, REFUSED, STATES
from evoenv.runs.view import Step
from evoenv.store.store import EnvironmentRecord, Store
from evoenv.validation.codes import finding


def test_a_funnel_counts_those_that_passed_each_test():
    fates = Counter(
        {"l1": 3, "l2": 2, "l3": 1, "l5": 1, "review": 2, "too-hard": 1, "too-easy": 1, "gate": 1, "admitted": 4}
    )
    # 16 proposed; 13 pass L1, 11 L2, 10 L3 and L4, 9 L5, 7 review, 5 calibration, 4 novelty
    assert Step(1, True, fates, {}).funnel == (16, 13, 11, 10, 10, 9, 7, 5, 4)
    assert len(FUNNEL) == 9


def test_the_undecided_count_as_proposed_and_no_more():
    assert Step(1, False, Counter({"undecided": 2, "admitted": 1}), {}).funnel == (3, *[1] * 8)


def test_every_fate_has_words():
    assert set(REFUSED) < set(STATES)


@pytest.fixture
def open_step(tmp_path: Path) -> Path:
    """Step 1: three candidates at three points of their way; the step is not finished."""
    directory = tmp_path / "run"
    with begin(directory, 4) as store:
        add_candidate(store, 1, 0, source="class A: pass", response="r")
        refused = add_candidate(store, 1, 1, source="class B: pass", response="r")
        store.add_report(1, refused, ValidationReport(2, (finding("L3.prompt-unstable", "seen"),) * 2, "B"))
        entering = add_candidate(store, 1, 2, source="class C: pass", response="r")
        store.add_report(1, entering, ValidationReport(5, (), "C"))
        store.add_metrics(1, {"novelty/gamma": 3.0})
        store.add_novelties(1, {entering: Novelty(0.25, 0.75)})
        store.add_decisions(1, [Decision(entering, 5, 0.5, 2.75, True, "admitted")])
    return directory


def test_a_step_that_is_not_finished_is_read_as_far_as_it_got(open_step: Path):
    with Store.read(open_step) as store:
        data = read_run(store)
    assert (data.last_step, data.wanted_steps, data.stage) == (0, 4, "nothing yet")
    entries = [entry for entry in data.entries if not entry.original]
    assert [(entry.name, entry.state) for entry in entries] == [
        ("s00001.g000.c00", "undecided"),
        ("B", "l3"),
        ("C", "entering"),
    ]
    assert entries[1].codes == ("L3.prompt-unstable",)
    assert entries[2].diversity == pytest.approx(3 * 0.75)
    assert [(step.number, step.finished, dict(step.fates)) for step in data.steps] == [
        (1, False, {"undecided": 1, "l3": 1, "admitted": 1})
    ]


def test_every_candidate_and_original_is_one_entry(small_run: Path):
    with Store.read(small_run) as store:
        data = read_run(store)
        admitted = [item for step in (1, 2, 3) for item in store.decisions(step) if item.admitted]
    assert len(data.entries) == 10 + 3 * 20
    assert len({entry.id for entry in data.entries}) == len(data.entries)
    assert {entry.id for entry in data.entries if entry.state == "pool" and not entry.original} == {
        item.candidate_id for item in admitted
    }
    assert data.total("admitted") == len(admitted) == len(data.generated)
    assert sum(step.funnel[0] for step in data.steps) == 60


def test_the_solver_is_followed_from_its_first_to_its_last_meeting(small_run: Path):
    with Store.read(small_run) as store:
        data = read_run(store)
        asked = store.query(
            "SELECT subject, min(step), max(step) FROM requests WHERE purpose = 'solve' GROUP BY subject"
        )
    steps = {subject: (first, last) for subject, first, last in asked}
    assert sum(item.responses for item in data.movements) == 3 * 4 * 2
    for item in data.movements:
        assert (item.first_step, item.last_step) == steps[item.environment_id]
        assert 0.5 <= item.first <= 1.0


def test_the_overview_says_how_clean_the_pool_is_where_an_oracle_can_tell(tmp_path: Path):
    first, second = (Author(0, "basic").compose(index) for index in (0, 1))
    spoiled = break_program(first, "asks-other-quantity", 0)
    assert spoiled is not None
    sources = [first.source, spoiled.source, second.source, "class Unknown: pass", first.source]
    with begin(tmp_path / "run", 1) as store:
        for index, source in enumerate(sources):
            name = add_candidate(store, 1, index, source=source, response="r")
            layer = 3 if index == 4 else 5  # what failed says nothing about the pool
            store.add_report(1, name, ValidationReport(layer, (), f"C{index}"))
            admitted = index in (0, 3)
            store.add_decisions(1, [Decision(name, layer, 0.5, 0.5, admitted, "admitted" if admitted else "gate")])
            if admitted:
                record = EnvironmentRecord(store.add_source(source), f"C{index}", False, candidate_id=name)
                store.add_environments([record])
    with Store.read(tmp_path / "run") as store:
        data = read_run(store)
    found = [entry.consistent for entry in data.entries if not entry.original]
    assert found == [True, False, True, None, None]
    lines = next(lines for title, lines, _ in overview_of(data).paragraphs if title == "Admitted")
    assert lines[1] == (
        "Of the 1 that can be read back into the corpus’s parts, 1 ask for what their code computes (100%; 67% of the "
        "3 readable candidates at L5)."
    )
