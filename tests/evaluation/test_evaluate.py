"""Evaluating with a scripted policy: what counts, what is kept, what is refused, what is done again."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from evaluation_support import ADDING, BROKEN, DYING, SAMPLING, run, solver, suite

from evoenv.engines.scripted import ScriptedPolicy
from evoenv.errors import InputError, PolicyError, StoreError
from evoenv.evaluation import evaluate
from evoenv.records import Request, Sample
from evoenv.sandbox.host import Sandbox
from tests.effort import HANG_S

pytestmark = pytest.mark.sandbox


def entries(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_right_partial_missing_and_wrong_answers_are_counted_apart(sandbox: Sandbox) -> None:
    found = run(sandbox, ScriptedPolicy(solver))
    assert found.accuracy.mean == 0.25
    assert found.mean_score.mean == pytest.approx((1 + 0.5) / 4)
    assert found.format_failures == 0.25
    assert found.pass_at == {1: 0.25, 2: pytest.approx(0.5), 4: 1.0}
    assert [item.scores for item in found.items] == [(1.0, 0.5, 0.0, 0.0)] * 6
    assert (found.accuracy.n, found.sampled, found.errors, found.grader_failures) == (6, 24, 0, 0)
    (group,) = found.by_environment.values()
    assert (group.name, group.accuracy.mean, group.mean_score, group.bad) == ("e0", 0.25, 0.375, 0)


def test_instances_are_the_same_for_a_seed_and_differ_between_levels_and_seeds(sandbox: Sandbox) -> None:
    def prompts(seed: int) -> list[str]:
        policy = ScriptedPolicy(solver)
        evaluate(policy, sandbox, suite(ADDING, instances=4, seed=seed), **{**SAMPLING, "samples": 1})
        return [request.messages[-1].content for request in policy.requests]

    first = prompts(1)
    assert first == prompts(1)
    assert first != prompts(2)
    assert len(set(first)) > 4


def test_instances_that_die_are_recorded_and_in_no_mean(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    found = run(sandbox, ScriptedPolicy(solver), ADDING, DYING, BROKEN, results=path)
    added, dying, broken = found.by_environment.values()
    assert (added.bad, broken.bad) == (0, 6)
    assert 3 <= dying.bad <= 6
    assert dying.bad == 6 - dying.accuracy.n
    assert len(found.items) == 12 - dying.bad
    assert len(found.bad) == dying.bad + 6
    reasons = {item.group: item.reason for item in found.bad}
    assert "ZeroDivisionError" in reasons[dying.id]
    assert "does not load" in reasons[broken.id]
    assert sum("bad" in entry for entry in entries(path)) == len(found.bad)
    again = run(sandbox, ScriptedPolicy(solver), ADDING, DYING, BROKEN, results=path)
    assert again.bad == found.bad
    assert sum("bad" in entry for entry in entries(path)) == len(found.bad)
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert document["by_environment"][2]["accuracy"] is None


def test_a_scorer_that_dies_costs_the_sample_and_is_counted(sandbox: Sandbox) -> None:
    dies = ADDING.replace("got = self._process(y)", "got = self._process(y)\n        1 // (got + 5 if got else 1)")
    found = run(sandbox, ScriptedPolicy(solver), dies)
    assert (found.accuracy.mean, found.grader_failures) == (0.25, 6)


def test_every_sample_is_a_line_with_its_text_and_what_it_earned(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "results.jsonl"
    found = run(sandbox, ScriptedPolicy(solver), results=path, model={"name": "m"})
    header, *lines = entries(path)
    assert header["kind"] == "evaluation"
    assert header["model"] == {"name": "m"}
    assert header["sampling"] == {"temperature": 1.0, "top_p": 1.0, "max_tokens": 200}
    assert len(lines) == 24
    line = next(line for line in lines if line["item"] == found.items[0].id and line["index"] == 2)
    assert (line["score"], line["format_ok"], line["response"]) == (0.0, False, "I do not know")
    assert (line["difficulty"], line["group"]) == (0, found.items[0].group)


def test_what_is_kept_is_not_sampled_again_and_more_samples_may_be_asked_for(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    first = run(sandbox, ScriptedPolicy(solver), results=path, samples=2)
    nobody = ScriptedPolicy(lambda request, index: pytest.fail("asked again"))
    assert run(sandbox, nobody, results=path, samples=2).items == first.items
    assert nobody.requests == []
    policy = ScriptedPolicy(solver)
    more = run(sandbox, policy, results=path, samples=4)
    assert (more.sampled, more.accuracy.mean) == (12, 0.25)
    assert {request.wanted for request in policy.requests} == {(2, 3)}
    assert len(entries(path)) == 1 + 24


def test_progress_counts_what_was_there_before(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    run(sandbox, ScriptedPolicy(solver), results=path, samples=1)
    told: list[tuple[int, int]] = []
    run(
        sandbox,
        ScriptedPolicy(solver),
        results=path,
        samples=2,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(done, 12) for done in range(6, 13)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "other"}, "model was 'one' and is 'other'"),
        ({"temperature": 0.5}, "sampling.temperature was 1.0 and is 0.5"),
        ({"max_tokens": 7}, "sampling.max_tokens was 200 and is 7"),
    ],
)
def test_another_model_or_sampling_is_refused(sandbox: Sandbox, tmp_path: Path, changes: dict, words: str) -> None:
    path = tmp_path / "results.jsonl"
    run(sandbox, ScriptedPolicy(solver), results=path, model="one")
    before = path.read_bytes()
    with pytest.raises(InputError, match=words):
        run(sandbox, ScriptedPolicy(solver), results=path, **{"model": "one", **changes})
    assert path.read_bytes() == before


def test_another_suite_is_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    run(sandbox, ScriptedPolicy(solver), results=path)
    with pytest.raises(InputError, match=r"suite\.content was .* and is"):
        run(sandbox, ScriptedPolicy(solver), ADDING + "\n", results=path)
    with pytest.raises(InputError, match=r"suite\.instances was 3 and is 4"):
        evaluate(ScriptedPolicy(solver), sandbox, suite(ADDING, instances=4), results=path, **SAMPLING)


def test_a_torn_last_line_is_cut_off_and_its_sample_drawn_again(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    whole = run(sandbox, ScriptedPolicy(solver), results=path)
    path.write_bytes(path.read_bytes()[:-20])
    again = run(sandbox, ScriptedPolicy(solver), results=path)
    assert (again.sampled, again.items) == (1, whole.items)
    assert len(entries(path)) == 25


@pytest.mark.parametrize("left", [0, 10])
def test_a_file_killed_before_its_header_was_whole_is_begun_anew(sandbox: Sandbox, tmp_path: Path, left: int) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"kind": "evaluation", '[:left])
    assert run(sandbox, ScriptedPolicy(solver), results=path).sampled == 24
    assert entries(path)[0]["kind"] == "evaluation"


def test_a_damaged_line_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    run(sandbox, ScriptedPolicy(solver), results=path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], "garbage\n", *lines[4:]]))
    with pytest.raises(StoreError, match=r"results\.jsonl:4 is damaged"):
        run(sandbox, ScriptedPolicy(solver), results=path)


def test_a_file_of_something_else_is_refused_and_left_alone(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "precious.jsonl"
    path.write_text('{"my": "data"}\n')
    with pytest.raises(InputError, match="not a file of evaluation results"):
        run(sandbox, ScriptedPolicy(solver), results=path)
    assert path.read_text() == '{"my": "data"}\n'


def test_a_second_evaluation_of_the_same_file_is_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    run(sandbox, ScriptedPolicy(solver), results=path)
    with path.open() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="in use by another evaluation"):
            run(sandbox, ScriptedPolicy(solver), results=path)


class Narrow(ScriptedPolicy):
    """Refuses prompts with a 7 before anything is sampled, as a model with a short context refuses long ones."""

    def check(self, requests):
        for request in requests:
            if "7" in request.messages[-1].content:
                raise PolicyError(f"{request.id} does not fit")
        super().check(requests)


def test_prompts_that_do_not_fit_count_as_wrong_and_cost_nothing_else(sandbox: Sandbox) -> None:
    found = evaluate(Narrow(solver), sandbox, suite(ADDING, instances=20), **SAMPLING)
    unfit = sum(item.scores == (0.0,) * 4 for item in found.items)
    assert 0 < unfit < 40
    assert found.errors == 4 * unfit
    assert found.accuracy.mean == pytest.approx(0.25 * (40 - unfit) / 40)


def test_a_policy_that_takes_no_prompt_at_all_is_an_error(sandbox: Sandbox) -> None:
    class Closed(ScriptedPolicy):
        def check(self, requests):
            raise PolicyError("the model's context is 10 tokens")

    with pytest.raises(PolicyError, match="context is 10 tokens"):
        run(sandbox, Closed(solver))


def test_a_policy_that_keeps_samples_back_is_an_error_and_the_others_are_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    class Lazy(ScriptedPolicy):
        def sample(self, requests):
            yield from (sample for sample in super().sample(requests) if sample.index != 3)

    path = tmp_path / "results.jsonl"
    with pytest.raises(PolicyError, match="left 6 samples out"):
        run(sandbox, Lazy(solver), results=path)
    assert run(sandbox, ScriptedPolicy(solver), results=path).sampled == 6


def test_a_refused_request_is_wrong_and_counted(sandbox: Sandbox) -> None:
    class Refusing(ScriptedPolicy):
        def sample(self, requests):
            for sample in super().sample(requests):
                yield Sample(sample.request_id, sample.index, "", finish_reason="error") if not sample.index else sample

    found = run(sandbox, Refusing(solver))
    assert (found.errors, found.accuracy.mean) == (6, 0.0)


def test_cut_responses_are_counted(sandbox: Sandbox) -> None:
    found = run(sandbox, ScriptedPolicy({"solver": "x" * 500}), max_tokens=50)
    assert (found.truncated, found.format_failures) == (1.0, 1.0)


def test_a_huge_answer_neither_hangs_nor_crashes(sandbox: Sandbox, tmp_path: Path) -> None:
    text = f"<answer>{'9' * 1_000_000}</answer>"
    found = run(sandbox, ScriptedPolicy({"solver": text}), results=tmp_path / "r.jsonl", samples=1, max_tokens=10**8)
    assert found.accuracy.mean == 0.0


def test_samples_below_one_are_refused(sandbox: Sandbox) -> None:
    with pytest.raises(InputError, match="samples is 0"):
        run(sandbox, ScriptedPolicy(solver), samples=0)


def test_requests_carry_the_suite_s_seeds(sandbox: Sandbox) -> None:
    def seeds(seed: int) -> set[int]:
        policy = ScriptedPolicy(solver)
        evaluate(policy, sandbox, suite(ADDING, seed=seed), **SAMPLING)
        return {request.seed for request in policy.requests}

    assert len(seeds(1)) == 6
    assert seeds(1) == seeds(1)
    assert not seeds(1) & seeds(2)


def test_killed_at_any_sample_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """kill -9 three times on the way; what was graded is never drawn again, and the end is the same."""
    program = [sys.executable, str(Path(__file__).with_name("evaluation_support.py"))]
    path = tmp_path / "results.jsonl"
    kept = 0
    for kill_at in (3, 9, 17):
        died = subprocess.run([*program, str(path), str(kill_at)], capture_output=True, text=True, timeout=HANG_S)
        assert died.returncode == -9, died.stderr
        lines = path.read_bytes().splitlines() if path.exists() else []
        assert len(lines) >= kept
        kept = len(lines)
    assert kept > 1
    done = subprocess.run([*program, str(path)], capture_output=True, text=True, timeout=HANG_S, check=True)
    accuracy, sampled = done.stdout.split()
    assert float(accuracy) == 0.25
    keys = [(line["item"], line["index"]) for line in entries(path)[1:]]
    assert len(keys) == len(set(keys)) == 24
    assert int(sampled) <= 24 - (kept - 2)
    assert os.listdir(tmp_path) == ["results.jsonl"]


def test_the_request_is_the_solver_s(sandbox: Sandbox) -> None:
    policy = ScriptedPolicy(solver)
    run(sandbox, policy)
    request: Request = policy.requests[0]
    assert (request.role, request.count, request.temperature) == ("solver", 4, 1.0)
    assert "<answer>" in request.messages[-1].content
