"""Whole iterations with known candidates: every fate is taken, every reward is worked out by hand."""

from __future__ import annotations

import pytest
from loop_support import ORIGINALS, SOURCES, configuration, open_run, respond

from evoenv.engines.scripted import ScriptedPolicy
from evoenv.evolve import evolve
from evoenv.models.embedder import HashingEmbedder
from evoenv.prompts.generator import form_shown
from evoenv.records import environment_id
from evoenv.run import advance, create, prepare, reopen
from evoenv.stages.synthesis import generator_requests
from evoenv.store.store import Store

pytestmark = pytest.mark.sandbox

# Step 1. In-batch similarities of the ten that are embedded (ℓ ≥ 2): fresh and twin 1, constant and lenient .8,
# wrong and hard .6, the other four 0; mean .48. s̄ = .6·.5 + .4·.48 = .492, γ = 2 + 3·(.492 − .45)/.2 = 2.63.
GAMMA = 2.63
OVER_BATCH = configuration(novelty={"repetition_over": "batch"})
"""γ moves within a step: more to work out by hand."""
Q = {0.0: 0.3246525, 0.25: 0.9692332, 0.5: 0.6065307, 0.75: 0.0795595, 1.0: 0.0021875}

FIRST = {
    # candidate: (layer, reward, fate)
    "g000.c00": (0, -1.0, "layer"),  # no code in the response
    "g000.c01": (0, -1.0, "layer"),  # does not parse
    "g000.c02": (0, -1.0, "layer"),  # imports os
    "g000.c03": (1, -0.5, "layer"),  # divides by zero
    "g000.c04": (2, -0.25 + GAMMA, "layer"),  # not deterministic; N = 1
    "g000.c05": (3, GAMMA, "layer"),  # constant answer; N = 1
    "g000.c06": (4, GAMMA, "layer"),  # rewards everything; N = 1
    "g001.c00": (5, Q[0.5] + GAMMA, "review"),
    "g001.c01": (5, Q[0.0] + GAMMA, "too-hard"),
    "g001.c02": (5, Q[1.0] + GAMMA, "too-easy"),
    "g001.c03": (5, Q[0.5], "gate"),  # the first original again: N = 0
    "g001.c04": (5, Q[0.25] + GAMMA, "admitted"),
    "g001.c05": (5, Q[0.5] + GAMMA, "batch-duplicate"),
    "g001.c06": (5, Q[0.75] + GAMMA, "admitted"),
}


def fates(run, step):
    return {d.candidate_id.partition(".")[2]: (d.layer, d.reward, d.reason) for d in run.store.decisions(step)}


def names(run, ids):
    return {record.name for record in run.store.environments() if record.id in set(ids)}


@pytest.fixture(scope="module")
def two_steps(tmp_path_factory, sandbox):
    run, policy = open_run(tmp_path_factory.mktemp("evolve") / "run", sandbox, OVER_BATCH)
    summaries = [evolve(run, step) for step in (1, 2)]
    yield run, policy, summaries
    run.store.close()


@pytest.fixture
def run(two_steps):
    return two_steps[0]


def test_the_first_iteration_gives_the_rewards_and_fates_of_the_table(two_steps):
    run, _, (summary, _) = two_steps
    found = fates(run, 1)
    assert {name: (layer, fate) for name, (layer, _, fate) in found.items()} == {
        name: (layer, fate) for name, (layer, _, fate) in FIRST.items()
    }
    for name, (_, reward, _) in FIRST.items():
        assert found[name][1] == pytest.approx(reward, abs=1e-6), name
    metrics = summary.metrics
    assert metrics["novelty/repetition"] == pytest.approx(0.492, abs=1e-6)
    assert metrics["novelty/gamma"] == pytest.approx(GAMMA, abs=1e-6)
    assert [metrics[f"funnel/l{layer}"] for layer in range(1, 6)] == [11, 10, 9, 8, 7]
    assert metrics["calibration/pass_rate"] == pytest.approx((0.5 + 0 + 1 + 0.5 + 0.25 + 0.5 + 0.75) / 7)
    assert metrics["fate/admitted"] == 2
    assert metrics["generator/reward"] == pytest.approx(sum(reward for _, reward, _ in FIRST.values()) / 14, abs=1e-6)
    # each group of four has one or two right: (index + request) % 3 == 0
    assert metrics["solver/zero_variance"] == 0
    assert metrics["solver/score"] == pytest.approx(8 / 24)
    assert names(run, run.store.stage_data(1, "rotated")["entered"]) == {"Fresh", "Second"}


def test_everything_about_a_candidate_is_on_record(run):
    store = run.store
    candidate = next(item for item in store.candidates(1) if item.id.endswith("g001.c00"))
    assert candidate.source == SOURCES["wrong"].strip()
    assert candidate.response.startswith("Here it is.")
    assert set(candidate.parents) <= {environment_id(source) for source in ORIGINALS.values()}
    assert len(candidate.parents) == 2
    assert [review.verdict for review in store.reviews(1)[candidate.id]] == ["reject"] * 3
    assert store.calibrations(1)[candidate.id].scores == (1.0, 1.0, 0.0, 0.0)
    assert store.novelties(1)[candidate.id].similarity == 0.0
    assert "counting from 2" in store.request_messages(f"{candidate.id}.calibrate.00")[0].content
    codes = {finding.code for finding in store.reports(1)["s00001.g000.c03"].findings}
    assert codes == {"L2.raises"}


def test_the_second_iteration_knows_what_the_first_admitted(run):
    found = fates(run, 2)
    # embedded: fresh, constant, third, second, all orthogonal: mean 0, s̄ = .6·.492 = .2952, γ = 2
    assert found["g000.c00"] == (5, pytest.approx(Q[0.25], abs=1e-6), "gate")  # the very source that is in the pool
    assert found["g001.c04"] == (5, pytest.approx(Q[0.75], abs=1e-6), "gate")
    assert found["g001.c01"] == (5, pytest.approx(Q[0.5] + 2, abs=1e-6), "admitted")
    assert found["g000.c03"] == (3, pytest.approx(2.0), "layer")
    assert run.store.metrics(2)["novelty/repetition"] == pytest.approx(0.2952, abs=1e-6)


def test_repetition_follows_the_admitted_and_counts_from_the_next_step_on(tmp_path, sandbox):
    run, _ = open_run(tmp_path / "run", sandbox)
    first, second = (evolve(run, step).metrics for step in (1, 2))
    # step 1: γ of s̄₀ = .5 is 2 + 3·(.5 − .45)/.2 = 2.75; two are admitted that share nothing: s̄ = .6·.5 + .4·0
    assert (first["fate/admitted"], first["novelty/gamma"]) == (2, pytest.approx(2.75))
    assert first["novelty/repetition"] == pytest.approx(0.3)
    # step 2: γ of .3 is 2; one alone says nothing about repetition
    assert (second["fate/admitted"], second["novelty/gamma"]) == (1, pytest.approx(2.0))
    assert second["novelty/repetition"] == pytest.approx(0.3)
    run.store.close()


def test_with_novelty_first_nobody_is_asked_to_review_what_the_gate_refuses(tmp_path, sandbox, two_steps):
    config = configuration(novelty={"repetition_over": "batch", "first": True})
    run, policy = open_run(tmp_path / "run", sandbox, config)
    for step in (1, 2):
        evolve(run, step)
        assert fates(run, step) == fates(two_steps[0], step)  # rewards need â, and it is still found
    assert policy.groups == two_steps[1].groups
    gated = {
        decision.candidate_id for step in (1, 2) for decision in run.store.decisions(step) if decision.reason == "gate"
    }
    assert len(gated) == 3
    reviewed = {name for step in (1, 2) for name, reviews in two_steps[0].store.reviews(step).items() if reviews}
    spared = {name for step in (1, 2) for name, reviews in run.store.reviews(step).items() if reviews}
    assert spared == reviewed - gated
    run.store.close()


def test_with_gated_rewards_novelty_first_spares_the_calibration_in_training_too(tmp_path, sandbox, two_steps):
    config = configuration(novelty={"repetition_over": "batch", "first": True}, generator={"reward": "gated"})
    run, policy = open_run(tmp_path / "run", sandbox, config)
    for step in (1, 2):
        evolve(run, step)
        plainly = fates(two_steps[0], step)
        assert {name: fate for name, (_, _, fate) in fates(run, step).items()} == {
            name: fate for name, (_, _, fate) in plainly.items()
        }
        for name, (layer, reward, fate) in fates(run, step).items():
            paid = fate in ("admitted", "batch-duplicate", "review")
            assert reward == pytest.approx(plainly[name][1] if paid else -0.5, abs=1e-6), (name, layer, fate)
    assert not [
        request.id for request in policy.requests if "s00001.g001.c03" in request.id
    ]  # the first original again
    run.store.close()


def test_in_synthesis_novelty_first_spares_the_calibration_too(tmp_path, sandbox):
    run, policy = open_run(tmp_path / "run", sandbox, configuration(novelty={"first": True}), training=False)
    advance(run, 1)
    assert {name: (layer, fate) for name, (layer, _, fate) in fates(run, 1).items()} == {
        name: (layer, fate) for name, (layer, _, fate) in FIRST.items()
    }
    about = [request.id for request in policy.requests if "g001.c03" in request.id]
    assert about == []  # the first original again
    assert "s00001.g001.c03" not in run.store.calibrations(1)
    run.store.close()


def test_both_roles_reach_the_update_with_their_rewards_and_never_mix(two_steps):
    groups, _ = two_steps[1].groups
    assert [group.role for group in groups] == ["generator"] * 2 + ["solver"] * 6
    assert [len(group.samples) for group in groups] == [7] * 2 + [4] * 6
    assert groups[1].rewards == pytest.approx([FIRST[f"g001.c{index:02d}"][1] for index in range(7)], abs=1e-6)
    assert set(groups[2].rewards) == {0.0, 1.0}
    for group in groups:
        assert all(
            sample.rollout.token_ids and sample.tokens == len(sample.rollout.logprobs) for sample in group.samples
        )
        assert {sample.request_id for sample in group.samples} == {group.id}


@pytest.mark.slow
def test_solver_groups_draw_from_the_pool_and_the_just_admitted(tmp_path, sandbox):
    run, _ = open_run(tmp_path / "run", sandbox, configuration(solver={"prompts": 24}))
    evolve(run, 1)
    drawn = {subject for subject, _, _ in run.store.requests(1, "solve").values()}
    assert names(run, drawn) == {"FirstSeed", "SecondSeed", "Fresh", "Second"}
    run.store.close()


def test_each_prompt_names_topics_of_its_own(tmp_path, sandbox):
    run, _ = open_run(tmp_path / "run", sandbox, configuration(generator={"prompts": 3, "topics": 2}))
    with run:
        asked, _ = generator_requests(run, 1, run.store.pool())
        again, _ = generator_requests(run, 1, run.store.pool())
    named = [item.request.messages[0].content.rsplit("about ", 1)[1].split(".")[0] for item in asked]
    assert all(len(topics.split(" and ")) == 2 for topics in named)
    assert len(set(named)) == 3
    assert asked == again


def test_a_copy_of_the_form_that_the_guided_prompt_shows_is_nothing_new(tmp_path, sandbox):
    form = form_shown("guided")
    assert form is not None
    assert form_shown("short") is None
    config = configuration(generator={"prompt": "guided", "prompts": 1, "candidates_per_prompt": 2})

    def copying(request, index):
        if request.role != "generator":
            return "<answer>3</answer> VERDICT: ACCEPT"
        return f"```python\n{form if index else form.replace('LargerNumbers', 'Another')}\n```"

    for _ in range(2):  # and again when the run is opened again
        store, config = reopen(tmp_path) if Store.begun(tmp_path) else create(tmp_path, config)
        policy = ScriptedPolicy(copying, checkpoints=tmp_path / "checkpoints")
        with prepare(store, config, policy, sandbox, HashingEmbedder(), originals=ORIGINALS) as run:
            step = run.store.last_step() + 1
            evolve(run, step)
            found = run.store.novelties(step)
        assert [round(item.similarity, 6) for item in found.values()] == [1.0, 1.0]
        assert {item.nearest for item in found.values()} == {environment_id(form)}


@pytest.mark.parametrize(
    "verdict",
    ["VERDICT: REJECT", *(pytest.param(v, marks=pytest.mark.slow) for v in ("VERDICT: ACCEPT", "no verdict"))],
)
def test_flipping_every_verdict_changes_no_reward(tmp_path, sandbox, verdict):
    def reviewed(request, index):
        return verdict if request.role == "reviewer" else respond(request, index)

    run, policy = open_run(tmp_path / "run", sandbox, OVER_BATCH, policy=ScriptedPolicy(reviewed))
    evolve(run, 1)
    found = fates(run, 1)
    run.store.close()
    for name, (_, reward, _) in FIRST.items():
        assert found[name][1] == pytest.approx(reward, abs=1e-6), name
    assert policy.groups[0][1].rewards == pytest.approx([FIRST[f"g001.c{i:02d}"][1] for i in range(7)], abs=1e-6)
    reasons = {name: reason for name, (_, _, reason) in found.items()}
    assert reasons["g001.c00"] == ("admitted" if verdict == "VERDICT: ACCEPT" else "review")
    assert reasons["g001.c04"] == ("admitted" if verdict == "VERDICT: ACCEPT" else "review")


def test_used_environments_retire_and_become_examples(run):
    assert run.store.stage_data(1, "rotated")["retired"] == []
    retired = run.store.stage_data(2, "rotated")["retired"]
    due = {record.id for record in run.store.environments() if record.epochs >= 2}
    assert set(retired) <= due
    assert names(run, retired) == {"Fresh", "Second"}
    pool = run.store.pool()
    assert set(retired) <= set(pool.few_shot)
    assert not set(retired) & set(pool.active)


@pytest.mark.slow
def test_an_original_stays_at_the_floor(tmp_path, sandbox):
    # After step 1 the pool has two originals and two generated; three of the four were sampled and are due.
    pool = {"rotate_every": 1, "max_epochs": 1, "original_floor": 0.6}
    run, _ = open_run(tmp_path / "run", sandbox, configuration(pool=pool, run={"seed": 3}))
    evolve(run, 1)
    records = {record.name: record for record in run.store.environments()}
    sampled = {name for name, record in records.items() if record.epochs}
    assert {"FirstSeed", "SecondSeed"} < sampled
    (left,) = sampled - {"FirstSeed", "SecondSeed"}
    # the due generated one leaves; either original would leave 1 of 2 = .5 behind
    assert run.store.stage_data(1, "rotated")["retired"] == [records[left].id]
    assert run.store.metrics(1)["pool/original_share"] == pytest.approx(2 / 3)
    run.store.close()


@pytest.mark.slow
def test_adaptive_difficulty_starts_at_zero_and_is_kept(tmp_path, sandbox):
    def always_right(request, index):
        if request.role == "solver" and ".solve." in request.id:
            return respond(type(request)(**{f: getattr(request, f) for f in request.__slots__} | {"id": "x0"}), 0)
        return respond(request, index)

    config = configuration(solver={"difficulty_rule": "adaptive", "prompts": 80, "responses_per_prompt": 2})
    run, _ = open_run(tmp_path / "run", sandbox, config, ScriptedPolicy(always_right))
    evolve(run, 1)
    assert {level for _, _, level in run.store.requests(1, "calibrate").values()} == {0}
    assert {level for _, _, level in run.store.requests(1, "solve").values()} == {0}
    # 80 groups over four environments: at least 8·2 samples each, all right, so every level rises by one
    assert {member.difficulty.level for member in run.store.pool().members.values()} == {1}
    run.store.close()
