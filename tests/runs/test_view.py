"""A run seen from outside: empty, in the middle of a step, of another curriculum, of a version to come."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from report_support import add_candidate, begin, large_run, solve

from evoenv.config import load_config, to_mapping
from evoenv.corpus import Author, break_program
from evoenv.errors import StoreError
from evoenv.ids import CandidateId
from evoenv.records import (
    Calibration,
    Decision,
    Message,
    Novelty,
    Question,
    QuestionDecision,
    Request,
    Review,
    Sample,
    Score,
    ValidationReport,
)
from evoenv.runs.environments import Lineage, Oracle, PoolStep, Use
from evoenv.runs.funnel import NO_FUNNEL
from evoenv.runs.view import RunView
from evoenv.stages.budget import tokens_spent
from evoenv.store.schema import SCHEMA_VERSION
from evoenv.store.store import EnvironmentRecord, Purpose, RequestRecord, Store
from evoenv.validation.codes import finding


def ask(store: Store, step: int, request_id: str, purpose: Purpose, subject: str, *texts: str, count: int = 0) -> None:
    """Add a request for `count` samples (as many as there are texts by default), so far answered by `texts`."""
    request = Request(request_id, "solver", (Message("user", f"About {subject}"),), count=count or len(texts))
    store.add_requests(step, [RequestRecord(request, purpose, subject, 7, 2)])
    for index, text in enumerate(texts):
        store.add_sample(step, Sample(request_id, index, text))


def finish(store: Store, step: int, **metrics: float) -> None:
    store.add_metrics(step, {name.replace("__", "/"): value for name, value in metrics.items()})
    with store.stage(step, "rotated"):
        pass


# --------------------------------------------------------------------------- runs of every kind


def test_an_empty_run_says_nothing_and_does_not_fail(tmp_path: Path):
    Store.create(tmp_path / "run", to_mapping(load_config({"run": {"steps": 4}})), {"evoenv": "1"}).close()
    with RunView.open(tmp_path / "run") as view:
        progress = view.progress()
        assert (progress.last_step, progress.wanted_steps, progress.step, progress.stage) == (0, 4, 1, "generated")
        assert (progress.done, progress.total, progress.words) == (0, 0, "nothing yet")
        assert view.config["run"]["steps"] == 4
        assert (dict(view.versions), view.training) == ({"evoenv": "1"}, True)
        assert view.created is not None
        assert view.total_funnel() == NO_FUNNEL
        assert view.funnel(1) == (0, 0, 0, 0, 0, 0, None, None, None)
        assert view.steps() == view.step_numbers() == view.environments() == view.uses() == view.movements() == []
        assert view.evaluations() == view.metric_names() == view.series("solver/score") == []
        assert view.fates() == view.lineage() == view.finding_counts() == view.times(1) == {}
        assert view.pool() == [PoolStep(0, 0.0, 0.0, 0.0, 0.0, 0, 0)]
        assert view.solver_movement() is None
        page = view.candidates()
        assert (page.entries, page.total, page.next) == ((), 0, None)
        assert view.candidate("s00001.g000.c00") is view.entry("s00001.g000.c00") is view.answered("x") is None


def test_a_run_in_the_middle_of_a_step_says_how_far_it_is(tmp_path: Path):
    with begin(tmp_path / "run", 3) as store:
        view = RunView(store)  # over the store that is being written

        def at() -> tuple[str | None, int, int]:
            progress = view.progress()
            return progress.stage, progress.done, progress.total

        waiting = add_candidate(store, 1, 0, source="class A: pass", response="r")
        assert at() == ("generated", 1, 16)  # one sample of a request for sixteen
        passed = add_candidate(store, 1, 1, source="class B: pass", response="r")
        with store.stage(1, "generated"):
            pass
        store.add_report(1, passed, ValidationReport(5, (), "B"))
        assert at() == ("validated", 1, 2)
        assert view.funnel(1) == (2, 1, 1, 1, 1, 1, None, None, None)
        assert view.progress().words == "stage ‘generated’ of step 1"
        store.add_report(1, waiting, ValidationReport(0, (finding("L1.syntax", "seen"),)))
        with store.stage(1, "validated"):
            pass
        ask(store, 1, f"{passed}.review", "review", passed, "VERDICT: ACCEPT", count=3)
        ask(store, 1, f"{passed}.calibrate.00", "calibrate", passed, "<answer>1</answer>")
        assert at() == ("reviewed", 2, 4)
        with store.stage(1, "reviewed"):
            pass
        assert at() == ("calibrated", 0, 1)
        with store.stage(1, "calibrated"):
            store.add_scores(1, {(f"{passed}.calibrate.00", 0): Score(1.0)})
        assert at() == ("decided", 0, 0)
        assert [entry.state for entry in view.entries(1)] == ["l1", "judging"]
        with store.stage(1, "decided"):
            store.add_decisions(
                1, [Decision(waiting, 0, -1.0, -1.0, False, "layer"), Decision(passed, 5, 0.5, 0.5, True, "admitted")]
            )
        assert view.funnel(1) == (2, 1, 1, 1, 1, 1, 1, 1, 1)
        assert view.admitted(1)[0].state == "entering"
        ask(store, 1, "s00001.solve.0000", "solve", store.environments()[0].id, "a", count=4)
        assert at() == ("solved", 1, 4)
        (step,) = view.steps()
        assert (step.number, step.finished, dict(step.fates)) == (1, False, {"l1": 1, "admitted": 1})
        assert view.total_funnel() == NO_FUNNEL  # of finished steps
        for stage in ("solved", "updated", "rotated"):
            with store.stage(1, stage):
                pass
        assert at() == ("generated", 0, 0)
        assert (view.progress().last_step, view.progress().step) == (1, 2)
        assert view.total_funnel() == (2, 1, 1, 1, 1, 1, 1, 1, 1)


def test_a_finished_run_waits_for_nothing(tmp_path: Path):
    large_run(tmp_path / "run", 2, 20)
    with RunView.open(tmp_path / "run") as view:
        progress = view.progress()
        assert (progress.last_step, progress.step, progress.stage, progress.words) == (2, 2, None, "step 2")
        assert [step.number for step in view.steps(first=2)] == [2]


def test_a_run_on_fixed_environments_has_use_and_no_candidates(tmp_path: Path):
    config = to_mapping(load_config({"curriculum": {"name": "fixed"}, "run": {"steps": 2}}))
    with Store.create(tmp_path / "run", config, {}) as store:
        store.add_environments([EnvironmentRecord("a", "A", True), EnvironmentRecord("b", "B", True)])
        view = RunView(store)
        ask(store, 1, "s00001.solve.0000", "solve", "a", "x", "y", count=4)
        assert (view.progress().stage, view.progress().done, view.progress().total) == ("solved", 2, 4)
        store.add_scores(1, {("s00001.solve.0000", 0): Score(1.0), ("s00001.solve.0000", 1): Score(0.5)})
        ask(store, 1, "s00001.solve.0001", "solve", "b", "z")
        store.add_scores(1, {("s00001.solve.0001", 0): Score(0.0)})
        finish(store, 1, solver__score=0.5, pool__active=2, time__step=3.0, time__solve=2.5)
        ask(store, 2, "s00002.solve.0000", "solve", "a", "x")
        ask(store, 2, "s00002.solve.0001", "solve", "a", "y", "z")
        store.add_scores(2, {("s00002.solve.0000", 0): Score(0.0), ("s00002.solve.0001", 0): Score(0.75),
                             ("s00002.solve.0001", 1): Score(0.0)})  # fmt: skip
        finish(store, 2, solver__score=0.25)
        assert view.uses() == [Use("a", 1, 1, 2, 0.75), Use("b", 1, 1, 1, 0.0), Use("a", 2, 2, 3, 0.25)]
        assert view.uses("b") == [Use("b", 1, 1, 1, 0.0)]
        first, second = view.movements()
        assert (first.name, first.first_step, first.first, first.last_step, first.last) == ("A", 1, 0.75, 2, 0.25)
        assert (first.responses, second.name, second.responses) == (5, "B", 1)
        whole = view.solver_movement()
        assert whole is not None
        assert (whole.first, whole.last, whole.responses) == (0.5, 0.25, 6)
        assert view.movements(last=1)[0].last == 0.75
        assert view.series("solver/score") == [(1, 0.5), (2, 0.25)]
        assert view.times(1) == {"step": 3.0, "solve": 2.5}
        assert view.total_funnel() == NO_FUNNEL
        assert [dict(step.fates) for step in view.steps()] == [{}, {}]
        assert view.request_ids("solve", "a") == ["s00001.solve.0000", "s00002.solve.0000", "s00002.solve.0001"]
        group = view.answered("s00001.solve.0000")
        assert group is not None
        assert (group.prompt, group.seed, group.difficulty) == ("About a", 7, 2)
        assert [(text, score.value) for text, score in group.replies if score] == [("x", 1.0), ("y", 0.5)]


def test_questions_are_counted_without_layers(tmp_path: Path):
    """r-zero's challenger asks questions: some malformed, some outside the band, some kept."""
    config = to_mapping(load_config({"curriculum": {"name": "r-zero"}}))
    with Store.create(tmp_path / "run", config, {}) as store:
        view = RunView(store)
        reasons = ("malformed", "malformed", "too-hard", "admitted", "admitted", "too-easy")
        questions = [Question(1, *divmod(index, 3), "q") for index in range(len(reasons))]
        store.add_questions(questions)
        assert view.funnel(1) == (6, *[None] * 8)
        assert view.progress().stage == "generated"
        with store.stage(1, "generated"):
            pass
        ask(store, 1, str(CandidateId(1, 0, 2).vote), "calibrate", questions[2].id, "<answer>1</answer>", count=4)
        progress = view.progress()
        assert (progress.stage, progress.done, progress.total) == ("calibrated", 1, 4)
        rewards = (0.0, 0.0, 0.25, 0.5, 0.5, 0.5)
        facts = zip(questions, rewards, reasons, strict=True)
        store.add_question_decisions(1, [QuestionDecision(q.id, r, why == "admitted", why) for q, r, why in facts])
        finish(store, 1)
        assert view.funnel(1) == view.total_funnel() == (6, *[None] * 6, 4, 2)
        fates = view.fates()[1]
        assert (dict(fates.counts), fates.decided, fates.questions) == (
            {"malformed": 2, "too-hard": 1, "admitted": 2, "too-easy": 1},
            True,
            True,
        )
        (step,) = view.steps()
        assert (dict(step.fates), step.quality, step.diversity) == ({}, None, None)  # they are no candidates
        assert step.rewards == rewards
        assert step.generator_zero_variance == 0.5  # the second group earned 0.5 thrice
        assert view.candidates().total == 0


def test_a_run_of_a_version_to_come_is_refused_in_words(tmp_path: Path):
    Store.create(tmp_path, {}, {}).close()
    database = sqlite3.connect(tmp_path / "run.sqlite")
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    with (
        pytest.raises(StoreError, match=rf"newer EvoEnv \(schema {SCHEMA_VERSION + 1}.*upgrade evoenv"),
        RunView.open(tmp_path),
    ):
        pass


def test_a_directory_without_a_run_is_refused_in_words(tmp_path: Path):
    with pytest.raises(StoreError, match="there is no run in"), RunView.open(tmp_path):
        pass


def test_a_view_that_was_opened_is_one_moment_of_the_run(tmp_path: Path):
    with begin(tmp_path / "run") as store:
        add_candidate(store, 1, 0, source="class A: pass", response="r")
        with RunView.open(tmp_path / "run") as view:
            assert view.candidates().total == 1
            add_candidate(store, 1, 1, source="class B: pass", response="r")
            assert view.candidates().total == len(view.entries(1)) == view.funnel(1)[0] == 1
        assert RunView(store).candidates().total == 2


# --------------------------------------------------------------------------- steps, pool, lineage, consistency


def test_a_step_in_numbers(tmp_path: Path):
    with begin(tmp_path / "run") as store:
        names = [
            add_candidate(store, 1, index, source=f"class C{index}: pass", response="r") for index in (0, 1, 16, 17)
        ]
        for name, layer in zip(names, (5, 5, 1, 0), strict=True):
            found = () if layer == 5 else (finding("L2.raises" if layer else "L1.syntax", "seen"),)
            store.add_report(1, name, ValidationReport(layer, found))
        store.add_novelties(1, {names[0]: Novelty(0.5, 0.5), names[1]: Novelty(0.75, 0.25)})
        store.add_metrics(1, {"novelty/gamma": 2.0})
        rewards = (1.5, 0.5, -1.0, -1.0)
        reasons = ("admitted", "gate", "layer", "layer")
        facts = zip(names, (5, 5, 1, 0), (0.5, 0.0, -1.0, -1.0), rewards, reasons, strict=True)
        store.add_decisions(1, [Decision(n, layer, q, r, why == "admitted", why) for n, layer, q, r, why in facts])
        finish(store, 1)
        (step,) = RunView(store).steps()
        assert step.rewards == rewards
        assert step.quality == (0.5 + 0.0 - 1.0 - 1.0) / 4
        assert step.diversity == (2.0 * 0.5 + 2.0 * 0.25) / 4  # what comes to less than L2 has none
        store.set_meta("config", {"generator": {"reward": "without-quality"}})
        (step,) = RunView(store).steps()
        assert (step.quality, step.diversity) == (0.0, sum(rewards) / 4)
        assert step.generator_zero_variance == 0.5  # the second group earned −1 twice
        assert step.funnel == (4, 3, 2, 2, 2, 2, 2, 2, 1)
        assert RunView(store).finding_counts() == {"L1.syntax": 1, "L2.raises": 1}
        assert RunView(store).first_findings(1) == {"L1.syntax": 1, "L2.raises": 1}


def test_the_pool_is_followed_from_the_originals_on(tmp_path: Path):
    with Store.create(tmp_path / "run", {}, {}) as store:
        tags = frozenset({"graph"})
        store.add_environments(
            [
                EnvironmentRecord("a", "A", True, active=False, retired_step=2, tags=tags),
                EnvironmentRecord("b", "B", True, tags=tags),
                EnvironmentRecord("c", "C", False, admitted_step=1, candidate_id="s00001.g000.c00"),
                EnvironmentRecord("d", "D", False, admitted_step=1, candidate_id="s00001.g000.c01"),
            ]
        )
        finish(store, 1, pool__active=4, pool__few_shot=2, pool__admitted=4, pool__prototypes=3)
        finish(store, 2, pool__active=3, pool__few_shot=2, pool__admitted=4)
        assert RunView(store).pool() == [
            PoolStep(0, 2.0, 2.0, 0.0, 1.0, 0, 0),
            PoolStep(1, 4.0, 2.0, 2.0, 3.0, 2, 0),
            PoolStep(2, 3.0, 2.0, 2.0, None, 0, 1),
        ]
        # imported with the step of another run
        store.add_environments([EnvironmentRecord("e", "E", False, admitted_step=2)])
        steps = RunView(store).pool()
        assert (steps[0].active, steps[2].entered) == (3.0, 0)


def test_a_run_that_ended_by_its_tokens_waits_for_nothing_and_one_that_lacks_some_goes_on(tmp_path: Path):
    large_run(tmp_path / "run", 2, 20)
    with Store.open(tmp_path / "run") as store:
        store.add_metrics(2, {"tokens/sampled": 1000.0, "tokens/trained": 0.0})
        config = store.meta("config") or {}
        spent = tokens_spent(store)
        for run, wanted in (({"steps": 1000, "tokens": 1}, 2), ({"steps": 2, "tokens_at_least": int(spent) + 1}, 3)):
            store.set_meta("config", {**config, "run": run})
            assert RunView(store).progress().wanted_steps == wanted


def test_lineage_goes_both_ways(tmp_path: Path):
    with begin(tmp_path / "run") as store:
        first, second = (record.id for record in store.environments()[:2])
        parent = admit(store, 1, 0, "class P: pass", (first, second, first))
        child = admit(store, 2, 0, "class C: pass", (parent, "forgotten"))
        lineage = RunView(store).lineage()
        assert lineage[parent] == Lineage((first, second), (child,))
        assert lineage[child] == Lineage((parent, "forgotten"), ())
        assert lineage[first] == Lineage((), (parent,))


def admit(store: Store, step: int, index: int, source: str, parents: tuple[str, ...] = ()) -> str:
    """Put a candidate in the pool; return its environment's id."""
    name = add_candidate(store, step, index, source=source, response="r", parents=parents)
    store.add_report(step, name, ValidationReport(5, (), "C"))
    store.add_decisions(step, [Decision(name, 5, 0.5, 0.5, True, "admitted")])
    record = EnvironmentRecord(store.add_source(source), "C", False, candidate_id=name, admitted_step=step)
    store.add_environments([record])
    return record.id


def test_the_oracle_is_asked_of_those_at_l5_and_once_per_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    good = Author(0, "basic").compose(0)
    spoiled = break_program(good, "asks-other-quantity", 0)
    assert spoiled is not None
    sources = [good.source, spoiled.source, "class Unknown: pass", good.source, good.source]
    with begin(tmp_path / "run", 1) as store:
        names = [add_candidate(store, 1, index, source=text, response="r") for index, text in enumerate(sources)]
        for index, name in enumerate(names):
            store.add_report(1, name, ValidationReport(3 if index == 4 else 5))
        oracle = Oracle()
        assert list(RunView(store).consistency(1, oracle).values()) == [True, False, None, True]
        monkeypatch.setattr("evoenv.runs.environments.read_environment", None)  # everything is known by now
        assert list(RunView(store).consistency(1, oracle)) == names[:4]


# --------------------------------------------------------------------------- one candidate


def test_everything_about_one_candidate(tmp_path: Path):
    with begin(tmp_path / "run") as store:
        name = add_candidate(store, 1, 3, source="class A: pass", response="Here:\nclass A: pass", parents=("p",))
        other = add_candidate(store, 1, 4, source=None, response="no")
        report = ValidationReport(5, (), "A", "functional", "Count.", "exact", 0.5, 0.25, ("seccomp",))
        store.add_report(1, name, report)
        ask(store, 1, f"{name}.review", "review", name, "good", "bad")
        store.add_reviews(1, {name: [Review("accept", ""), Review("reject", "")]})
        for index in (0, 1):
            ask(store, 1, f"{name}.calibrate.{index:02d}", "calibrate", name, f"<answer>{index}</answer>")
        store.add_scores(1, {(f"{name}.calibrate.00", 0): Score(1.0)})
        store.add_calibrations(1, {name: Calibration((1.0, 0.0), 0.5)})
        store.add_novelties(1, {name: Novelty(0.25, 0.75, 0.5, "p")})
        store.add_metrics(1, {"novelty/gamma": 2.0})
        store.add_decisions(1, [Decision(name, 5, 0.5, 2.0, False, "gate", 0.9)])
        view = RunView(store)
        history = view.candidate(name)
        assert history is not None
        assert [message.content for message in history.prompt] == ["write"]
        assert (history.response, history.source) == ("Here:\nclass A: pass", "class A: pass")
        assert history.report == report
        assert history.reviews == (Review("accept", "good"), Review("reject", "bad"))
        assert [message.content for message in history.review_prompt] == [f"About {name}"]
        assert history.calibration == Calibration((1.0, 0.0), 0.5)
        assert [request.replies for request in history.calibration_requests] == [
            (("<answer>0</answer>", Score(1.0)),),
            (("<answer>1</answer>", None),),
        ]
        assert history.decision == Decision(name, 5, 0.5, 2.0, False, "gate", 0.9)
        entry = history.entry
        assert (entry.name, entry.state, entry.layer, entry.parents) == ("A", "gate", 5, ("p",))
        assert (entry.pass_rate, entry.q_val, entry.diversity, entry.reward) == (0.5, 0.5, 1.5, 2.0)
        assert (entry.novelty, entry.similarity_at_admission) == (Novelty(0.25, 0.75, 0.5, "p"), 0.9)
        assert entry.position == (1, 0, 3)
        bare = view.candidate(other)
        assert bare is not None
        assert (bare.source, bare.report, bare.reviews, bare.calibration, bare.decision) == (None, None, (), None, None)


def test_what_was_reviewed_comes_with_what_was_shown(tmp_path: Path):
    with begin(tmp_path / "run") as store:
        name = add_candidate(store, 1, 0, source="class A: pass", response="r")
        ask(store, 1, f"{name}.review", "review", name, "good")
        store.add_reviews(1, {name: [Review("accept", "")]})
        finish(store, 1)
        ((messages, reviews),) = RunView(store).reviewed(1)
        assert (messages[0].content, reviews) == (f"About {name}", (Review("accept", "good"),))
        assert list(RunView(store).reviewed(0)) == []


def test_solver_groups_are_used_by_the_environment_they_are_about(tmp_path: Path):
    with begin(tmp_path / "run") as store:
        environment = store.environments()[0].id
        solve(store, 1, 0, environment, random.Random(0))
        (group,) = RunView(store).all_answered("solve", environment)
        assert (group.step, group.subject, len(group.replies)) == (1, environment, 2)
