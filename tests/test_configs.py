"""Every shipped configuration loads, is what its comment says, and is the same file in the package and in configs/."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from evoenv.config import KNOWN_KEYS, Config, load_config
from evoenv.errors import ConfigError
from evoenv.presets import preset, preset_names
from evoenv.ranges import ABOVE_ZERO, RANGES
from evoenv.run import MAY_CHANGE, config_toml
from evoenv.settings import config_help

CONFIGS = Path(__file__).parents[1] / "configs"


def test_the_presets_of_the_design_are_there_and_configs_shows_the_packaged_files() -> None:
    names = {"nano", "laptop", "tiny-test", "one-gpu", "paper-4b", "paper-4b-thinking", "paper-8b"}
    assert set(preset_names()) == names
    shown = {path.name: path.read_text() for path in CONFIGS.iterdir()}
    assert set(shown) == {f"{name}.toml" for name in preset_names()}
    for name in preset_names():
        assert tomllib.loads(shown[f"{name}.toml"]) == preset(name)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads_and_its_prompts_and_answers_fit_what_it_may_hold(name: str) -> None:
    config = load_config(CONFIGS / f"{name}.toml")
    assert load_config(preset(name)) == config
    assert load_config(tomllib.loads(config_toml(config))) == config
    for role in (config.generator, config.solver, config.review):
        assert role.max_prompt_tokens + role.max_tokens <= config.model.sample_batch_tokens
    assert not config.model.base_url, "a preset must be trainable"


@pytest.mark.parametrize("name", ["nano", "laptop", "tiny-test"])
def test_small_presets_keep_half_the_seeds_in_the_pool(name: str) -> None:
    assert load_config(preset(name)).pool.min_size == 5


@pytest.mark.parametrize("name", ["paper-4b", "paper-4b-thinking", "paper-8b"])
def test_the_paper_presets_are_the_papers_table(name: str) -> None:
    config = load_config(preset(name))
    assert (config.generator.prompts, config.generator.candidates_per_prompt) == (16, 8)
    assert (config.solver.prompts, config.solver.responses_per_prompt) == (64, 8)
    assert (config.solver.max_prompt_tokens, config.solver.max_tokens) == (8192, 16384)
    assert (config.generator.max_tokens, config.review.max_tokens) == (8192, 8192)
    assert (config.review.reviews, config.review.rule, config.review.temperature) == (3, "any-reject", 0.6)
    assert (config.novelty.gamma_min, config.novelty.gamma_max, config.novelty.gate) == (2.0, 5.0, 0.80)
    assert (config.pool.rotate_every, config.pool.max_epochs, config.pool.original_floor) == (10, 5, 0.2)
    training = config.training
    assert (training.clip_low, training.clip_high, training.dual_clip, training.kl) == (0.2, 0.28, 10.0, 1e-3)
    assert (training.learning_rate, training.warmup_steps, training.weight_decay) == (5e-7, 5, 0.1)
    assert (training.generator_weight, training.grad_clip, training.lora_rank) == (0.3, 1.0, 0)
    assert config.run.steps == 100
    # written out in the preset, and yet nothing else than the defaults
    defaults = Config()
    assert (config.novelty, config.calibration, config.pool) == (defaults.novelty, defaults.calibration, defaults.pool)


def test_an_unknown_preset_names_its_nearest_neighbour() -> None:
    with pytest.raises(ConfigError, match=r"no preset 'nanoo'; did you mean 'nano'\?"):
        preset("nanoo")
    with pytest.raises(ConfigError, match="the presets are laptop, nano"):
        preset("zzz")


def test_the_help_on_settings_is_a_file_that_loads_and_says_what_settings_mean() -> None:
    config = load_config(preset("laptop"))
    text = config_help(config)
    assert load_config(tomllib.loads(text)) == config
    assert "# GRPO group size of the generator role.\ncandidates_per_prompt = 8" in text
    assert text.count("\n[") + 1 == len(Config.__struct_fields__)


def test_what_a_resumed_run_may_change_are_settings() -> None:
    assert set(KNOWN_KEYS) >= MAY_CHANGE


def test_what_has_a_range_are_settings() -> None:
    assert set(KNOWN_KEYS) >= set(RANGES) >= ABOVE_ZERO


def test_a_number_without_end_is_refused_as_such() -> None:
    with pytest.raises(ConfigError, match=r"endpoint\.timeout_seconds is inf; expected a finite number, more than 0"):
        load_config(overrides=["endpoint.timeout_seconds=inf"])


@pytest.mark.parametrize(
    ("settings", "overlaps"),
    [
        ((), False),
        (("model.base_url=http://127.0.0.1:1/v1",), True),
        (("engine.name=verl",), True),
        (("engine.name=verl", "engine.overlap=off"), False),
        (("engine.overlap=on",), True),
    ],
)
def test_stages_overlap_with_servers_unless_told_otherwise(settings: tuple[str, ...], overlaps: bool) -> None:
    assert load_config(overrides=settings).overlaps is overlaps


def test_a_policy_draws_at_once_what_its_servers_can_take() -> None:
    served = load_config(overrides=["model.base_url=http://127.0.0.1:1/v1", "endpoint.concurrency=3"])
    assert served.drawn_at_once == 3
    cluster = ("engine.name=verl", "engine.nodes=2", "engine.devices_per_node=4", "engine.tensor_parallel=2")
    assert load_config(overrides=[*cluster, "engine.sampler_rows=10"]).drawn_at_once == 40
