"""What the server answers with: every view's document, filters, pages, changes; and runs that are no runs any more."""

from __future__ import annotations

import http.client
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from report_support import ATTACKS, add_candidate, begin, large_run

from evoenv.report.write import write_page
from evoenv.runs.candidates import CandidateQuery
from evoenv.runs.funnel import STATES
from evoenv.runs.view import RunView
from evoenv.watch.documents import TEXT_AT_MOST

BEFORE = Path(__file__).parents[1] / "curricula" / "before"
"""Runs as an older version left them."""


def test_the_overview_counts_what_the_run_view_counts(small: Any, small_run: Path) -> None:
    document = small.document("overview")
    with RunView.open(small_run) as view:
        assert document["candidates"] == 60
        assert tuple(document["funnel"]["total"]) == view.total_funnel()
        assert [step["fates"] for step in document["steps"]] == [dict(step.fates) for step in view.steps()]
        assert document["environments"]["total"] == len(view.environments())
    assert document["now"]["running"] is False
    assert document["now"]["last"] == 3
    assert [step["metrics"]["novelty/gamma"] for step in document["steps"]] == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("fate", ["admitted", *STATES])
def test_every_fate_can_be_filtered_by(small: Any, small_run: Path, fate: str) -> None:
    page = small.document(f"candidates?{urlencode({'fate': fate, 'limit': 100})}")
    with RunView.open(small_run) as view:
        expected = view.candidates(CandidateQuery(fate=fate), limit=100)
    assert page["total"] == expected.total == len(page["rows"])
    assert [row["id"] for row in page["rows"]] == [entry.id for entry in expected.entries]


def test_filters_by_step_layer_finding_tag_and_text_agree_with_the_rows(small: Any) -> None:
    rows = small.document("candidates?limit=100")["rows"]
    assert len(rows) == 60
    code = next(row["codes"][0] for row in rows if row["codes"])
    tag = next(row["tags"][0] for row in rows if row["tags"])
    expected = {
        "step=2": [row["id"] for row in rows if row["step"] == 2],
        "layer=5": [row["id"] for row in rows if row["layer"] == 5],
        f"code={code}": [row["id"] for row in rows if code in row["codes"]],
        f"tag={tag}": [row["id"] for row in rows if tag in row["tags"]],
        "text=COUNT33": [row["id"] for row in rows if row["name"] == "Count33"],
        "text=s00002.G001": [row["id"] for row in rows if row["step"] == 2 and row["group"] == 1],
        "text=number+41.": [row["id"] for row in rows if row["name"] == "Count41"],
        "text=100%25": [],
    }
    for query, ids in expected.items():
        page = small.document(f"candidates?{query}&limit=100")
        assert [row["id"] for row in page["rows"]] == ids, query
        assert page["total"] == len(ids)
    assert len(expected["text=COUNT33"]) == len(expected["text=number+41."]) == 1


@pytest.mark.parametrize("query", ["", "text=count", "fate=layer-of-nothing"])
def test_pages_together_are_the_whole(small: Any, query: str) -> None:
    if "nothing" in query:
        status, _, body = small.ask(f"/api/candidates?{query}")
        assert status == 400
        assert "expected admitted or one of" in json.loads(body)["error"]
        return
    whole = small.document(f"candidates?{query}&limit=100")["rows"]
    parts = [
        row
        for offset in range(0, 63, 7)
        for row in small.document(f"candidates?{query}&limit=7&offset={offset}")["rows"]
    ]
    assert parts == whole


@pytest.mark.parametrize(
    ("order", "value"),
    [
        ("reward", lambda row: row["reward"]),
        ("rate", lambda row: -1 if row["rate"] is None else row["rate"]),
        ("novelty", lambda row: -1 if row["novelty"] is None else row["novelty"]),
        ("layer", lambda row: row["layer"]),
    ],
)
def test_candidates_are_put_in_order_the_last_being_shown_first(
    small: Any, order: str, value: Callable[[Any], float]
) -> None:
    rows = small.document(f"candidates?sort={order}&limit=100")["rows"]
    values = [value(row) for row in rows]
    assert len(values) == 60
    assert values == sorted(values)
    parts = [small.document(f"candidates?sort={order}&limit=20&offset={at}")["rows"] for at in (0, 20, 40)]
    assert [row for part in parts for row in part] == rows


def test_candidates_by_age_and_name_come_backwards_and_an_unknown_order_is_said(small: Any) -> None:
    rows = small.document("candidates?limit=100")["rows"]
    assert small.document("candidates?sort=oldest&limit=100")["rows"] == rows[::-1]
    names = [row["name"] for row in small.document("candidates?sort=name&limit=100")["rows"]]
    assert names == sorted(names, reverse=True)
    status, _, body = small.ask("/api/candidates?sort=luck")
    assert status == 400
    assert "expected one of" in json.loads(body)["error"]


def test_a_candidate_has_its_texts_its_parts_and_its_neighbour(small: Any) -> None:
    row = next(row for row in small.document("candidates?fate=admitted")["rows"])
    document = small.document(f"candidate?id={row['id']}")
    assert document["source"]["text"] in document["response"]["text"]
    parts = document["reward_parts"]
    assert parts["diversity"] == pytest.approx(2.0 * document["novelty"])
    assert document["nearest_environment"]["source"] is not None
    assert document["prompt"][0]["content"]["text"] == "write"
    assert document["reviews"][0]["verdict"] == "accept"


def test_a_finding_that_names_a_line_says_which(tmp_path: Path, serve: Callable[..., Any]) -> None:
    from evoenv.records import ValidationReport
    from evoenv.validation.codes import finding

    with begin(tmp_path / "run") as store:
        name = add_candidate(store, 1, 0, source="a\nb c\n", response="```python\na\nb c\n```")
        findings = (finding("L1.syntax", "line 2: invalid syntax"), finding("L1.no-class", "nothing"))
        store.add_report(1, name, ValidationReport(0, findings))
    with serve(tmp_path / "run") as served:
        found = served.document(f"candidate?id={name}")["report"]["findings"]
    assert [item["line"] for item in found] == [2, None]


def test_environments_have_lineage_use_and_source(small: Any) -> None:
    rows = small.document("environments")["environments"]
    used = next(row for row in rows if "score" in row)
    document = small.document(f"environment?id={used['id']}")
    assert document["uses"]
    assert document["instances"] == 1
    assert sum(use["groups"] for use in document["uses"]) == used["groups"]
    child = next(row for row in rows if not row["original"])
    parents = small.document(f"environment?id={child['id']}")["parents"]
    assert parents
    back = small.document(f"environment?id={parents[0]['id']}")["children"]
    assert child["id"] in [item["id"] for item in back]


def test_groups_have_advantages_and_the_answer_marked(small: Any) -> None:
    page = small.document("groups?role=solver&limit=100")
    assert page["total"] == 12
    row = next(row for row in page["rows"] if row["silent"] is False)
    document = small.document(f"group?id={row['id']}")
    # rewards 1 and 0: mean 1/2, sample deviation √½, so ±0.5 / √½ = ±√½
    assert [reply["advantage"] for reply in document["replies"]] == pytest.approx([0.5**0.5, -(0.5**0.5)], abs=1e-5)
    assert document["seed"] == "1", "as text: a browser's numbers have 53 bits"
    reply = document["replies"][1]
    start, end = reply["part"]
    assert reply["text"]["text"][start:end] == "1"
    silent = next(row for row in page["rows"] if row["silent"])
    assert {reply["advantage"] for reply in small.document(f"group?id={silent['id']}")["replies"]} == {0.0}
    generator = small.document("groups?role=generator")["rows"][0]
    replies = small.document(f"group?id={generator['id']}")["replies"]
    assert [reply["candidate"] for reply in replies] == [f"{generator['id']}.c{index:02d}" for index in range(16)]


def test_the_map_places_what_was_embedded(tmp_path: Path, serve: Callable[..., Any]) -> None:
    import numpy as np

    with begin(tmp_path / "run") as store:
        ids = [record.id for record in store.environments()]
        vectors = np.eye(10, 16, dtype=np.float32)
        store.add_vectors({identity: (vectors[index], -vectors[index]) for index, identity in enumerate(ids)})
    with serve(tmp_path / "run") as served:
        points = served.document("map")["points"]
    assert {point["environment"] for point in points} == set(ids)
    assert all(abs(value) <= 1 for point in points for value in (*point["prompt"], *point["code"]))
    assert all(point["original"] and point["template"] for point in points)


def test_configuration_events_and_findings_are_told(small: Any) -> None:
    document = small.document("configuration")
    assert document["config"]["run"]["steps"] == 3
    assert all(row["meaning"] and row["hint"] for row in document["findings"])
    assert sum(row["count"] for row in document["findings"]) > 0
    events = small.document("events")["events"]
    assert [event["id"] for event in events] == sorted((event["id"] for event in events), reverse=True)
    older = small.document(f"events?before={events[0]['id']}")["events"]
    assert older == events[1:]


def test_long_texts_are_cut_and_sent_as_a_whole_on_request(tmp_path: Path, serve: Callable[..., Any]) -> None:
    response = "<script>alert(1)</script>" * 210_000
    assert len(response) > 5_000_000
    with begin(tmp_path / "run") as store:
        name = add_candidate(store, 1, 0, source=None, response=response)
    with serve(tmp_path / "run") as served:
        cut = served.document(f"candidate?id={name}")["response"]
        whole = served.document(f"candidate?id={name}&whole=1")["response"]
    assert (len(cut["text"]), cut["length"]) == (TEXT_AT_MOST, len(response))
    assert whole["text"] == response


def test_hostile_texts_arrive_as_they_are(hostile: Path, serve: Callable[..., Any]) -> None:
    with serve(hostile) as served:
        rows = served.document("candidates")["rows"]
        assert [row["name"] for row in rows] == list(ATTACKS)
        for row in rows:
            document = served.document(f"candidate?id={row['id']}")
            assert "\ud800" in document["response"]["text"]
        for row in served.document("environments")["environments"]:
            served.document(f"environment?id={row['id']}")
        for row in served.document("groups")["rows"]:
            served.document(f"group?id={row['id']}")


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("candidate?id=s99999.g000.c00", 404, "no candidate"),
        ("candidate", 400, "`id` is missing"),
        ("environment?id=ffff", 404, "no environment"),
        ("group?id=nothing", 404, "no group"),
        ("candidates?offset=-1", 400, "whole number"),
        ("candidates?step=one", 400, "whole number"),
        ("candidates?limit=99999999999999999999", 400, "whole number"),
        ("groups?role=reviewer", 400, "solver or generator"),
    ],
)
def test_what_does_not_exist_or_makes_no_sense_is_said(small: Any, path: str, status: int, words: str) -> None:
    got, _, body = small.ask(f"/api/{path}")
    assert got == status
    assert words in json.loads(body)["error"]


def test_a_run_that_is_deleted_truncated_and_replaced_is_said_and_recovers(
    tmp_path: Path, small_run: Path, serve: Callable[..., Any]
) -> None:
    shutil.copytree(small_run, tmp_path / "runs" / "a")
    database = tmp_path / "runs" / "a" / "run.sqlite"
    whole = database.read_bytes()
    with serve(tmp_path / "runs") as served:
        assert served.document("overview")["candidates"] == 60
        database.write_bytes(whole[: len(whole) // 2])
        status, _, body = served.ask("/api/candidates?limit=100")
        assert status == 503
        assert json.loads(body)["error"]
        database.write_bytes(b"no database at all" * 100)
        status, _, body = served.ask("/api/overview")
        assert status == 503
        database.write_bytes(whole)
        assert served.document("overview")["candidates"] == 60
        shutil.rmtree(database.parent)
        assert served.ask("/api/overview?run=a")[0] in (400, 503)
        large_run(tmp_path / "runs" / "a", 1, 5)
        served.dashboard.folder._found = (float("-inf"), {})  # not wait for the next look
        assert served.document("overview")["candidates"] == 5


def test_a_run_of_a_newer_version_is_said_and_left_as_it_is(
    tmp_path: Path, small_run: Path, serve: Callable[..., Any]
) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = (tmp_path / "run" / "run.sqlite").read_bytes()
    with serve(tmp_path / "run") as served:
        status, _, body = served.ask("/api/overview")
    assert status == 503
    assert "newer EvoEnv" in json.loads(body)["error"]
    assert (tmp_path / "run" / "run.sqlite").read_bytes() == before


def test_a_run_of_an_older_version_is_shown_from_a_copy_and_left_as_it_is(
    tmp_path: Path, serve: Callable[..., Any]
) -> None:
    (tmp_path / "run").mkdir()
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    connection.executescript((BEFORE / "fixed.sql").read_text(encoding="utf-8"))
    assert connection.execute("PRAGMA user_version").fetchone() == (4,)
    connection.close()
    before = (tmp_path / "run" / "run.sqlite").read_bytes()
    with serve(tmp_path / "run") as served:
        overview = served.document("overview")
        assert "older EvoEnv" in overview["notice"]
        assert overview["now"]["last"] == 1
        assert served.document("environments")["environments"]
        assert served.document("groups")["total"] > 0
    size, _, _ = write_page(tmp_path / "run", tmp_path / "page.html")
    assert size > 100_000
    assert (tmp_path / "run" / "run.sqlite").read_bytes() == before
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["run.sqlite"]


def test_a_run_that_has_not_begun_is_said(tmp_path: Path, serve: Callable[..., Any]) -> None:
    (tmp_path / "run").mkdir()
    sqlite3.connect(tmp_path / "run" / "run.sqlite").execute("PRAGMA journal_mode = WAL").connection.close()
    with serve(tmp_path / "run") as served:
        status, _, body = served.ask("/api/overview")
    assert status == 503
    assert "not begun yet" in json.loads(body)["error"]


def test_looking_changes_no_byte_of_a_run(tmp_path: Path, small_run: Path, serve: Callable[..., Any]) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    before = (tmp_path / "run" / "run.sqlite").read_bytes()
    with serve(tmp_path / "run") as served:
        for name in ("overview", "candidates?text=count", "environments", "groups", "map", "configuration", "events"):
            served.document(name)
    assert (tmp_path / "run" / "run.sqlite").read_bytes() == before


# --------------------------------------------------------------------------- changes


def test_changes_are_told_while_somebody_writes(tmp_path: Path, serve: Callable[..., Any]) -> None:
    with begin(tmp_path / "runs" / "a") as store, serve(tmp_path / "runs") as served:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        connection.request("GET", "/api/changes")
        answer = connection.getresponse()
        assert answer.headers["content-type"].startswith("text/event-stream")

        def next_change() -> Any:
            while not (line := answer.readline()).startswith(b"data:"):
                assert line
            return json.loads(line[5:])

        assert next_change()["changed"] == ["a"]
        assert served.document("overview")["now"]["running"] is True
        assert served.document("candidates")["total"] == 0
        add_candidate(store, 1, 0, source="x = 1", response="x")
        while served.document("candidates")["total"] == 0:
            next_change()
        with begin(tmp_path / "runs" / "b"):
            while "b" not in (change := next_change())["changed"]:
                assert change["changed"] == ["a"]
        assert {row["name"] for row in served.document("runs")["runs"]} == {"a", "b"}
        connection.close()
