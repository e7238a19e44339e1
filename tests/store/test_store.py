"""The run store: round trips, stages, events, size and look-ups."""

from __future__ import annotations

import sqlite3
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.admission.novelty import NoveltyCache
from evoenv.errors import StoreError
from evoenv.ids import GeneratorRequestId
from evoenv.pool.state import Difficulty, after_step
from evoenv.records import (
    Calibration,
    Candidate,
    Decision,
    Finding,
    Novelty,
    Review,
    Sample,
    Score,
    ValidationReport,
    environment_id,
)
from evoenv.store.packing import pack_rollout, pack_text, unpack_rollout, unpack_text
from evoenv.store.store import EnvironmentRecord, RequestRecord, Store
from tests.effort import calls
from tests.store.entries import REQUEST, request, sample, source_of

# --------------------------------------------------------------------------- packing


@given(st.text(max_size=400))
def test_texts_come_back_as_they_were(text):
    assert unpack_text(pack_text(text)) == text


@pytest.mark.parametrize("text", ["", "short", "\ud800 lone", "nul \x00", "long " * 1000])
def test_awkward_texts_come_back_from_the_database_too(store, text):
    store.add_requests(1, [RequestRecord(request(), "generate")])
    store.add_sample(1, sample(text=text))
    assert store.samples(1, "generate")["r1", 0].text == text


def test_long_texts_are_compressed():
    assert len(pack_text("class E: pass\n" * 200)) < 200


def test_rollouts_come_back_to_the_bit():
    rollout = sample().rollout
    assert unpack_rollout(pack_rollout(rollout)) == rollout


# --------------------------------------------------------------------------- round trips


def test_everything_about_a_candidate_comes_back(tmp_path):
    report = ValidationReport(
        layer=4,
        findings=(Finding("L5.x", "seen", "mend"), Finding("L5.y", "s", "m")),
        class_name="E",
        dialect="stateful",
        prompt_template="p" * 500,
        family="exact",
        seconds=0.25,
        cpu_seconds=0.125,
        sandbox=("seccomp", "landlock"),
    )
    candidates = [
        Candidate(1, 0, 0, "hello", source_of(1), ("seed-a", "seed-b")),
        Candidate(1, 0, 1, "no code", None, ()),
    ]
    first = candidates[0].id
    directory = tmp_path / "run"
    with Store.create(directory, {}, {}) as store:
        store.add_requests(
            1,
            [
                RequestRecord(request(REQUEST), "generate"),
                RequestRecord(request(f"{first}.review"), "review", subject=first),
            ],
        )
        store.add_sample(1, sample(REQUEST))
        store.add_sample(1, sample(REQUEST, 1, "no code"))
        store.add_candidates(candidates)
        store.add_report(1, first, report)
        store.add_sample(1, sample(f"{first}.review", 0, "fine\nVERDICT: ACCEPT"))
        store.add_reviews(1, {first: (Review("accept", "fine\nVERDICT: ACCEPT"), Review("unparseable", ""))})
        store.add_calibrations(1, {first: Calibration((0.0, 1.0, 1 / 3), 2 / 3)})
        store.add_asymmetries(1, {first: 1 / 3})
        store.add_novelties(1, {first: Novelty(0.7, 0.30000000000000004, 0.5, "seed-a")})
        store.add_decisions(1, [Decision(first, 5, 0.1, 1 / 3, False, "gate", 0.8)])
        store.add_scores(1, {(REQUEST, 0): Score(0.5), (REQUEST, 1): Score(0.0, False, "died")})
        store.add_metrics(1, {"a/b": 0.1, "c/d": float("nan"), "e": 2})
    with Store.read(directory) as store:
        assert store.candidates(1) == candidates
        assert store.count_candidates() == 2
        assert store.source(environment_id(source_of(1))) == source_of(1)
        assert store.source("nothing") is None
        assert store.request_messages(REQUEST) == request().messages
        assert store.samples(1, "generate") == {
            (REQUEST, 0): sample(REQUEST),
            (REQUEST, 1): sample(REQUEST, 1, "no code"),
        }
        assert store.reports(1) == {first: report}
        assert store.reviews(1)[first][0] == Review("accept", "fine\nVERDICT: ACCEPT")
        assert [review.verdict for review in store.reviews(1)[first]] == ["accept", "unparseable"]
        assert store.calibrations(1) == {first: Calibration((0.0, 1.0, 1 / 3), 2 / 3)}
        assert store.asymmetries(1) == {first: 1 / 3}
        assert store.novelties(1) == {first: Novelty(0.7, 0.30000000000000004, 0.5, "seed-a")}
        assert store.decisions(1) == [Decision(first, 5, 0.1, 1 / 3, False, "gate", 0.8)]
        assert store.scores(1, "generate") == {(REQUEST, 0): Score(0.5), (REQUEST, 1): Score(0.0, False, "died")}
        assert store.metrics(1)["a/b"] == 0.1
        assert np.isnan(store.metrics(1)["c/d"])
        assert store.metric("a/b") == [(1, 0.1)]
        assert store.candidates(2) == []


def test_writing_the_same_sample_or_report_again_changes_nothing(store):
    store.add_requests(1, [RequestRecord(request(), "generate")])
    store.add_requests(1, [RequestRecord(request(), "generate")])
    store.add_sample(1, sample(text="first"))
    store.add_sample(1, sample(text="second"))
    assert store.samples(1, "generate")["r1", 0].text == "first"
    store.add_report(1, "c", ValidationReport(2))
    store.add_report(1, "c", ValidationReport(3))
    assert store.reports(1)["c"].layer == 2


def test_dropped_rollouts_leave_the_texts(store):
    store.add_requests(1, [RequestRecord(request(), "generate")])
    store.add_sample(1, sample())
    store.drop_rollouts(1)
    assert store.samples(1, "generate") == {("r1", 0): Sample("r1", 0, "hello", "length", tokens=3, version=4)}


def test_a_rollout_is_in_memory_only_while_it_is_looked_at(store):
    store.add_requests(1, [RequestRecord(request(), "generate")])
    store.add_sample(1, sample())
    store.add_sample(1, sample(index=1))
    first, second = (item.rollout for item in store.samples(1, "generate").values())
    assert first == second == sample().rollout
    assert first.prompt_ids is second.prompt_ids, "one copy for the whole group"
    kept = weakref.ref(first.token_ids)
    assert kept() is not None, "read once"
    first.release()
    assert kept() is None
    assert first.lengths == (len(sample().rollout.prompt_ids), len(sample().rollout.token_ids))
    assert first.token_ids == sample().rollout.token_ids, "and read again"
    first.release()
    store.drop_rollouts(1)
    with pytest.raises(StoreError, match=r"sample 0 of request 'r1' has no rollout any more"):
        first.logprobs  # noqa: B018
    assert first.lengths == second.lengths, "checks need not read again"
    assert first.bounds == sample().rollout.bounds
    assert len(second.logprobs) == len(second.token_ids), "what is held stays"


def test_texts_may_stay_in_the_store_until_somebody_looks(store):
    store.add_requests(1, [RequestRecord(request(), "generate")])
    store.add_sample(1, sample())
    (whole,), (light,) = (store.samples(1, "generate", texts=texts).values() for texts in (True, False))
    assert light.text == whole.text == "hello"
    names = ("request_id", "index", "finish_reason", "tokens", "version", "rollout")
    assert [getattr(light, name) for name in names] == [getattr(whole, name) for name in names]
    with pytest.raises(AttributeError):
        light.tokens = 5


def test_the_pool_and_the_cache_come_back(store):
    names = ["a", "b", "c"]
    store.add_environments([EnvironmentRecord(name, name.upper(), name == "a", tags=frozenset("xy")) for name in names])
    vectors = {
        name: (np.eye(3, dtype=np.float32)[i], np.eye(3, dtype=np.float32)[2 - i]) for i, name in enumerate(names)
    }
    store.add_vectors(vectors)
    before = store.pool()
    assert before.active == ("a", "b", "c")
    after = after_step(before, [], [], 8)
    members = dict(after.members)
    members["b"] = replace(members["b"], active=False, epochs=5)
    members["c"] = replace(members["c"], epochs=2, difficulty=Difficulty(3, 4, 5))
    after = type(after)(members)
    store.update_pool(10, before, after)
    assert store.pool() == after
    records = {record.id: record for record in store.environments()}
    assert records["b"].retired_step == 10
    assert records["c"] == EnvironmentRecord("c", "C", False, epochs=2, level=3, tags=frozenset("xy"))
    prompts, codes = store.vectors(["c", "a"])
    assert prompts.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert codes.tolist() == [[1, 0, 0], [0, 0, 1]]
    cache = store.fill(NoveltyCache(3))
    assert len(cache) == 3
    assert cache.nearest(prompts, codes) == [(1.0, 1.0, "c"), (1.0, 1.0, "a")]


def test_a_position_in_the_pool_is_an_order_of_admission(store):
    for name in ("z", "m", "a"):
        store.add_environments([EnvironmentRecord(name, name, False)])
    assert store.pool().admitted == ("z", "m", "a")


# --------------------------------------------------------------------------- stages and events


def test_a_stage_and_its_outcome_are_one(store):
    def fail_halfway():
        with store.stage(1, "decided"):
            store.add_decisions(1, [Decision("c", 0, -1.0, -1.0, False, "layer")])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert not store.stage_done(1, "decided")
    assert store.decisions(1) == []
    with store.stage(1, "decided") as kept:
        store.add_decisions(1, [Decision("c", 0, -1.0, -1.0, False, "layer")])
        kept["admitted"] = 0
    assert store.stage_done(1, "decided")
    assert store.stage_data(1, "decided") == {"admitted": 0}
    assert len(store.decisions(1)) == 1


def test_a_stage_is_done_once(store):
    with store.stage(1, "solved"):
        pass
    with pytest.raises(StoreError, match="must not be done twice"), store.stage(1, "solved"):
        pass


def test_last_step_and_last_checkpoint_count_what_is_committed(store):
    assert store.last_step() == 0
    assert store.last_checkpoint() is None
    for step, checkpoint in ((1, "step-1"), (2, None), (3, None)):
        with store.stage(step, "updated") as kept:
            kept["checkpoint"] = checkpoint
        if step < 3:
            with store.stage(step, "rotated"):
                pass
    assert store.last_step() == 2
    assert store.last_update() == 3
    assert store.last_checkpoint() == (1, "step-1")


def test_events_are_kept_in_order_and_cannot_be_changed(store):
    store.add_event(1, "first", {"x": 1})
    store.add_event(None, "second", {})
    assert [(step, kind, data) for _, _, step, kind, data in store.events()][-2:] == [
        (1, "first", {"x": 1}),
        (None, "second", {}),
    ]
    last = store.events()[-1][0]
    assert store.events(after=last) == []
    raw = sqlite3.connect(store.directory / "run.sqlite")
    for statement in ("DELETE FROM events", "UPDATE events SET kind = 'x'"):
        with pytest.raises(sqlite3.DatabaseError, match="append-only"):
            raw.execute(statement)
    raw.close()


# --------------------------------------------------------------------------- size and speed


def fill(directory, steps):
    """Write a run of `steps` steps, with 128 candidates each, all admitted."""
    with Store.create(directory, {}, {}) as store, store.transaction():
        for step in range(1, steps + 1):
            requests = [request(str(GeneratorRequestId(step, group)), 8) for group in range(16)]
            store.add_requests(step, [RequestRecord(item, "generate") for item in requests])
            for group in range(16):
                for index in range(8):
                    number = step * 128 + group * 8 + index
                    store.add_sample(step, Sample(requests[group].id, index, source_of(number)))
                    candidate = Candidate(step, group, index, "", source_of(number))
                    store.add_candidates([candidate])
                    store.add_report(step, candidate.id, ValidationReport(5, prompt_template=f"p{number}" * 40))
                    store.add_environments([EnvironmentRecord(environment_id(source_of(number)), candidate.id, False)])


@pytest.mark.slow
def test_a_long_run_costs_what_it_is_asked_for(tmp_path, monkeypatch):
    instructions = 0
    connect = sqlite3.connect

    def counting(*arguments, **options):
        def count():
            nonlocal instructions
            instructions += 1

        connection = connect(*arguments, **options)
        connection.set_progress_handler(count, 1)
        return connection

    def work(action):
        """Instructions of SQLite's and calls of Python's."""
        before = instructions
        made = calls(action)
        return np.array([instructions - before, made - (instructions - before)])

    small, large = 10, 40  # steps
    opening, pool, step = {}, {}, {}
    for steps in (small, large):
        directory = tmp_path / str(steps)
        fill(directory, steps)
        monkeypatch.setattr(sqlite3, "connect", counting)
        opening[steps] = work(lambda directory=directory: Store.open(directory).close())
        with Store.open(directory) as store:
            assert len(store.pool().members) == store.count_candidates() == steps * 128
            assert len(store.candidates(small)) == 128
            pool[steps] = work(store.pool)
            step[steps] = work(lambda store=store: store.candidates(small))
            size = store.size()
        monkeypatch.undo()
    assert all(opening[large] <= 1.1 * opening[small]), f"opening reads no rows; got {opening}"
    assert all(step[large] <= 1.1 * step[small]), f"one step is read without the others; got {step}"
    assert all(pool[large] <= 1.1 * large / small * pool[small]), f"each member is read once; got {pool}"
    assert size["bytes"] / size["candidates"] < 4000


# --------------------------------------------------------------------------- evaluations and snapshots


def test_evaluations_come_back_by_suite_and_step_and_the_newest_counts(store):
    store.record_evaluation(2, "aime", 0.5, 0.4, 0.6, 30)
    store.record_evaluation(0, "aime", 0.25, 0.1, 0.4, 30)
    store.record_evaluation(1, "seeds", 0.75, 0.7, 0.8, 100)
    store.record_evaluation(2, "aime", 0.55, 0.45, 0.65, 30)
    found = [(item.suite, item.step, item.accuracy, item.low, item.high, item.n) for item in store.evaluations()]
    assert found == [
        ("aime", 0, 0.25, 0.1, 0.4, 30),
        ("aime", 2, 0.55, 0.45, 0.65, 30),
        ("seeds", 1, 0.75, 0.7, 0.8, 100),
    ]
    assert [event[4]["accuracy"] for event in store.events() if event[3] == "evaluated"] == [0.5, 0.25, 0.75, 0.55]


@pytest.mark.parametrize("numbers", [(0.5, 0.6, 0.7), (0.5, 0.4, 1.2), (float("nan"), 0.0, 1.0)])
def test_an_evaluation_outside_its_interval_is_refused(store, numbers):
    with pytest.raises(ValueError, match="0 ≤ low ≤ accuracy ≤ high ≤ 1"):
        store.record_evaluation(1, "aime", *numbers, 30)


def test_a_snapshot_does_not_see_what_is_written_meanwhile(store):
    store.add_metrics(1, {"a": 1.0})
    with Store.read(store.directory) as reader:
        with reader.snapshot():
            assert reader.metrics(1) == {"a": 1.0}
            store.add_metrics(1, {"a": 2.0})
            assert reader.metrics(1) == {"a": 1.0}
        assert reader.metrics(1) == {"a": 2.0}


# --------------------------------------------------------------------------- looking candidates up


def test_the_codes_of_findings_stand_beside_them_each_once(store):
    findings = tuple(Finding(code, "seen", "mend") for code in ("L3.b", "L3.a", "L3.b"))
    store.add_report(2, "s2.g0.c0", ValidationReport(2, findings))
    store.add_report(2, "s2.g0.c0", ValidationReport(1, (Finding("L2.late", "x", "y"),)))  # the first verdict stays
    assert store.query("SELECT * FROM finding_codes ORDER BY position") == [
        ("s2.g0.c0", "L3.b", 2, 0),
        ("s2.g0.c0", "L3.a", 2, 1),
    ]
