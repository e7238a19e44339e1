"""`evoenv report` as a user runs it: on runs of every kind, finished or not, whole or damaged."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from report_support import add_candidate, begin, large_run

from evoenv.cli import main
from evoenv.config import load_config, to_mapping
from evoenv.records import Decision, ValidationReport
from evoenv.report.audit import DRAWN_BY_THE_OVERVIEW
from evoenv.report.figures import figures_of
from evoenv.report.reading import read_run
from evoenv.report.write import write_report
from evoenv.store.store import Store
from evoenv.validation.codes import finding

FIGURES = (
    "funnel funnel_by_step rejections scores reward zero_variance pass_rates pool tags lineage rotation lifetimes"
).split()


def page_of(directory: Path) -> str:
    assert main(["report", str(directory), "--no-png"]) == 0
    return (directory / "report" / "index.html").read_text(encoding="utf-8")


def data_of(page: str) -> dict[str, Any]:
    """The documents inside a page."""
    block = page.partition('<script id="data" type="application/json">')[2].partition("</script>")[0]
    data: dict[str, Any] = json.loads(block)
    return data


def notes_of(page: str) -> str:
    return " ".join(data_of(page)["documents"]["audit"]["notes"])


@pytest.mark.slow
def test_a_report_is_a_page_and_a_picture_and_a_table_of_every_figure(small_run: Path, tmp_path: Path, capsys):
    assert main(["report", str(small_run), "-o", str(tmp_path / "out"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert Path(shown["page"]) == tmp_path / "out" / "index.html"
    assert shown["bytes"] == Path(shown["page"]).stat().st_size
    assert shown["entries"] == shown["embedded"] == 70
    assert sorted(Path(name).stem for name in shown["png"]) == sorted(FIGURES)
    assert sorted(Path(name).stem for name in shown["csv"]) == sorted([*FIGURES, "overlap", "candidates"])
    assert all(Path(name).stat().st_size for name in [*shown["csv"], *shown["png"]])
    assert not list((tmp_path / "out").rglob("*.new"))
    assert not (small_run / "report").exists()


def test_the_words_name_the_page(small_run: Path, tmp_path: Path, capsys):
    own = Path(shutil.copytree(small_run, tmp_path / "run"))  # other tests look at what a report leaves behind
    page_of(own)
    assert f"report: {own / 'report' / 'index.html'}" in capsys.readouterr().out


def test_a_run_that_never_did_anything_says_so(tmp_path: Path, capsys):
    Store.create(tmp_path / "run", to_mapping(load_config({})), {}).close()
    assert "Nothing has happened in this run yet" in notes_of(page_of(tmp_path / "run"))
    assert "Nothing has happened" in capsys.readouterr().err


def test_a_run_without_admissions_says_so_and_shows_why(tmp_path: Path):
    directory = tmp_path / "run"
    with begin(directory, 1) as store:
        name = add_candidate(store, 1, 0, source=None, response="I cannot.")
        store.add_report(1, name, ValidationReport(0, (finding("L1.no-code", "nothing there"),)))
        store.add_decisions(1, [Decision(name, 0, -1.0, -1.0, False, "layer")])
        with store.stage(1, "rotated"):
            pass
    page = page_of(directory)
    assert "No candidate was admitted: the pool holds the original environments alone." in notes_of(page)
    assert "L1.no-code" in page
    assert "is not finished" not in notes_of(page)


def test_a_run_by_another_curriculum_says_that_it_proposes_nothing(tmp_path: Path):
    config = to_mapping(load_config({"curriculum": {"name": "fixed"}}))
    with Store.create(tmp_path / "run", config, {}) as store:
        store.add_metrics(1, {"solver/score": 0.5})
        with store.stage(1, "rotated"):
            pass
    notes = notes_of(page_of(tmp_path / "run"))
    assert "trains by the curriculum ‘fixed’, which proposes no environments" in notes
    assert "No candidate was admitted" not in notes
    assert "Nothing has happened" not in notes


def test_a_run_of_one_step_has_every_figure(tmp_path: Path):
    large_run(tmp_path / "run", 1, 40)
    with Store.read(tmp_path / "run") as store:
        figures = figures_of(read_run(store))
    assert [figure.key for figure in figures if figure.panels] == FIGURES
    page = write_report(tmp_path / "run", pictures=False).page.read_text(encoding="utf-8")
    shown = data_of(page)["documents"]["audit"]
    drawn = [figure["key"] for figure in shown["figures"] if figure["panels"]]
    assert drawn == [key for key in FIGURES if key not in DRAWN_BY_THE_OVERVIEW]


def test_a_run_that_is_being_written_is_shown_as_it_is_at_this_moment(tmp_path: Path, capsys):
    directory = tmp_path / "run"
    with begin(directory, 3) as store:
        add_candidate(store, 1, 0, source="class A: pass", response="r")
        page = page_of(directory)  # the writer has its lock all the while
        add_candidate(store, 1, 1, source="class B: pass", response="r")
    assert "The run is not finished: 0 of 3 steps are done" in notes_of(page)
    data = data_of(page)
    assert len(data["candidates"]) == 1
    assert len(data["environment"]) == 10
    assert "The run is not finished" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "code", "words"),
    [
        (lambda run: (run / "run.sqlite").unlink(), 1, "there is no run in"),
        (lambda run: (run / "run.sqlite").write_bytes(b"nonsense" * 4096), 1, "the database is damaged"),
        (lambda run: os.truncate(run / "run.sqlite", 8192), 1, "the database is damaged"),
    ],
)
def test_a_damaged_run_gives_one_clear_line(tmp_path: Path, capsys, damage, code, words):
    large_run(tmp_path / "run", 1, 20)
    damage(tmp_path / "run")
    for left in ("run.sqlite-wal", "run.sqlite-shm"):
        (tmp_path / "run" / left).unlink(missing_ok=True)
    assert main(["report", str(tmp_path / "run")]) == code
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{run}", "--texts", "-1"], "--texts is -1; expected megabytes"),
        (["{run}", "--texts", "nan"], "--texts is nan; expected megabytes"),
        (["{run}", "-o", "{run}/run.sqlite/x"], "choose another place with -o"),
        (["x" * 5000], "give the folder of a run"),
    ],
)
def test_misuse_is_one_line(small_run: Path, capsys, arguments, words):
    assert main(["report", *(argument.format(run=small_run) for argument in arguments)]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.err.count("\n") == 1


def test_without_matplotlib_the_page_is_whole_and_the_missing_png_is_said(
    small_run: Path, tmp_path: Path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["report", str(small_run), "-o", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "no PNG was drawn: matplotlib is not installed (pip install 'evoenv[report]')" in shown.err
    assert "PNG" not in shown.out
    shown = data_of((tmp_path / "index.html").read_text(encoding="utf-8"))["documents"]["audit"]
    assert sum(bool(figure["panels"]) for figure in shown["figures"]) == len(FIGURES) - len(DRAWN_BY_THE_OVERVIEW)
    assert not list(tmp_path.rglob("*.png"))


def test_the_same_run_gives_the_same_report(small_run: Path, tmp_path: Path):
    pages = []
    for name in ("a", "b"):
        write_report(small_run, tmp_path / name, pictures=False)
        data = data_of((tmp_path / name / "index.html").read_text(encoding="utf-8"))
        del data["written"]
        pages.append(data)
    assert pages[0] == pages[1]


def test_a_list_that_would_be_too_long_keeps_all_that_was_admitted_and_the_newest_of_the_rest(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("evoenv.report.page.ROWS_AT_MOST", 30)
    report = write_report(small_run, tmp_path, text_budget=0, pictures=False)
    data = data_of(report.page.read_text(encoding="utf-8"))
    assert len(data["candidates"]) == 30
    assert data["totals"]["candidate"] == 60
    with Store.read(small_run) as store:
        records = [record for record in store.environments() if not record.original]
    inside = [row["id"] for row in data["candidates"] if row["state"] == "pool"]
    assert sorted(inside) == sorted(record.candidate_id or "" for record in records)
    rest = [row["step"] for row in data["candidates"] if row["state"] != "pool"]
    assert set(rest) == {2, 3}, "the newest of sixty in three steps"
    assert rest == sorted(rest)


# --------------------------------------------------------------------------- slow


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_scripted_run_through_the_real_loop_shows_every_fate(scripted_run: Path, tmp_path: Path):
    report = write_report(scripted_run, tmp_path)
    assert len(report.png) == len(FIGURES)
    page = report.page.read_text(encoding="utf-8")
    data = data_of(page)
    entries = data["candidates"]
    assert {entry["state"] for entry in entries} == {
        "pool", "retired", "l1", "l2", "l3", "l4", "l5", "review", "too-hard", "too-easy", "gate", "batch-duplicate",
    }  # fmt: skip
    fresh = next(entry for entry in entries if entry["name"] == "Fresh" and entry["environment"])
    # worked out by hand in the loop's own tests: â = .25, γ = 2.75, N = 1
    assert fresh["rate"] == 0.25
    assert fresh["quality"] == pytest.approx(0.9692, abs=1e-4)
    assert fresh["diversity"] == pytest.approx(2.75, abs=1e-4)
    assert fresh["reward"] == pytest.approx(0.9692 + 2.75, abs=2e-4)
    detail = data["candidate"][fresh["id"]]
    assert data["texts"][detail["source"]["ref"]].startswith("import random")
    evidence = detail["evidence"]
    assert len(evidence["instances"]) == 2
    prompt = evidence["instances"][0]["prompt"]
    assert "counting from 2" in (data["texts"][prompt["ref"]] if "ref" in prompt else prompt["text"])
    assert ["the reference", 1.0] in [[kind, score] for kind, _, score in evidence["probes"]]
    assert [review["verdict"] for review in detail["reviews"]] == ["accept"] * 3
    calibrated = [reply["score"] for request in detail["calibration_requests"] for reply in request["replies"]]
    assert calibrated == [1.0, 0.0, 0.0, 0.0]
    assert any(row["subject"] == fresh["environment"] for row in data["groups"])
    assert report.overview.tiles[-1][1] == "50.0%"


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_run_of_the_tiny_model_has_a_report(tmp_path: Path, capsys):
    pytest.importorskip("torch", reason="torch is not installed: pip install 'evoenv[local]'")
    directory = tmp_path / "run"
    assert main(["train", "--preset", "tiny-test", "--run", str(directory), "--plain"]) == 0
    page = page_of(directory)
    assert "2 steps" in data_of(page)["documents"]["audit"]["lead"]
    assert "No candidate was admitted" in notes_of(page)
    assert capsys.readouterr().out.rstrip().endswith("beside it)")


@pytest.mark.long
def test_ten_thousand_candidates_give_a_file_that_a_browser_opens(tmp_path: Path):
    large_run(tmp_path / "run", 100, 100)
    report = write_report(tmp_path / "run", pictures=False)
    assert report.entries == 10_010
    assert report.size < 25_000_000
    small = write_report(tmp_path / "run", tmp_path / "small", text_budget=1_000_000, pictures=False)
    assert small.size < 10_000_000
    assert small.embedded < small.entries
