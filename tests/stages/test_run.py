"""Beginning, stopping and taking up a run, short of killing it."""

from __future__ import annotations

import tomllib
from contextlib import nullcontext

import pytest
from loop_support import ORIGINALS, TableEmbedder, configuration, contents, open_run, respond

from evoenv.config import load_config
from evoenv.engines.scripted import Fault, ScriptedPolicy
from evoenv.errors import BudgetExhausted, ConfigError, InputError, PolicyError, StoreError
from evoenv.models.embedder import HashingEmbedder
from evoenv.records import environment_id
from evoenv.run import (
    advance,
    check_context,
    check_trainable,
    config_toml,
    create,
    prepare,
    reopen,
    versions,
)
from evoenv.store.store import EnvironmentRecord, Store

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, sandbox):
    directory = tmp_path_factory.mktemp("undisturbed") / "run"
    run, _ = open_run(directory, sandbox)
    advance(run)
    run.store.close()
    return contents(directory)


def finish(directory, sandbox):
    run, _ = open_run(directory, sandbox)
    advance(run)
    run.store.close()
    return contents(directory)


def test_the_resolved_configuration_is_written_and_reads_back(tmp_path):
    config = configuration(run={"writers": ["tensorboard"]}, training={"kl": 0.5})
    create(tmp_path / "run", config)[0].close()
    text = (tmp_path / "run" / "config.toml").read_text()
    assert load_config(tomllib.loads(text)) == config
    assert config_toml(config) == text


def test_a_run_records_the_prompts_that_it_uses():
    def prompts(**sections):
        return versions(configuration(**sections))["prompts"]

    assert prompts() == "generator_v1, review_v2, solver_v1"
    assert prompts(generator={"prompt": "short"}, review={"enabled": False}) == "generator_short_v1, solver_v1"
    assert prompts(curriculum={"name": "fixed"}) == "solver_v1"
    assert prompts(curriculum={"name": "r-zero"}) == "challenger_v1, solver_v1"
    assert prompts(curriculum={"name": "untrained"}) == ""


def test_a_run_begun_before_repetition_was_a_setting_goes_on_as_it_began(tmp_path):
    store, _ = create(tmp_path, configuration())
    mapping = store.meta("config")
    del mapping["novelty"]["repetition_over"]
    store.set_meta("config", mapping)
    store.close()
    (tmp_path / "config.toml").unlink()
    store, config = reopen(tmp_path)
    store.close()
    assert config.novelty.repetition_over == "batch"


def test_a_resumed_run_may_take_more_steps_but_not_become_another_experiment(tmp_path):
    directory = tmp_path / "run"
    create(directory, configuration())[0].close()
    store, config = reopen(directory, ["run.steps=9"])
    assert config.run.steps == 9
    assert store.events()[-1][3:] == ("config-changed", {"run.steps": [4, 9]})
    store.close()
    with pytest.raises(ConfigError, match=r"cannot change training\.kl.*new run"):
        reopen(directory, ["training.kl=0.5"])
    path = directory / "config.toml"
    path.write_text(path.read_text().replace("gate = 0.8", "gate = 0.9"))
    with pytest.raises(ConfigError, match=r"cannot change novelty\.gate"):
        reopen(directory)
    path.unlink()
    store, config = reopen(directory)
    assert config.run.steps == 9
    store.close()


def test_a_schedule_is_made_for_the_steps_that_the_run_began_with(tmp_path, caplog):
    directory = tmp_path / "run"
    create(directory, configuration(training={"schedule": "linear"}))[0].close()
    store, config = reopen(directory, ["run.steps=9"])
    store.close()
    assert config.training.schedule_steps == 4  # updates that are replayed have the rates that they had
    assert "the learning rate is 0 after step 4" in caplog.text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"run": {"candidates": 100}}, "run.candidates is 100: it ends an `evoenv synth`"),
        ({"curriculum": {"name": "untrained"}, "run": {"tokens_at_least": 1}}, "would never get there"),
        ({"solver": {"responses_per_prompt": 1}}, "solver.responses_per_prompt is 1: .* expected 2 or more"),
    ],
)
def test_what_would_not_end_as_it_says_or_teach_nothing_is_not_trained(settings, said):
    with pytest.raises(ConfigError, match=said):
        check_trainable(configuration(**settings))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, r"^generator\.max_prompt_tokens is 700 and generator\.max_tokens is 400; .* Lower one of them by 100$"),
        ({"generator": {"max_tokens": 300}, "solver": {"max_tokens": 900}}, r"solver\.max_tokens is 900.*by 400$"),
        ({"generator": {"max_tokens": 300}, "review": {"max_tokens": 999}}, r"review\.max_tokens is 999"),
        (
            {"generator": {"max_tokens": 300}, "review": {"kind": "recomputing", "program_max_tokens": 998}},
            r"review\.program_max_tokens is 998",
        ),
        ({"generator": {"max_tokens": 300}}, None),
        ({"curriculum": {"name": "fixed"}, "review": {"max_tokens": 9999}}, None),  # neither of the two is asked
    ],
)
def test_prompts_and_answers_that_would_not_fit_the_context_are_refused_at_the_beginning(settings, said):
    lengths = {
        "generator": {"max_prompt_tokens": 700, "max_tokens": 400},
        "solver": {"max_prompt_tokens": 500, "max_tokens": 100},
        "review": {"max_prompt_tokens": 500, "max_tokens": 100},
    }
    sections = {name: {**lengths.get(name, {}), **settings.get(name, {})} for name in {*lengths, *settings}}
    policy = ScriptedPolicy(respond)
    policy.context = 1000
    with pytest.raises(ConfigError, match=said) if said else nullcontext():
        check_context(configuration(**sections), policy, training=True)


def test_what_is_known_stands_in_the_same_order_after_a_stop(tmp_path, sandbox):
    def known():
        opened = reopen if Store.begun(tmp_path / "run") else create
        arguments = () if opened is reopen else (configuration(generator={"prompt": "guided"}),)
        store, config = opened(tmp_path / "run", *arguments)
        return prepare(store, config, ScriptedPolicy(respond), sandbox, HashingEmbedder(), originals=ORIGINALS)

    run = known()
    run.store.add_environments([EnvironmentRecord(run.store.add_source("late = 1"), "Late", original=False)])
    vectors = HashingEmbedder().embed(["late"])
    run.store.add_vectors({environment_id("late = 1"): (vectors[0], vectors[0])})
    run.cache.add([environment_id("late = 1")], vectors, vectors)
    before = run.cache.ids
    run.close()
    again = known()
    assert again.cache.ids == before
    assert len(before) == len(ORIGINALS) + 2  # the form of the prompt, too
    again.close()


def test_a_run_in_use_or_begun_twice_is_refused(tmp_path):
    store, config = create(tmp_path / "run", configuration())
    with pytest.raises(StoreError, match="in use by process"):
        reopen(tmp_path / "run")
    store.close()
    with pytest.raises(StoreError, match="already holds a run"):
        create(tmp_path / "run", config)


def test_infinity_is_written_so_that_it_reads_back_and_other_nonsense_is_refused(tmp_path):
    store, config = create(tmp_path / "run", configuration(training={"dual_clip": float("inf")}))
    store.close()
    store, again = reopen(tmp_path / "run")
    store.close()
    assert again == config
    with pytest.raises(ConfigError, match="text that is no Unicode"):
        create(tmp_path / "other", configuration(curriculum={"problems": "a\udcff"}))
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("solver.responses_per_prompt=0", "solver.responses_per_prompt is 0; expected 1 or more"),
        ("solver.temperature=-1", "expected 0 or more"),
        ("solver.top_p=0", "expected more than 0 and at most 1"),
        ("generator.prompts=-1", "expected 0 or more"),
        ("novelty.mix=3", "expected 0 or more and at most 1"),
        ("training.learning_rate=-1", "expected 0 or more"),
        ("training.learning_rate=nan", "expected 0 or more"),
        ("training.learning_rate=inf", "expected a finite number, 0 or more"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_at_once(setting, said):
    with pytest.raises(ConfigError, match=said):
        load_config(overrides=[setting])


def test_a_new_run_takes_neither_a_policy_that_has_learnt_nor_others_checkpoints(tmp_path, sandbox):
    used = ScriptedPolicy(respond)
    run, _ = open_run(tmp_path / "first", sandbox, policy=used)
    advance(run, steps=1)
    run.store.close()
    with pytest.raises(ConfigError, match="has seen 1 updates already"):
        open_run(tmp_path / "second", sandbox, policy=used)
    kept = ScriptedPolicy(respond, checkpoints=tmp_path / "kept")
    kept.save()
    with pytest.raises(InputError, match="there are checkpoints already"):
        open_run(tmp_path / "third", sandbox, policy=kept)
    assert kept.saved(), "nothing is deleted"


def test_a_run_whose_steps_are_lowered_keeps_what_it_learnt(tmp_path, sandbox):
    run, _ = open_run(tmp_path / "run", sandbox, configuration(run={"checkpoint_every": 10, "steps": 100}))
    advance(run, steps=2)
    assert run.store.last_checkpoint() is None
    run.store.close()
    store, config = reopen(tmp_path / "run", ["run.steps=2"])
    run = prepare(store, config, ScriptedPolicy(respond), sandbox, TableEmbedder(), originals=ORIGINALS)
    advance(run)
    assert run.store.last_checkpoint()[0] == 2
    run.store.close()


def test_a_policy_that_cannot_learn_is_refused_before_anything_is_done(tmp_path, sandbox):
    store, config = create(tmp_path / "run", configuration())
    with pytest.raises(ConfigError, match="evoenv synth"):
        prepare(store, config, ScriptedPolicy(respond, trainable=False), sandbox, TableEmbedder())
    store.close()


@pytest.mark.parametrize("originals", [{}, {"Bad": "class Bad(VerifiableEnvironment): x = 1 // 0"}])
def test_originals_that_do_not_work_are_refused_by_name(tmp_path, sandbox, originals):
    store, config = create(tmp_path / "run", configuration())
    with pytest.raises(InputError, match="original"):
        prepare(store, config, ScriptedPolicy(respond), sandbox, TableEmbedder(), originals=originals)
    assert store.pool().members == {}
    store.close()


def test_a_pool_is_synthesised_without_solving_or_learning(tmp_path, sandbox):
    policy = ScriptedPolicy(respond, trainable=False)
    run, _ = open_run(tmp_path / "run", sandbox, policy=policy, training=False)
    advance(run, steps=1)
    assert run.store.last_step() == 1
    assert {record.name for record in run.store.environments()} == {*ORIGINALS, "Fresh", "Second"}
    assert run.store.requests(1, "solve") == {}
    assert run.store.last_checkpoint() is None
    assert run.store._database.query("SELECT count(*) FROM rollouts") == [(0,)]
    run.store.close()


def test_a_pool_that_was_synthesised_is_not_trained_half_way(tmp_path, sandbox):
    run, _ = open_run(tmp_path / "run", sandbox, training=False)
    run.close()
    with pytest.raises(ConfigError, match="begun by `evoenv synth` and cannot be continued by `evoenv train`"):
        open_run(tmp_path / "run", sandbox)
    reopen(tmp_path / "run")[0].close()


class Metered(ScriptedPolicy):
    """Samples only, on a budget; it is its own account of what was spent."""

    tokens, cost = 0, 0.0

    def __init__(self, budget):
        super().__init__(respond, trainable=False)
        self.budget = budget
        self.used = 0

    @property
    def spending(self):
        return self

    @property
    def exhausted(self):
        return self.used >= self.budget

    def snapshot(self):
        return {"used": self.used}

    def restore(self, counts):
        self.used = counts["used"]

    def _count(self, on):
        if on == "sample":
            if self.exhausted:
                raise BudgetExhausted("budget used up")
            self.used += 1


@pytest.mark.slow
def test_a_used_up_budget_is_a_clean_stop_that_is_remembered_and_pays_for_nothing_twice(tmp_path, sandbox):
    run, policy = open_run(tmp_path / "run", sandbox, policy=Metered(22), training=False)
    with pytest.raises(BudgetExhausted):
        advance(run, steps=1)
    assert run.store.events()[-1][3] == "run-stopped"
    run.store.close()
    run, policy = open_run(tmp_path / "run", sandbox, policy=Metered(22), training=False)
    assert policy.used == 22
    policy.budget = 1000
    advance(run, steps=1)
    run.store.close()
    half_answered = [request for request in policy.requests if request.wanted]
    assert [request.id for request in half_answered] == ["s00001.g001.c01.review"]
    assert half_answered[0].wanted == (1, 2)


class StopAt:
    """Asks for a stop when a stage begins, as Ctrl-C would."""

    def __init__(self, step, stage):
        self.when = (step, stage)
        self.run = None
        self.seen = []

    def stage(self, step, stage):
        self.seen.append((step, stage))
        if (step, stage) == self.when:
            self.run.stop.set()

    def progress(self, step, stage, done, total):
        assert 0 < done <= total

    def summary(self, summary):
        self.seen.append((summary.step, "summary"))


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["generated", "reviewed", "decided", "solved", "updated", "rotated"])
def test_a_stop_finishes_the_stage_and_the_run_continues_as_if_nothing_had_been(tmp_path, sandbox, undisturbed, stage):
    observer = StopAt(2, stage)
    run, _ = open_run(tmp_path / "run", sandbox, observer=observer)
    observer.run = run
    advance(run)
    assert run.store.events()[-1][3] == "run-stopped"
    assert run.store.stage_done(2, stage)
    assert run.store.last_step() == (2 if stage == "rotated" else 1)
    run.store.close()
    assert finish(tmp_path / "run", sandbox) == undisturbed


@pytest.mark.slow
def test_watchers_are_told_of_every_stage(tmp_path, sandbox):
    observer = StopAt(0, "generated")
    run, _ = open_run(tmp_path / "run", sandbox, observer=observer)
    advance(run, steps=1)
    run.store.close()
    stages = ["generated", "validated", "reviewed", "calibrated", "decided", "solved", "updated", "rotated", "summary"]
    assert observer.seen == [(1, stage) for stage in stages]


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [Fault(5), Fault(30), Fault(80), Fault(1, on="update"), Fault(1, on="save")],
    ids=lambda f: f"{f.on}-{f.at}",
)
def test_a_policy_that_fails_leaves_a_run_that_continues(tmp_path, sandbox, undisturbed, fault):
    run, _ = open_run(tmp_path / "run", sandbox, policy=ScriptedPolicy(respond, faults=[fault]))
    with pytest.raises(PolicyError, match="scripted fault"):
        advance(run)
    run.store.close()
    assert finish(tmp_path / "run", sandbox) == undisturbed


@pytest.mark.slow
def test_updates_since_the_last_checkpoint_are_computed_again_from_their_rollouts(tmp_path, sandbox):
    config = configuration(run={"checkpoint_every": 3, "steps": 5})
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run, policy = open_run(whole, sandbox, config)
    advance(run)
    run.store.close()
    run, _ = open_run(parts, sandbox, config)
    advance(run, steps=2)
    assert run.store.last_checkpoint() is None
    run.store.close()
    run, resumed = open_run(parts, sandbox)
    assert len(resumed.groups) == 2
    assert resumed.requests == []
    advance(run)
    run.store.close()
    assert resumed.digest == policy.digest
    assert resumed.groups == policy.groups
    assert contents(parts) == contents(whole)


class Inexact(ScriptedPolicy):
    """Updates computed again give other weights, as on a GPU."""

    exact_replay = False


def test_an_engine_that_cannot_replay_updates_is_saved_after_every_step(tmp_path, sandbox):
    config = configuration(run={"checkpoint_every": 10, "steps": 5, "keep_checkpoints": 5})
    run, policy = open_run(tmp_path / "run", sandbox, config, Inexact(respond))
    advance(run, steps=2)
    assert policy.saved() == run.store.checkpoints() == ["step-00001", "step-00002"]
    run.store.close()


def test_updates_that_must_be_replayed_inexactly_are_replayed_with_a_warning(tmp_path, sandbox, caplog):
    config = configuration(run={"checkpoint_every": 10, "steps": 5})
    run, _ = open_run(tmp_path / "run", sandbox, config)
    advance(run, steps=1)
    run.store.close()
    run, resumed = open_run(tmp_path / "run", sandbox, policy=Inexact(respond))
    assert (resumed.version, len(resumed.groups)) == (1, 1)
    assert "does not do so bit for bit" in caplog.text
    run.store.close()


def test_checkpoints_that_nothing_vouches_for_are_dropped(tmp_path, sandbox):
    run, policy = open_run(tmp_path / "run", sandbox)
    advance(run, steps=1)
    policy.step = 7
    policy.save()
    run.store.close()
    _, resumed = open_run(tmp_path / "run", sandbox)
    assert resumed.saved() == ["step-00001"]


def test_the_store_keeps_versions_and_only_the_rollouts_that_train(tmp_path, sandbox):
    run, _ = open_run(tmp_path / "run", sandbox, configuration(run={"checkpoint_every": 10}))
    advance(run, steps=2)
    for step in (1, 2):
        for purpose, trains in (("generate", True), ("solve", True), ("review", False), ("calibrate", False)):
            samples = run.store.samples(step, purpose).values()
            assert samples
            assert {sample.version for sample in samples} == {step - 1}
            assert {sample.rollout is not None for sample in samples} == {trains}
            assert all(sample.tokens == len(sample.text.encode()) for sample in samples)
    run.store.close()


@pytest.mark.slow
def test_only_the_newest_checkpoints_are_kept_and_their_rollouts_dropped(tmp_path, sandbox):
    run, _ = open_run(tmp_path / "run", sandbox)
    advance(run)
    assert sorted(path.name for path in (run.store.directory / "checkpoints").iterdir()) == ["step-00003", "step-00004"]
    assert run.store._database.query("SELECT count(*) FROM rollouts") == [(0,)]
    assert len(run.store.samples(1, "solve")) == 24
    run.store.close()
