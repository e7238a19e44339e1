"""Pages of candidates: every query says what the states say, and a page reads no more than it needs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from report_support import add_candidate, large_run

from evoenv.config import load_config, to_mapping
from evoenv.errors import InputError
from evoenv.records import Decision, ValidationReport
from evoenv.runs.candidates import CandidateQuery, Entry, count_candidates, read_page
from evoenv.runs.funnel import INSIDE, STATES
from evoenv.runs.view import RunView
from evoenv.store.store import Store


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Four steps with every fate, and a fifth that is not finished."""
    directory = tmp_path_factory.mktemp("mixed") / "run"
    large_run(directory, 4, 40)
    with Store.open(directory) as store:
        pool = store.pool()
        (first, *_) = (name for name, member in pool.members.items() if not member.original)
        store._database.execute("UPDATE environments SET active = 0, retired_step = 4 WHERE id = ?", [first])
        add_candidate(store, 5, 0, source="class A: pass", response="r")
        judging = add_candidate(store, 5, 1, source="class B: pass", response="r")
        entering = add_candidate(store, 5, 2, source="class C: pass", response="r")
        symmetric = add_candidate(store, 5, 3, source="class D: pass", response="r")
        for name in (judging, entering, symmetric):
            store.add_report(5, name, ValidationReport(5, (), "C"))
        store.add_asymmetries(5, {symmetric: -0.5})
        store.add_decisions(
            5,
            [
                Decision(entering, 5, 0.5, 0.5, True, "admitted"),
                Decision(symmetric, 5, 0.5, 0.5, False, "asymmetry"),
            ],
        )
        yield store


def all_entries(store: Store) -> list[Entry]:
    return [entry for step in range(1, 6) for entry in RunView(store).entries(step)]


def walked(store: Store, query: CandidateQuery, limit: int, *, newest_first: bool = False) -> list[str]:
    """Collect the ids of all pages of a query."""
    found: list[str] = []
    after = None
    while True:
        page = read_page(store, query, after=after, limit=limit, newest_first=newest_first)
        assert page.total == count_candidates(store, query)
        assert len(page.entries) <= limit
        found += [entry.id for entry in page.entries]
        if page.next is None:
            return found
        after = page.next


@pytest.mark.parametrize("state", [state for state in STATES if state != "malformed"])
def test_a_query_by_fate_finds_those_in_that_state(mixed: Store, state: str):
    wanted = [entry.id for entry in all_entries(mixed) if entry.state == state]
    assert wanted, "the run has every state"
    assert walked(mixed, CandidateQuery(fate=state), 7) == wanted


def test_the_admitted_are_found_whatever_became_of_them(mixed: Store):
    wanted = [entry.id for entry in all_entries(mixed) if entry.state in INSIDE]
    assert walked(mixed, CandidateQuery(fate="admitted"), 3) == wanted


@pytest.mark.parametrize("layer", range(6))
def test_a_query_by_layer_finds_those_that_came_so_far(mixed: Store, layer: int):
    wanted = [entry.id for entry in all_entries(mixed) if entry.layer == layer]
    assert walked(mixed, CandidateQuery(layer=layer), 10) == wanted


def test_a_query_by_finding_finds_those_that_have_it(mixed: Store):
    codes = {code for entry in all_entries(mixed) for code in entry.codes}
    assert len(codes) > 5
    for code in codes:
        wanted = [entry.id for entry in all_entries(mixed) if code in entry.codes]
        assert walked(mixed, CandidateQuery(code=code), 2) == wanted
    assert walked(mixed, CandidateQuery(code="L9.none"), 2) == []


def test_queries_may_be_combined(mixed: Store):
    entries = all_entries(mixed)
    code = next(code for entry in entries for code in entry.codes if entry.state == "l1")
    wanted = [entry.id for entry in entries if entry.step == 2 and entry.state == "l1" and code in entry.codes]
    assert walked(mixed, CandidateQuery(step=2, fate="l1", code=code), 2) == wanted
    wanted = [entry.id for entry in entries if entry.step == 3 and entry.layer == 5 and entry.state == "gate"]
    assert walked(mixed, CandidateQuery(step=3, fate="gate", layer=5), 2) == wanted
    assert walked(mixed, CandidateQuery(fate="l1", layer=5), 2) == []


def test_pages_cover_everything_once_in_both_directions(mixed: Store):
    wanted = [entry.id for entry in all_entries(mixed)]
    assert len(wanted) == 164
    for limit in (1, 50, 164, 1000):
        assert walked(mixed, CandidateQuery(), limit) == wanted
    assert walked(mixed, CandidateQuery(), 50, newest_first=True) == wanted[::-1]
    assert walked(mixed, CandidateQuery(fate="gate"), 2, newest_first=True) == [
        entry.id for entry in reversed(all_entries(mixed)) if entry.state == "gate"
    ]


def test_a_row_of_a_page_is_the_row_of_the_step(mixed: Store):
    page = read_page(mixed, CandidateQuery(), limit=200)
    assert list(page.entries) == all_entries(mixed)


def test_an_unknown_fate_is_refused_in_words():
    with pytest.raises(InputError, match=r"the fate is 'lost'; expected admitted or one of pool, retired"):
        CandidateQuery(fate="lost")


# --------------------------------------------------------------------------- size

STEPS, GROUPS, SIZE = 200, 10, 10


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Twenty thousand candidates, as small as they can be; one in a thousand has a rare finding or fate."""
    with Store.create(tmp_path_factory.mktemp("large") / "run", to_mapping(load_config({})), {}) as store:
        candidates, reports, codes, decisions = [], [], [], []
        for number in range(STEPS * GROUPS * SIZE):
            step, rest = divmod(number, GROUPS * SIZE)
            group, index = divmod(rest, SIZE)
            name = f"s{step + 1:05d}.g{group:03d}.c{index:02d}"
            rare = number % 1000 == 999
            layer, reason = (5, "gate") if rare else (number % 5, "layer")
            code = "L5.rare" if number % 1000 == 500 else f"L{layer + 1}.common"
            candidates.append((name, step + 1, group, index, f"r{step}.{group}", None, "[]"))
            reports.append((name, step + 1, layer, "C", None, None, 0.0, 0.0, "[]", "", "[]"))
            codes.append((name, code, step + 1, 0))
            decisions.append((name, step + 1, layer, 0.0, 0.0, 0, reason, None))
        rows = {"candidates": candidates, "reports": reports, "finding_codes": codes, "decisions": decisions}
        with store.transaction():
            for table, values in rows.items():
                marks = ",".join("?" * len(values[0]))
                store._database.execute_many(f"INSERT INTO {table} VALUES ({marks})", values)
        yield store


class Meter:
    """Counts what SQLite hands over, and how many of its instructions that takes."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows = self.instructions = 0
        database = store._database
        ask = database.query

        def query(sql: str, values=()):
            found = ask(sql, values)
            self.rows += len(found)
            return found

        def tick() -> int:
            self.instructions += 10
            return 0

        monkeypatch.setattr(database, "query", query)
        self._connection = database._connection
        self._connection.set_progress_handler(tick, 10)

    def close(self) -> None:
        self._connection.set_progress_handler(None, 0)


@pytest.fixture
def meter(large: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Meter]:
    counted = Meter(large, monkeypatch)
    yield counted
    counted.close()


@pytest.mark.parametrize(
    ("query", "total"),
    [
        (CandidateQuery(), 20_000),
        (CandidateQuery(step=150), 100),
        (CandidateQuery(fate="l2"), 4_000),
        (CandidateQuery(fate="gate"), 20),
        (CandidateQuery(layer=3), 4_000),
        (CandidateQuery(code="L5.rare"), 20),
        (CandidateQuery(code="L1.common", fate="l1"), 3_980),
    ],
)
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_page_of_twenty_thousand_candidates_reads_its_own_rows(
    large: Store, meter: Meter, query: CandidateQuery, total: int, newest_first: bool
):
    middle = (101, 0, 0)
    page = read_page(large, query, after=middle, limit=20, newest_first=newest_first)
    assert page.total == total
    assert len(page.entries) == (0 if query.step and newest_first else min(20, total // 2))
    assert meter.rows <= 1 + 21 + 20 + 1  # the count, the keys of the page and one more, its rows, the settings
    meter.instructions = 0
    count_candidates(large, query)
    counting, meter.instructions = meter.instructions, 0
    read_page(large, query, after=middle, limit=20, newest_first=newest_first)
    # a step of a hundred is sorted, twenty rows are put together; all of them would take more than a million
    assert meter.instructions - counting < 15_000


def test_all_about_one_of_twenty_thousand_reads_nothing_of_the_others(large: Store, meter: Meter):
    history = RunView(large).candidate("s00150.g005.c05")
    assert history is not None
    assert history.entry.position == (150, 5, 5)
    assert meter.rows <= 10
    assert meter.instructions < 2_000


def test_a_funnel_of_one_step_reads_that_step(large: Store, meter: Meter):
    assert RunView(large).funnel(150) == (100, 80, 60, 40, 20, 1, 1, 1, 0)
    assert meter.rows <= 6 + 1
    assert meter.instructions < 20_000
