"""The packaged fake: deterministic answers, faults on demand, state that survives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evoenv.config import TrainingConfig
from evoenv.engines.scripted import Fault, RecordingPolicy, ScriptedPolicy
from evoenv.errors import InputError, PolicyError
from evoenv.objective import Batch, build_batch
from evoenv.ports import Policy
from evoenv.records import Group, Message, Request, Role, Sample


def ask(id: str, role: Role = "solver", **settings: object) -> Request:
    return Request(id=id, role=role, messages=(Message("user", id),), **settings)  # type: ignore[arg-type]


def texts(policy: Policy, *requests: Request) -> list[str]:
    return [sample.text for sample in policy.sample(requests)]


def batch(*rewards: float) -> Batch:
    """A group of one sample for each reward."""
    groups = [Group("g", "solver", (Sample("r", 0, "x"),), (reward,)) for reward in rewards]
    return build_batch(groups, TrainingConfig())


def test_each_role_has_its_script_as_text_cycle_or_function() -> None:
    policy = ScriptedPolicy(
        {"generator": ["a", "b"], "solver": "four", "reviewer": lambda request, index: f"{request.id}/{index}"}
    )
    assert isinstance(policy, Policy)
    assert texts(policy, ask("g", "generator", count=3)) == ["a", "b", "a"]
    assert texts(policy, ask("s", count=2), ask("r", "reviewer", count=2)) == ["four", "four", "r/0", "r/1"]
    assert [request.id for request in policy.requests] == ["g", "s", "r"]


def test_samples_look_like_those_of_a_byte_model() -> None:
    (sample,) = ScriptedPolicy({"solver": "añ"}).sample([ask("r", temperature=0.5, trains=True)])
    assert list(sample.rollout.token_ids) == [97, 195, 177]
    assert len(sample.rollout.logprobs) == 3
    assert (sample.finish_reason, sample.rollout.temperature) == ("stop", 0.5)
    assert bytes(list(sample.rollout.prompt_ids)) == b"r"


def test_limits_and_stop_strings_cut() -> None:
    policy = ScriptedPolicy({"solver": "one</answer>two"})
    (stopped,) = policy.sample([ask("a", stop=("</answer>",))])
    (limited,) = policy.sample([ask("b", max_tokens=2)])
    assert (stopped.text, stopped.finish_reason) == ("one", "stop")
    assert (limited.text, limited.finish_reason) == ("on", "length")


def test_unscripted_and_unknown_roles_are_named() -> None:
    with pytest.raises(PolicyError, match="nothing scripted for role 'solver'"):
        texts(ScriptedPolicy({"generator": "x"}), ask("r"))
    with pytest.raises(InputError, match="unknown roles"):
        ScriptedPolicy({"solvr": "x"})  # type: ignore[dict-item]


def test_updates_count_and_their_order_shows_in_the_digest() -> None:
    first, second = ScriptedPolicy({}), ScriptedPolicy({})
    assert first.update(batch(1.0)) == {"update/step": 1.0, "update/groups": 1.0, "update/mean_reward": 1.0}
    first.update(batch(0.0))
    second.update(batch(0.0))
    second.update(batch(1.0))
    assert first.step == second.step == 2
    assert first.digest != second.digest
    with pytest.raises(PolicyError, match="trainable=False"):
        ScriptedPolicy({}, trainable=False).update(batch())


def test_a_loaded_policy_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    script: dict[Role, list[str]] = {"generator": ["a", "b", "c"]}
    whole, before, after = ScriptedPolicy(script), ScriptedPolicy(script), ScriptedPolicy(script)
    for policy in (whole, before):
        assert texts(policy, ask("g", "generator")) == ["a"]
        policy.update(batch(1.0))
    before.checkpoints = after.checkpoints = tmp_path
    after.load(before.save())
    for policy in (whole, after):
        assert texts(policy, ask("g", "generator")) == ["b"]
        policy.update(batch(0.5))
    assert (after.step, after.digest) == (whole.step, whole.digest)


def test_loading_what_is_not_there_or_damaged_is_a_clear_error(tmp_path: Path) -> None:
    for directory in (None, tmp_path):
        with pytest.raises(PolicyError, match="cannot load"):
            ScriptedPolicy({}, checkpoints=directory).load("step-00001")
    (tmp_path / "step-00001").mkdir()
    (tmp_path / "step-00001" / "scripted.json").write_text("{}")
    with pytest.raises(PolicyError, match="not a scripted policy's state"):
        ScriptedPolicy({}, checkpoints=tmp_path).load("step-00001")


def test_faults_strike_at_their_call() -> None:
    policy = ScriptedPolicy({"solver": "x"}, faults=[Fault(2), Fault(1, on="update")])
    stream = policy.sample([ask("r", count=4)])
    assert [next(stream).index, next(stream).index] == [0, 1]
    with pytest.raises(PolicyError, match="scripted fault at sample call 2"):
        next(stream)
    policy.update(batch())
    with pytest.raises(PolicyError, match="update call 1"):
        policy.update(batch())


def test_a_kill_while_saving_leaves_the_old_state_whole(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from evoenv.engines.scripted import Fault, ScriptedPolicy
from evoenv.objective import Batch
policy = ScriptedPolicy({{}}, faults=[Fault(1, on="save", kind="kill")], checkpoints=Path({str(tmp_path)!r}))
policy.update(Batch((), (), {{}}))
for _ in range(2):
    policy.save()
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    policy = ScriptedPolicy({}, checkpoints=tmp_path)
    policy.load("step-00001")
    assert policy.step == 1


def test_a_recorded_run_plays_again(tmp_path: Path) -> None:
    path = tmp_path / "run" / "transcript.jsonl"
    recorder = RecordingPolicy(ScriptedPolicy({"solver": ["ä\n1", "2"]}), path)
    requests = [ask("r", count=2)]
    recorded = texts(recorder, *requests)
    recorder.close()
    assert recorder.trainable
    replay = ScriptedPolicy.from_transcript(path)
    assert texts(replay, *requests) == recorded == ["ä\n1", "2"]
    with pytest.raises(PolicyError, match="no answer 0 to request 'other'"):
        texts(replay, ask("other"))


def test_a_damaged_transcript_is_named_by_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"request_id": "a", "index": 0, "text": "x"}\n{"request_id": "b"}\n')
    with pytest.raises(InputError, match=r"t\.jsonl:2: not a transcript line"):
        ScriptedPolicy.from_transcript(path)
    with pytest.raises(InputError, match="cannot read the transcript"):
        ScriptedPolicy.from_transcript(tmp_path / "none.jsonl")
