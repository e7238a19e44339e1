"""The headroom ladder: is there room, where are runs compared, what share of the room does each reach?"""

from __future__ import annotations

import csv
import errno
import json
import math
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from evoenv.cli import main
from evoenv.comparison import single
from evoenv.comparison.ladder import (
    check_ladder,
    first_runs,
    judge_upper_bound,
    ladder_suites,
    tokens_of_upper_bound,
    verdict_of,
)
from evoenv.comparison.ladder_results import read_ladder, write_ladder
from evoenv.comparison.ladder_table import (
    BASES,
    compared_at,
    luck_of,
    not_compared,
    ratio,
    rungs_of,
    to_csv,
    to_markdown,
)
from evoenv.comparison.plan import (
    ComparisonPlan,
    all_families,
    config_of,
    continued,
    evaluation_file,
    is_done,
    make_plan,
    parse_names,
    read_plan,
    run_directory,
    with_equal_tokens,
    write_plan,
)
from evoenv.config import load_config, to_mapping
from evoenv.errors import InputError
from evoenv.run import check_trainable
from evoenv.store.store import Store
from tests.curricula.ladder_plans import COLUMNS, everywhere, measured, reading, some_plan
from tests.curricula.scripted_runs import Scripts, install, scripted_plan

SCRIPT = Path(__file__).parents[2] / "docs" / "experiments" / "ladder.py"


# --------------------------------------------------------------------------- is there room?


def test_the_upper_bound_has_all_families_of_the_part_that_the_originals_are_from() -> None:
    assert all_families("corpus:basic:10") == "corpus:basic"
    assert all_families("seeds") == all_families("corpus") == "corpus:train"
    plan = some_plan("untrained", "fixed-all", "fixed")
    of_runs = {run.curriculum: run.config["curriculum"]["environments"] for run in plan.runs}
    assert of_runs["fixed-all"] == "corpus:basic"
    assert of_runs["fixed"] == "corpus:basic:10"
    assert [run.name for run in first_runs(plan)] == [
        "untrained-seed0", "untrained-seed1", "fixed-all-seed0", "fixed-all-seed1",
    ]  # fmt: skip
    another = make_plan(
        ("fixed-all",), (0,), evaluation=ladder_suites(("near",), (0.6,), {}, 0), preset="tiny-test", steps=10,
        ladder=True, overrides=["fixed-all:curriculum.environments=corpus:train:1000"],
    )  # fmt: skip
    assert another.own_settings == {"fixed-all": ("curriculum.environments=corpus:train:1000",)}


def test_a_label_makes_another_curriculum_with_settings_of_its_own() -> None:
    assert parse_names("evoenv, evoenv@20-epochs") == ("evoenv", "evoenv@20-epochs")
    suites = ladder_suites(("near",), (0.6,), {}, 0)
    plan = make_plan(
        ("evoenv", "evoenv@20-epochs", "fixed-all@far"), (0, 1), evaluation=suites, preset="tiny-test", steps=10,
        ladder=True, overrides=["evoenv@20-epochs:pool.max_epochs=20", "fixed-all@far:training.kl=0"],
    )  # fmt: skip
    check_ladder(plan)
    runs = {run.name: config_of(run) for run in plan.runs}
    assert [runs[f"{name}-seed1"].pool.max_epochs for name in ("evoenv", "evoenv@20-epochs")] == [5, 20]
    assert {runs[f"{name}-seed1"].curriculum.name for name in ("evoenv", "evoenv@20-epochs")} == {"evoenv"}
    assert runs["fixed-all@far-seed0"].curriculum.environments == "corpus:train"
    assert first_runs(plan) == (), "the gate is the upper bound's alone"


def test_runs_that_could_not_be_compared_at_two_places_are_refused() -> None:
    plan = some_plan("fixed-all", "fixed")
    check_ladder(plan)
    runs = list(plan.runs)
    falling = to_mapping(load_config(runs[0].config, overrides=["training.schedule=linear"]))
    with pytest.raises(InputError, match="leave it constant"):
        check_ladder(msgspec.structs.replace(plan, runs=(msgspec.structs.replace(runs[0], config=falling),)))
    larger = to_mapping(load_config(runs[0].config, overrides=["solver.prompts=50"]))
    with pytest.raises(InputError, match="solver responses a step"):
        check_ladder(msgspec.structs.replace(plan, runs=(msgspec.structs.replace(runs[0], config=larger), *runs[1:])))
    with pytest.raises(InputError, match="dapo has no fixed number of solver responses"):
        check_ladder(msgspec.structs.replace(plan, runs=(msgspec.structs.replace(runs[0], curriculum="dapo"),)))
    with pytest.raises(InputError, match="expected 8 or more"):
        ladder_suites(("near",), (0.6,), {"samples": 4}, 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ladder", "--tokens", "5"], "--equal-tokens M for the second table"),
        (["--ladder", "--steps", "2", "--protocol", "paper"], "name them by --suite"),
        (["--ladder", "--steps", "2", "--temperature", "1"], "--temperatures T,T"),
        (["--ladder", "--steps", "2", "--temperatures", "0,1"], "different numbers above 0"),
        (["--ladder", "--steps", "2", "--samples", "4"], "pass@8"),
        (["--ladder", "--steps", "2", "--curricula", "dapo"], "no fixed number of solver responses"),
        (["--ladder", "--steps", "2", "--set", "training.schedule=linear"], "leave it constant"),
        (["--ladder", "--steps", "2", "--set", "run.tokens_at_least=5"], "use --ladder --equal-tokens"),
        (["--ladder", "--responses", "0"], "--responses is 0"),
        (["--ladder", "--responses", "9", "--set", "solver.prompts=0"], "a step has no solver responses"),
        (["--curricula", "dapo", "--responses", "5", "--suite", "seeds"], "no fixed number of solver responses"),
        (["--curricula", "fixed", "--steps", "2", "--anyway"], "--anyway belongs to a headroom ladder"),
        (
            ["--curricula", "fixed,rlve", "--responses", "9", "--suite", "seeds", "--set", "rlve:solver.prompts=1"],
            "solver responses a step, and are to be compared at equal responses",
        ),
        (["--steps", "2", "--suite", "seeds"], "compare needs --curricula A,B, or --ladder"),
    ],
)
def test_what_is_no_ladder_is_refused_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["compare", *arguments, "--preset", "tiny-test", "-o", str(tmp_path / "out")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# --------------------------------------------------------------------------- the tables


def test_a_run_is_compared_at_the_common_steps_and_at_the_step_that_brought_it_to_the_common_tokens() -> None:
    plan = some_plan("untrained", "evoenv", equal_tokens=1000)
    readings = [reading("evoenv", 0, step, tokens, 0.5) for step, tokens in ((2, 600), (5, 1100), (10, 3000))]
    assert compared_at(plan, "responses", readings) is readings[2]
    assert compared_at(plan, "tokens", readings) is readings[1]
    assert compared_at(plan, "tokens", readings[:1]) is None
    assert compared_at(some_plan("evoenv"), "tokens", readings) is None, "nothing is common yet"
    elsewhere = some_plan("untrained", "evoenv", equal_tokens=2000)
    assert compared_at(elsewhere, "tokens", readings) is None, "3,000 tokens are not 2,000"
    assert not_compared(elsewhere, {("evoenv", 0): readings}) == ["evoenv-seed0"]
    assert not_compared(plan, {("evoenv", 0): readings}) == []
    untrained = [reading("untrained", 0, 0, 0, 0.5)]
    assert compared_at(plan, "tokens", untrained) is untrained[0]
    assert compared_at(some_plan("untrained"), "tokens", untrained) is None


def test_a_run_whose_weights_are_gone_is_done_if_it_was_evaluated_at_the_common_tokens(tmp_path: Path) -> None:
    plan = some_plan("fixed-all", steps=10)
    run = plan.runs[0]
    place = run_directory(tmp_path, run)
    (place / "evaluations").mkdir(parents=True)
    (place / "done.json").write_text('{"budget": [10, 0], "steps": 10, "tokens": 1000}')
    (place / "series.csv").write_text("step,tokens\n" + "".join(f"{step},{100 * step}\n" for step in range(11)))
    suites = len(plan.evaluation.suites)
    for index in range(suites):
        (place / evaluation_file(10, index)).write_text("{}")
    assert is_done(tmp_path, plan, run)
    assert is_done(tmp_path, with_equal_tokens(plan, 901), run)  # step 10 brought it there
    assert not is_done(tmp_path, with_equal_tokens(plan, 900), run)  # step 9 did, and nobody looked
    assert not is_done(tmp_path, with_equal_tokens(plan, 1001), run)  # it has to go on
    (place / evaluation_file(10, suites - 1)).unlink()
    assert not is_done(tmp_path, with_equal_tokens(plan, 901), run)
    for damaged in ("something else", "step,tokens\n" + "\0" * 200_000):
        (place / "series.csv").write_text(damaged)
        assert not is_done(tmp_path, with_equal_tokens(plan, 901), run)


def test_the_share_of_the_upper_bound_has_the_error_of_both() -> None:
    share, error = ratio([0.02, 0.04], [0.1, 0.1])
    assert (share, error) == (pytest.approx(0.3), pytest.approx(0.01 / 0.1))
    # gains 0.03 ± 0.01 and 0.1 ± 0.02: sqrt(0.01² + 0.3²·0.02²) / 0.1
    share, error = ratio([0.02, 0.04], [0.08, 0.12])
    assert error == pytest.approx(math.sqrt(0.01**2 + 0.3**2 * 0.02**2) / 0.1)
    assert ratio([0.02], [0.08, 0.12]) == (pytest.approx(0.2), None)
    # both subtract one measurement with the error 0.005: it moves the share by (1 - 0.3) / 0.1 of itself
    share, error = ratio([0.02, 0.04], [0.1, 0.1], 0.005**2)
    assert error == pytest.approx(math.hypot(0.01, 0.7 * 0.005) / 0.1)


def test_the_luck_of_the_untrained_model_is_that_of_its_samples() -> None:
    # two problems, 8 samples each: variances 0.2·0.8/7 and 0.5·0.5/7 of the shares, of their mean a quarter of the sum
    assert measured(0.2, 0.5).luck == pytest.approx((0.16 / 7 + 0.25 / 7) / 4)
    plan = some_plan("untrained")
    # a suite's two temperatures may be lucky together, two suites not: half of one column's variance
    assert luck_of(plan, everywhere(0.2, 0.5)) == pytest.approx((0.16 / 7 + 0.25 / 7) / 4 / 2)
    assert luck_of(plan, everywhere(0.0, 1.0)) == 0


def test_both_tables_hold_gains_shares_and_the_gain_per_thousand_responses() -> None:
    plan = some_plan("untrained", "fixed-all", "evoenv", equal_tokens=1000)
    start = everywhere(0.2, 0.4)  # 30%
    points = {
        ("untrained", 0): [reading("untrained", 0, 0, 0, 0.2, 0.4)],
        ("fixed-all", 0): [reading("fixed-all", 0, 10, 1000, 0.4, 0.6)],
        ("evoenv", 0): [reading("evoenv", 0, 4, 1200, 0.2, 0.5), reading("evoenv", 0, 10, 3000, 0.3, 0.5)],
    }
    rungs = {(rung.basis, rung.curriculum): rung for basis in BASES for rung in rungs_of(plan, basis, start, points)}
    by_responses, by_tokens = rungs["responses", "evoenv"], rungs["tokens", "evoenv"]
    assert by_responses.gain["Avg"].mean == pytest.approx(0.1)
    assert by_tokens.gain["Avg"].mean == pytest.approx(0.05)
    assert by_responses.reached == (pytest.approx(0.5), None)
    assert by_tokens.reached == (pytest.approx(0.25), None)
    assert rungs["tokens", "fixed-all"].reached == (1.0, None)
    assert by_responses.pass_gain["far T=1"].mean == pytest.approx(0.25)
    assert (by_responses.responses.mean, by_tokens.responses.mean) == (160, 64)
    assert by_responses.per_thousand is not None
    assert by_responses.per_thousand.mean == pytest.approx(1000 * 0.1 / 160)
    assert rungs["responses", "untrained"].per_thousand is None
    verdict = verdict_of(plan, start, [points["fixed-all", 0][0].columns])
    page = to_markdown(plan, verdict, start, list(rungs.values()))
    # sqrt((0.16 + 0.24) / 7 / 4 / 2) points
    assert "standard error 8.45 points (Avg) at most" in page
    assert "## At equal tokens (1,000)" in page
    assert "| evoenv | 1 | 10 | 160 | 3,000 | +10.0 | +25.0 | 50% | +62.50 |" in page
    assert "| evoenv | 1 | 4 | 64 | 1,200 | +5.0 | +25.0 | 25% | +78.12 |" in page
    rows = list(csv.DictReader(to_csv(rungs.values()).splitlines()))
    assert len(rows) == 2 * 3 * (len(COLUMNS) + 1)
    noisy = {**points, ("fixed-all", 0): [reading("fixed-all", 0, 10, 1000, 0.1, 0.7)]}
    assert {rung.reached for rung in rungs_of(plan, "responses", start, noisy)} == {None}, "of noise there is no share"


# --------------------------------------------------------------------------- its life


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripts:
    return install(monkeypatch)


def scripted_ladder(place: Path, steps: int, *names: str) -> ComparisonPlan:
    plan = scripted_plan(place, steps, *names)
    suites = ladder_suites(
        [str(place / "held")], (0.6, 1.0), {"difficulties": (0, 1), "instances": 2, "samples": 9, "max_tokens": 64}, 0
    )
    return msgspec.structs.replace(plan, evaluation=suites, ladder=True)


def run_script(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> object:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return ended.value.code


@pytest.mark.slow
def test_every_number_of_the_published_page_follows_from_the_files_of_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = SCRIPT.parent / "nano"
    template = tmp_path / "README.in.md"
    template.write_text((published / "README.in.md").read_text(encoding="utf-8"), encoding="utf-8")
    terms = published / "equal_terms.json"
    output = tmp_path / "analysis"
    front, summary = SCRIPT.parents[2] / "README.md", "docs/experiments/nano/summary.in.md"
    (tmp_path / "front" / summary).parent.mkdir(parents=True)
    shutil.copy(front, tmp_path / "front")
    shutil.copy(front.parent / summary, tmp_path / "front" / summary)
    pages = ["--page", template, "--section", tmp_path / "front" / "README.md"]
    assert run_script(monkeypatch, published / "ladder", "-o", output, "--equal-terms", terms, *pages) == 0
    for made, kept in ((tmp_path, published), (tmp_path / "front", front.parent)):
        assert (made / "README.md").read_text() == (kept / "README.md").read_text(), "the command is in docs/ladder.md"
    texts = sorted(path.name for path in (published / "analysis").iterdir() if path.suffix in (".csv", ".md"))
    assert {"tables.md", "curves.csv", "reached.csv", "consistency.csv", "generator.csv"} <= set(texts)
    for name in texts:
        assert (output / name).read_bytes() == (published / "analysis" / name).read_bytes(), name
    plan = read_plan(published / "ladder")
    assert plan is not None
    written = (published / "ladder" / "ladder.md").read_text(encoding="utf-8")
    assert read_ladder(published / "ladder", plan).to_markdown(plan) == written


def analyse(ladder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the script that makes the figures, the numbers and the text of a page."""
    terms = [
        {"policy": "before training", "candidates": 8, "reach_l5": 0.5, "reward": {"mean": 0.6, "standard_error": 0.1}},
        {"policy": "evoenv-seed0", "candidates": 8, "reach_l5": 0.75, "reward": {"mean": 0.8, "standard_error": 0.1},
         "gain": {"mean": 0.2, "standard_error": 0.1}},
    ]  # fmt: skip
    (ladder / "terms.json").write_text(json.dumps(terms))
    page = ladder / "page.in.md"
    page.write_text(
        "{{generator.evoenv-seed0.l5}}% at L5, a gain of {{generator.evoenv-seed0.gain}}\n\n{{table.tokens}}\n"
        "{{table.generator}}\n{{table.training}}\n"
    )
    assert run_script(monkeypatch, ladder, "--equal-terms", ladder / "terms.json", "--page", page) == 0
    written = (ladder / "README.md").read_text()
    assert "75% at L5, a gain of 0.20\n\n| curriculum | seeds |" in written
    assert "| evoenv-seed0 | 8 | 75% | 0.80 ± 0.10 | +0.20 ± 0.10 |" in written
    assert "| fixed | 33% → 33% | 33% → 33% | 2 → 2 | 1 → 1 | – |" in written
    assert "{{" not in written
    section = ladder / "section.md"
    begin = "<!-- made from page.in.md by docs/experiments/ladder.py: change that file -->"
    section.write_text(f"Before\n{begin}\nold\n<!-- end -->\nafter")
    assert run_script(monkeypatch, ladder, "--equal-terms", ladder / "terms.json", "--section", section) == 0
    assert (
        section.read_text()
        == f"Before\n{begin}\n{written.partition('not this one -->' + chr(10))[2]}<!-- end -->\nafter"
    )
    section.write_text("No such comment")
    assert run_script(monkeypatch, ladder, "--section", section) == 2
    page.write_text("{{nobody.gain}}")
    assert run_script(monkeypatch, ladder, "--page", page) == 2, "a name that stands for nothing is refused"
    assert (ladder / "README.md").read_text() == written
    assert {path.name for path in (ladder / "analysis").iterdir()} == {
        "tables.md", "curves.csv", "reached.csv", "consistency.csv", "generator.csv", "training_and_held_out.png",
        "zero_variance.png", "pool.png", "consistency.png", "gain.png", "reached.png", "generator_on_equal_terms.png",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_cheap_run_goes_on_to_the_common_tokens_and_an_expensive_one_is_measured_on_its_way(
    tmp_path: Path, scripted: Scripts, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "out"
    plan = scripted_ladder(tmp_path, 4, "untrained", "fixed-all", "fixed", "evoenv")
    plan = continued(place, plan)
    write_plan(place, plan)
    write_json = single.write_json

    def full_disk(path: Path, document: object) -> None:
        if path.parent.name == "evaluations":
            raise OSError(errno.ENOSPC, "No space left on device")
        write_json(path, document)

    with monkeypatch.context() as broken:
        broken.setattr(single, "write_json", full_disk)
        with pytest.raises(OSError, match="No space left"):
            single.run_one(place, plan, first_runs(plan)[0])
    # what could not be written is evaluated again
    for run in first_runs(plan):
        single.run_one(place, plan, run)
    verdict = judge_upper_bound(place, plan)
    assert verdict is not None
    # wrong before the second update, then right in every third sample
    assert verdict.average.gain == pytest.approx(1 / 3)
    spent = tokens_of_upper_bound(place, plan)
    tokens = round(1.4 * spent)  # more than four steps of `fixed` cost, less than four of `evoenv`
    plan = with_equal_tokens(plan, tokens)
    write_plan(place, plan)
    assert [run.curriculum for run in plan.runs if is_done(place, plan, run)] == ["untrained"]  # it spends none
    for run in plan.runs:
        single.run_one(place, plan, run)
        assert is_done(place, plan, run)
    steps = {}
    for run in plan.runs:
        with Store.read(run_directory(place, run)) as store:
            steps[run.curriculum] = store.last_step()
    assert steps["untrained"] == 0
    assert steps["fixed"] == steps["fixed-all"] > 4
    assert steps["evoenv"] == 4
    document = write_ladder(place, plan)
    assert document["missing"] == []
    rungs = {(rung["basis"], rung["curriculum"]): rung for rung in document["rungs"]}
    assert {rungs["responses", name]["steps"]["mean"] for name in ("fixed-all", "fixed", "evoenv")} == {4}
    assert rungs["tokens", "evoenv"]["steps"]["mean"] < 4
    assert rungs["tokens", "evoenv"]["tokens"]["mean"] >= tokens
    assert rungs["responses", "fixed"]["responses"]["mean"] == 4 * 3 * 2
    assert rungs["responses", "fixed"]["share_of_upper_bound"]["share"] == pytest.approx(1.0)
    levels = {row["level"] for row in csv.DictReader((place / "evaluations.csv").open())}
    assert levels == {"all", "0", "1"}
    analyse(place, monkeypatch)
    said = capsys.readouterr().out.splitlines()
    assert {"fixed.tokens.gain: +33.3", "fixed.tokens.share: 100%"} <= set(said)
    # begun again with a larger number of steps, the common tokens are found anew; with the same, they stay
    again = continued(place, scripted_ladder(tmp_path, 4, "untrained", "fixed"))
    assert again.equal_tokens == tokens
    for run in again.runs:
        check_trainable(load_config(run.config))  # also the untrained one, which never gets there
    beyond = steps["fixed"] + 1
    assert continued(place, scripted_ladder(tmp_path, beyond, "fixed")).equal_tokens == 0
    with pytest.raises(InputError, match=f"went on to step {steps['fixed']} for its tokens"):
        continued(place, scripted_ladder(tmp_path, 5, "fixed"))
    # also if they were stopped on their way, so that nobody wrote how far they are
    for run in plan.runs:
        (run_directory(place, run) / "done.json").unlink()
    with pytest.raises(InputError, match=f"went on to step {steps['fixed']} for its tokens"):
        continued(place, scripted_ladder(tmp_path, 5, "fixed"))
    with pytest.raises(InputError, match="leave --equal-tokens out"):
        continued(place, with_equal_tokens(scripted_ladder(tmp_path, 4, "fixed"), tokens + 1))


@pytest.mark.long
@pytest.mark.sandbox
@pytest.mark.timeout(3600)
def test_a_ladder_stops_at_an_upper_bound_that_does_not_move_unless_told_to_go_on(tmp_path: Path) -> None:
    output = tmp_path / "out"
    command = [
        sys.executable, "-m", "evoenv", "compare", "--ladder", "--preset", "tiny-test", "--responses", "8",
        "--seeds", "0", "--suite", "corpus:near", "--programs", "2", "--difficulties", "0,1", "--instances", "1",
        "--jobs", "2", "--set", "curriculum.environments=corpus:basic:3", "-o", str(output),
    ]  # fmt: skip
    first = subprocess.run(command, capture_output=True, text=True)
    assert first.returncode == 3, first.stderr
    assert "The other rungs are not run" in first.stderr
    assert sorted(path.name for path in (output / "runs").iterdir()) == ["fixed-all-seed0", "untrained-seed0"]
    assert json.loads((output / "ladder.json").read_text())["upper_bound"]["moved"] is False
    again = subprocess.run([*command, "--anyway", "--json"], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    document = json.loads(again.stdout)
    assert document["missing"] == []
    assert document["equal_tokens"] > 0
    assert len(document["rungs"]) == 2 * 7
    page = (output / "ladder.md").read_text()
    assert "At equal solver responses" in page
    assert "At equal tokens" in page
