"""Which engine a configuration names."""

from __future__ import annotations

import pytest

from evoenv.assembly import open_policy
from evoenv.config import load_config
from evoenv.errors import ConfigError, PolicyError


def test_the_default_is_the_model_on_this_machine() -> None:
    assert load_config().engine.name == "local"
    policy = open_policy(load_config(overrides=["model.name=tiny-test"]), progress=False)
    assert type(policy).__name__ == "LocalPolicy"


def test_a_server_without_an_address_is_refused() -> None:
    config = load_config(overrides=["engine.name=endpoint"])
    with pytest.raises(ConfigError, match=r"model\.base_url is empty; name the server"):
        open_policy(config)


@pytest.mark.parametrize("name", ["lokal", "scripted"])
def test_an_engine_that_no_configuration_can_name_is_refused_with_those_that_it_can(name: str) -> None:
    expected = rf"^engine\.name is '{name}'; expected one of local, endpoint, verl$"
    with pytest.raises(ConfigError, match=expected):
        load_config(overrides=[f"engine.name={name}"])


def test_a_policy_that_learns_without_a_checkpoint_directory_says_so_before_a_run_begins() -> None:
    policy = open_policy(load_config(overrides=["model.name=tiny-test"]), learns=True, progress=False)
    for action in (policy.saved, policy.save, lambda: policy.load("step-00001")):
        with pytest.raises(PolicyError, match="opened without a checkpoint directory"):
            action()
