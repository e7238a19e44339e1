"""Curricula through the whole machinery: what a step trains on, what it leaves behind, and stops at any moment."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from curricula_support import answer, begin, config_of, write_problems
from loop_support import configuration, contents

from evoenv.config import Config
from evoenv.curricula import check_curriculum
from evoenv.curricula.problems import read_problems
from evoenv.engines.scripted import Fault, ScriptedPolicy
from evoenv.errors import ConfigError, EvoEnvError, InputError, PolicyError
from evoenv.records import Request
from evoenv.run import advance
from evoenv.sandbox.host import Sandbox
from evoenv.stages.budget import tokens_spent
from evoenv.store.store import Store

pytestmark = pytest.mark.sandbox


@pytest.fixture
def policy() -> ScriptedPolicy:
    return ScriptedPolicy(answer)


# --------------------------------------------------------------------------- fixed, rlve, untrained


def test_fixed_trains_the_solver_alone_and_nobody_enters_or_leaves(
    tmp_path: Path, sandbox: Sandbox, policy: ScriptedPolicy
) -> None:
    config = config_of("fixed", tmp_path, pool={"rotate_every": 1, "max_epochs": 1})
    with begin(tmp_path, sandbox, config, policy) as run:
        summaries = advance(run)
        assert [summary.step for summary in summaries] == [1, 2, 3]
        assert {request.role for request in policy.requests} == {"solver"}
        assert all(group.role == "solver" for groups in policy.groups for group in groups)
        assert [len(groups) for groups in policy.groups] == [4, 4, 4]
        assert {item[2] for step in (1, 2, 3) for item in run.store.requests(step, "solve").values()} == {1}
        assert summaries[-1].metrics["pool/active"] == 2
        sampled = sum(group.samples[0].tokens for group in policy.groups[0])
        assert summaries[0].metrics["tokens/sampled"] >= sampled > 0
        assert tokens_spent(run.store) == sum(summary.metrics["tokens/sampled"] for summary in summaries)


@pytest.mark.parametrize(("wrong", "level", "counted"), [(3, 1, (0, 0)), (4, 0, (0, 0))])
def test_rlve_raises_the_level_when_nine_tenths_of_eight_groups_are_right(
    tmp_path: Path, sandbox: Sandbox, wrong: int, level: int, counted: tuple[int, int]
) -> None:
    """32 samples at the top level in two steps: 29 right are 90.6%, 28 are 87.5%."""
    seen: list[str] = []

    def mostly_right(request: Request, index: int) -> str:
        seen.append(request.id)
        first = int(re.search(r"counting from (\d+)", request.messages[-1].content)[1])  # type: ignore[index]
        numbers = re.search(r"Numbers: ([\d ]+)\.", request.messages[-1].content)[1].split()  # type: ignore[index]
        right = sum((position + first) * int(number) for position, number in enumerate(numbers))
        return f"<answer>{right + (len(seen) <= wrong)}</answer>"

    config = config_of("rlve", tmp_path)
    with begin(tmp_path, sandbox, config, ScriptedPolicy(mostly_right), originals=1) as run:
        advance(run, steps=1)
        (member,) = run.store.pool().members.values()
        assert (member.difficulty.level, member.difficulty.right, member.difficulty.total) == (0, 16 - wrong, 16)
        summary = advance(run, steps=1)[0]
        (member,) = run.store.pool().members.values()
        assert (member.difficulty.level, member.difficulty.right, member.difficulty.total) == (level, *counted)
        assert summary.metrics["levels/mean"] == level
        advance(run, steps=1)
        drawn = {item[2] for item in run.store.requests(3, "solve").values()}
        assert drawn <= set(range(level + 1))


def test_untrained_samples_and_learns_nothing(tmp_path: Path, sandbox: Sandbox, policy: ScriptedPolicy) -> None:
    with begin(tmp_path, sandbox, config_of("untrained", tmp_path), policy) as run:
        summaries = advance(run)
    assert len(summaries) == 3
    assert not policy.requests
    assert not policy.groups
    assert summaries[-1].metrics["tokens/sampled"] == 0


# --------------------------------------------------------------------------- dapo


def test_dapo_fills_the_batch_with_groups_that_have_a_signal_and_shapes_their_rewards(
    tmp_path: Path, sandbox: Sandbox, policy: ScriptedPolicy
) -> None:
    kinds = ["long", "mixed", "easy", "hard"]
    problems = write_problems(tmp_path / "p.jsonl", kinds)
    config = config_of(
        "dapo",
        tmp_path,
        curriculum={"problems": problems, "overlong_share": 0.5},
        solver={"prompts": 2, "responses_per_prompt": 2, "max_tokens": 64},
        run={"steps": 2},
    )
    with begin(tmp_path, sandbox, config, policy) as run:
        first, second = advance(run)
    # one pass over the four problems: the two that have a signal, found in one or two batches of two
    assert first.metrics["dapo/informative"] == 2
    assert first.metrics["dapo/batches"] <= 2
    used = first.metrics["dapo/batches"] * 2
    assert Store.read(tmp_path / "run").stage_data(1, "solved")["cursor"] == used
    assert second.metrics["solver/zero_variance"] <= 0.75
    rewards = {group.samples[0].text[-12:-9]: group.rewards for group in policy.groups[0]}
    assert len(rewards) == 2
    # "<answer>1</answer>" has 18 bytes; the long right answer 58 of 64, 26 into a buffer of 32
    assert sorted(tuple(sorted(values)) for values in rewards.values()) == [(-1.0, 1 - 26 / 32), (-1.0, 1.0)]


def test_dapo_gives_up_after_so_many_batches_and_trains_on_what_there_is(
    tmp_path: Path, sandbox: Sandbox, policy: ScriptedPolicy, caplog: pytest.LogCaptureFixture
) -> None:
    problems = write_problems(tmp_path / "p.jsonl", ["easy", "hard", "mixed", "easy", "hard", "easy"])
    config = config_of(
        "dapo",
        tmp_path,
        curriculum={"problems": problems},
        solver={"prompts": 2, "responses_per_prompt": 2},
        run={"steps": 1},
    )
    with begin(tmp_path, sandbox, config, policy) as run, caplog.at_level("WARNING"):
        (summary,) = advance(run)
    assert summary.metrics["dapo/batches"] == 3
    assert summary.metrics["dapo/informative"] == 1
    assert summary.metrics["solver/zero_variance"] == pytest.approx(5 / 6)
    assert summary.metrics["solver/right"] == pytest.approx((3 * 2 + 1) / 12)
    assert [len(groups) for groups in policy.groups] == [1]
    assert "1 of 2 groups have a signal after 3 batches" in caplog.text


def test_dapo_oversamples_and_trains_on_no_more_than_a_step_holds(
    tmp_path: Path, sandbox: Sandbox, policy: ScriptedPolicy
) -> None:
    config = config_of(
        "dapo",
        tmp_path,
        curriculum={"problems": write_problems(tmp_path / "p.jsonl", ["mixed"] * 9), "oversampling": 3},
        solver={"prompts": 2, "responses_per_prompt": 2},
        run={"steps": 1},
    )
    with begin(tmp_path, sandbox, config, policy) as run:
        (summary,) = advance(run)
        assert len(run.store.requests(1, "solve")) == 6
    assert summary.metrics["dapo/informative"] == 6
    assert [len(groups) for groups in policy.groups] == [2]


def test_dapo_grades_mathematics_as_the_evaluation_does(tmp_path: Path, sandbox: Sandbox) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"problem": "Simplify the root of twelve.", "answer": "2\\sqrt{3}"}) + "\n")
    said = ["\\sqrt{12}", "2 \\cdot 3^{1/2}", "\\sqrt{13}", "12"]
    policy = ScriptedPolicy(lambda request, index: f"<answer>{said[index]}</answer>")
    config = config_of(
        "dapo",
        tmp_path,
        curriculum={"problems": str(path)},
        solver={"prompts": 1, "responses_per_prompt": 4},
        run={"steps": 1},
    )
    with begin(tmp_path, sandbox, config, policy) as run:
        advance(run)
        scores = run.store.scores(1, "solve")
    assert [score.value for _, score in sorted(scores.items())] == [1.0, 1.0, 0.0, 0.0]


def test_a_text_may_hold_line_ends_that_are_none_in_json(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(
        '{"problem": "one\u2028two\x85three", "answer": "3"}\r\n{"problem": "four", "answer": "4"}\n', "utf-8"
    )
    assert [one.text for one in read_problems(path, "problem", "answer")] == ["one\u2028two\x85three", "four"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no problems"),
        ("{", ":1: not JSON"),
        ('{"question": "a", "answer": 1}', "no text or number under 'problem' \\(it has: answer, question\\)"),
        ('{"problem": "a", "answer": " "}', "curriculum.answer_field"),
        ('{"problem": "a", "answer": true}', "no text or number under 'answer'"),
        ("[1]", "it has: list"),
        (None, "cannot read the problems"),
    ],
)
def test_a_file_of_problems_that_cannot_be_used_is_refused_before_a_run(
    tmp_path: Path, text: str | None, words: str
) -> None:
    path = tmp_path / "p.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=words):
        check_curriculum(configuration(curriculum={"name": "dapo", "problems": str(path)}))


# --------------------------------------------------------------------------- r-zero


def test_r_zero_rewards_the_challenger_filters_by_votes_and_trains_both_roles(
    tmp_path: Path, sandbox: Sandbox, policy: ScriptedPolicy
) -> None:
    with begin(tmp_path, sandbox, config_of("r-zero", tmp_path, run={"steps": 1}), policy) as run:
        (summary,) = advance(run)
        decisions = {item.question_id.partition(".")[2]: item for item in run.store.question_decisions(1)}
        shares = {name.partition(".")[2]: item.share for name, item in run.store.votes(1).items()}
        assert [question.response for question in run.store.questions(1)][1:] == [
            "<question>How many legs have five spiders in all together?</question>",
            "<question>Name the smallest prime above ninety</question>",
            "no idea",
        ]
        assert run.store.candidates(1) == run.store.decisions(1) == []
    # of four questions the two about spiders are one cluster: B = 4, |C| = 2
    assert shares == {"g000.c00": 0.5, "g000.c01": 1.0, "g001.c00": 0.25}
    assert {name: (item.reward, item.reason) for name, item in decisions.items()} == {
        "g000.c00": (pytest.approx(1 - 0 - 2 / 4), "admitted"),
        "g000.c01": (0.0, "too-easy"),  # 1 − 1 − 1/2 < 0
        "g001.c00": (pytest.approx(1 - 0.5 - 1 / 4), "admitted"),
        "g001.c01": (0.0, "malformed"),
    }
    assert summary.metrics["generator/reward"] == pytest.approx((0.5 + 0.25) / 4)
    assert [summary.metrics[f"fate/{name}"] for name in ("admitted", "malformed", "too-hard", "too-easy")] == [
        2,
        1,
        0,
        1,
    ]
    trained = {group.id.partition(".")[2]: (group.role, group.rewards) for group in policy.groups[0]}
    assert trained["g000"] == ("generator", (pytest.approx(0.5), 0.0))
    assert trained["g001"] == ("generator", (pytest.approx(0.25), 0.0))
    # right, no answer, wrong, wrong: 0.9·accuracy + 0.1·format; the label of both is 7
    assert trained["solve.00000"] == ("solver", (1.0, 0.0, pytest.approx(0.1), pytest.approx(0.1)))
    assert len(trained) == 4
    assert summary.metrics["solver/right"] == pytest.approx(0.25)


def test_r_zero_draws_lots_where_more_questions_are_kept_than_a_step_holds(
    tmp_path: Path, sandbox: Sandbox, policy: ScriptedPolicy
) -> None:
    config = config_of("r-zero", tmp_path, run={"steps": 1}, solver={"prompts": 1})
    with begin(tmp_path, sandbox, config, policy) as run:
        advance(run)
    assert sum(group.role == "solver" for group in policy.groups[0]) == 1


# --------------------------------------------------------------------------- stops and limits


@pytest.mark.parametrize("name", ["fixed", "rlve", "dapo", "r-zero"])
def test_a_stopped_curriculum_continues_as_if_nothing_had_been(tmp_path: Path, sandbox: Sandbox, name: str) -> None:
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    for place in (calm, stormy):
        place.mkdir()
    with begin(calm, sandbox, config_of(name, tmp_path), ScriptedPolicy(answer)) as run:
        advance(run)
    config: Config | None = config_of(name, tmp_path)
    faults = [Fault(at, on) for on, at in (("sample", 3), ("sample", 11), ("update", 0), ("save", 0), ("sample", 20))]
    for fault in faults:
        with begin(stormy, sandbox, config, ScriptedPolicy(answer, faults=[fault])) as run:
            config = None
            with pytest.raises(PolicyError, match="scripted fault"):
                advance(run)
    with begin(stormy, sandbox, None, ScriptedPolicy(answer)) as run:
        advance(run)
    assert contents(stormy / "run") == contents(calm / "run")


@pytest.mark.parametrize("name", ["fixed", "rlve", "dapo", "r-zero"])
def test_updates_since_the_last_checkpoint_are_computed_again_from_what_is_stored(
    tmp_path: Path, sandbox: Sandbox, name: str
) -> None:
    config = config_of(name, tmp_path, run={"steps": 9, "checkpoint_every": 2})
    first, second = ScriptedPolicy(answer), ScriptedPolicy(answer)
    with begin(tmp_path, sandbox, config, first) as run:
        advance(run, steps=3)
    with begin(tmp_path, sandbox, None, second):
        pass
    assert (second.step, second.digest) == (3, first.digest)
    assert [group.rewards for group in second.groups[-1]] == [group.rewards for group in first.groups[-1]]


def test_a_run_stops_after_the_step_in_which_its_tokens_are_used_up(
    tmp_path: Path, sandbox: Sandbox, policy: ScriptedPolicy
) -> None:
    with begin(
        tmp_path, sandbox, config_of("fixed", tmp_path, run={"tokens": 1, "checkpoint_every": 50}), policy
    ) as run:
        assert len(advance(run)) == 1
        assert advance(run) == []
        assert run.store.last_checkpoint() == (1, "step-00001")
        assert tokens_spent(run.store) > 1


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"curriculum": {"name": "rlve"}}, "defined by 'adaptive'"),
        ({"curriculum": {"name": "fixed"}, "solver": {"difficulty_rule": "adaptive"}}, "defined by 'fixed'"),
        ({"curriculum": {"name": "dapo"}}, "curriculum.problems=FILE.jsonl"),
        ({"curriculum": {"environments": "/nowhere"}}, "there is no '/nowhere'"),
        ({"curriculum": {"environments": "corpus:test"}}, "the corpus has no split 'test'"),
        ({"curriculum": {"environments": "corpus:train:0"}}, "expected 1 to 99999 of them"),
        ({"curriculum": {"environments": str(Path(__file__).parents[2] / "configs")}}, "no environment file"),
    ],
)
def test_a_curriculum_that_cannot_be_itself_is_refused(section: dict[str, dict[str, str]], words: str) -> None:
    with pytest.raises((ConfigError, InputError), match=words) as refusal:
        check_curriculum(configuration(**section))
    assert isinstance(refusal.value, EvoEnvError)
    assert refusal.value.exit_code == 2
