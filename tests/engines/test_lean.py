"""The short way of a decoding step: the same samples as by the model's own forward, and only where it is made for."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from peft import LoraConfig, inject_adapter_in_model

from evoenv.engines.local import lean, selfcheck
from evoenv.engines.local.decode import CohortDecoder
from evoenv.engines.local.lean import lean_step
from evoenv.engines.local.packed import pack_frozen
from evoenv.engines.local.policy import LocalPolicy
from evoenv.engines.local.selfcheck import checked_lean_step
from evoenv.records import Message, Request, Sample

Tiny = dict[str, tuple[Any, Any]]


def requests() -> list[Request]:
    return [
        Request(
            f"r{number}", "solver", (Message("user", "x" * (3 + 9 * number)),), count=1 + number, seed=number,
            max_tokens=5 + 6 * number, trains=True,
        )
        for number in range(5)
    ]  # fmt: skip


def sampled(policy: LocalPolicy) -> dict[tuple[str, int], Sample]:
    return {(sample.request_id, sample.index): sample for sample in policy.sample(requests())}


def without(policy: LocalPolicy) -> LocalPolicy:
    """Return a policy of the same model that decodes by the model's own forward."""
    plain = LocalPolicy(policy.model, policy.tokenizer)
    assert isinstance(plain.decoder, CohortDecoder)
    plain.decoder.lean = None
    return plain


def assert_the_same(policy: LocalPolicy) -> None:
    assert isinstance(policy.decoder, CohortDecoder)
    assert policy.decoder.lean is not None
    one, other = sampled(policy), sampled(without(policy))
    assert one.keys() == other.keys()
    for key, sample in one.items():
        expected = other[key].rollout
        assert sample.rollout is not None
        assert expected is not None
        assert sample.rollout.token_ids == expected.token_ids
        assert sample.rollout.logprobs == pytest.approx(expected.logprobs, abs=1e-5)


def test_samples_are_those_of_the_models_own_forward(tiny_models: Tiny) -> None:
    assert_the_same(LocalPolicy(*tiny_models["llama"], max_rows=6))


def test_a_session_that_waits_sees_changed_weights_too(tiny_models: Tiny) -> None:
    model = copy.deepcopy(tiny_models["llama"][0])
    policy = LocalPolicy(model, tiny_models["llama"][1])
    with policy.sampling() as session:
        session.submit(requests()[:1])
        list(session)
        with torch.no_grad():
            model.model.layers[0].mlp.up_proj.weight.mul_(-3.0)
        session.submit(requests()[2:])
        late = {(sample.request_id, sample.index): sample.text for sample in session}
    assert late == {key: sample.text for key, sample in sampled(without(policy)).items() if key in late}
    assert len(late) == 12


def test_changed_weights_are_seen(tiny_models: Tiny) -> None:
    model, tokenizer = copy.deepcopy(tiny_models["llama"][0]), tiny_models["llama"][1]
    policy = LocalPolicy(model, tokenizer)
    before = sampled(policy)
    layer = model.model.layers[0]
    for weight in (layer.self_attn.v_proj.weight, layer.mlp.gate_proj.weight, layer.self_attn.o_proj.weight):
        with torch.no_grad():
            weight.mul_(-3.0)
        now = sampled(policy)
        assert any(now[key].text != before[key].text for key in now)
        assert_the_same(policy)
        before = now


@pytest.mark.parametrize(
    "change", ["bfloat16", "packed", "adapter", "bias", "quantised", "large", "another activation"]
)
def test_other_models_have_none(tiny_models: Tiny, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = copy.deepcopy(tiny_models["llama"][0])
    assert lean_step(model) is not None
    match change:
        case "bfloat16":
            model = model.to(torch.bfloat16)
        case "packed":
            assert pack_frozen(model.requires_grad_(False), trained=True) > 0
        case "adapter":
            inject_adapter_in_model(LoraConfig(r=2, target_modules=["o_proj"]), model)
        case "bias":
            model.model.layers[1].mlp.up_proj.bias = torch.nn.Parameter(torch.zeros(1))
        case "quantised":
            model.model.layers[1].mlp.up_proj = torch.nn.Identity()
        case "large":
            monkeypatch.setattr(lean, "SMALL_WEIGHTS", 10)
        case _:
            model.config.hidden_act = "gelu"
    assert lean_step(model) is None
    assert checked_lean_step(model) is None


def test_another_architecture_has_none(tiny_models: Tiny) -> None:
    assert lean_step(tiny_models["qwen3"][0]) is None


def test_one_that_gives_other_numbers_is_not_used(tiny_models: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_models["llama"][0]
    step = lean.LeanStep(model)
    monkeypatch.setattr(selfcheck, "lean_step", lambda _: step)
    assert checked_lean_step(model) is step
    for wrong in (1.5 * step._scaling, float("nan")):
        with monkeypatch.context() as patch:
            patch.setattr(step, "_scaling", wrong)
            assert checked_lean_step(model) is None
    monkeypatch.setattr(step, "_size", 3)  # and one that does not run at all
    assert checked_lean_step(model) is None
