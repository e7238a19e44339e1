"""Products by oneDNN: the same numbers and gradients as PyTorch's own, and only on processors that MKL gives less."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, inject_adapter_in_model
from torch import nn
from torch.nn import functional

from evoenv.engines.local.decode import CohortDecoder
from evoenv.engines.local.lean import lean_step
from evoenv.engines.local.packed import pack_frozen
from evoenv.engines.local.policy import LocalPolicy
from evoenv.models import products
from evoenv.models.loading import load_model
from evoenv.models.products import (
    FEW_ROWS,
    OneDnnLinear,
    linear,
    linear_plus,
    multiply_by_onednn,
    onednn_is_faster,
    processor_maker,
)
from evoenv.records import Message, Request

pytestmark = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(),  # type: ignore[no-untyped-call]
    reason="this build of torch has no oneDNN",
)
Tiny = dict[str, tuple[Any, Any]]
SHAPES = [(FEW_ROWS - 1, 5, 3), (FEW_ROWS, 5, 3), (40, 16, 64), (40, 64, 16), (3, 20, 7, 9)]
"""Rows (in one dimension or two), inputs and outputs."""


def tensors(shape: tuple[int, ...], seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    chance = torch.Generator().manual_seed(seed)
    *rows, inputs, outputs = shape
    return (
        torch.randn(*rows, inputs, generator=chance), torch.randn(outputs, inputs, generator=chance),
        torch.randn(outputs, generator=chance),
    )  # fmt: skip


def by_torch(model: Any) -> Any:
    """Return a copy whose products are torch's own: a model that is loaded here may multiply by oneDNN already."""
    model = copy.deepcopy(model)
    for layer in model.modules():
        if type(layer) is OneDnnLinear:
            layer.__class__ = nn.Linear
    return model


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("with_bias", [True, False])
def test_product_and_gradients_are_those_of_torch(shape: tuple[int, ...], with_bias: bool) -> None:
    found: list[list[torch.Tensor]] = []
    for multiply in (functional.linear, linear):
        rows, weight, bias = (tensor.requires_grad_() for tensor in tensors(shape))
        product = multiply(rows, weight, bias if with_bias else None)
        (product.sin() * torch.linspace(-1, 1, product.numel()).view_as(product)).sum().backward()
        wanted = (rows, weight, bias) if with_bias else (rows, weight)
        found.append([product.detach(), *(tensor.grad for tensor in wanted if tensor.grad is not None)])
    assert len(found[0]) == 3 + with_bias
    for own, usual in zip(found[1], found[0], strict=True):
        torch.testing.assert_close(own, usual, atol=1e-4, rtol=1e-4)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the rows of every product that is computed by oneDNN from here on."""
    rows: list[int] = []
    multiply = products._multiply

    def count(*factors: Any) -> torch.Tensor:
        rows.append(len(factors[0]))
        return multiply(*factors)

    monkeypatch.setattr(products, "_multiply", count)
    return rows


def test_it_is_onednn_that_multiplies_from_eight_rows_on(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = counted(monkeypatch)
    for count in (FEW_ROWS - 1, FEW_ROWS):
        inputs, weight, bias = (tensor.requires_grad_() for tensor in tensors((count, 5, 3)))
        linear(inputs, weight, bias).sum().backward()
    assert rows == [8, 8, 3]  # forwards; backwards to the rows, and to the weights, which are multiplied turned
    linear_plus(torch.ones(FEW_ROWS - 1, 3), *tensors((FEW_ROWS - 1, 5, 3))[:2])
    linear_plus(torch.ones(FEW_ROWS, 3), *tensors((FEW_ROWS, 5, 3))[:2])
    assert rows == [8, 8, 3, 8]


@pytest.mark.parametrize("faster", [True, False])
def test_a_model_is_loaded_for_its_processor(
    faster: bool, tiny_directories: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "onednn_is_faster", lambda: faster)
    kinds = {type(layer) for layer in load_model(tiny_directories["llama"], "cpu", "float32").modules()}
    assert (OneDnnLinear in kinds) is faster
    assert (nn.Linear in kinds) is not faster


@pytest.mark.parametrize(
    ("rows", "filled"), [(8, 8), (9, 16), (64, 64), (65, 72), (129, 144), (513, 576), (1000, 1024), (1025, 1025)]
)
def test_rows_are_filled_up_to_usual_numbers(rows: int, filled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = counted(monkeypatch)
    inputs, weight, bias = tensors((rows, 6, 4))
    torch.testing.assert_close(linear(inputs, weight, bias), functional.linear(inputs, weight, bias))
    assert counts == [filled]


MANY_COUNTS = """
import sys, torch
from pathlib import Path
from evoenv.models.products import OneDnnLinear, multiply_by_onednn
def held() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
layers = torch.nn.Sequential(torch.nn.Linear(16, 16))
multiply_by_onednn(layers)
with torch.inference_mode():
    layers(torch.ones(8, 16))
    before = held()
    for rows in (*range(8, 1024), *range(1024, 4096, 8)):
        layers(torch.ones(rows, 16))
print((held() - before) // 10**6)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from Linux's /proc")
def test_rows_in_every_number_hold_little_memory() -> None:
    result = subprocess.run([sys.executable, "-c", MANY_COUNTS], capture_output=True, text=True, check=True)
    assert int(result.stdout) < 250  # megabytes; 750 with a program for each number


@pytest.mark.parametrize("bias", [torch.randn(16)[::2], torch.randn(1).expand(8), torch.randn(8)])
def test_a_bias_may_lie_in_memory_as_it_likes(bias: torch.Tensor) -> None:
    rows, weight, _ = tensors((20, 6, 8))
    torch.testing.assert_close(linear(rows, weight, bias), functional.linear(rows, weight, bias))


@pytest.mark.parametrize("trained", [(True, False, False), (False, True, False), (False, False, True)])
def test_gradients_are_computed_for_those_who_want_one(trained: tuple[bool, bool, bool]) -> None:
    values = [tensor.requires_grad_(wants) for tensor, wants in zip(tensors((20, 6, 4)), trained, strict=True)]
    linear(*values).square().sum().backward()
    assert [tensor.grad is not None for tensor in values] == list(trained)


@pytest.mark.parametrize("rows", [FEW_ROWS - 1, FEW_ROWS, 30])
def test_a_sum_with_a_product(rows: int) -> None:
    inputs, weight, _ = tensors((rows, 12, 6))
    before = torch.ones(rows, 6)
    torch.testing.assert_close(linear_plus(before.clone(), inputs, weight), before + inputs @ weight.t())


def test_other_kinds_of_numbers_stay_with_torch() -> None:
    rows, weight, bias = tensors((20, 6, 4))
    assert linear(rows.double(), weight.double(), bias.double()).dtype == torch.float64
    assert linear(rows.bfloat16(), weight.bfloat16(), None).dtype == torch.bfloat16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(rows, weight, bias).dtype == torch.bfloat16
    assert linear(rows[:0], weight, bias).shape == (0, 4)


def test_a_model_of_onednn_answers_and_learns_as_before(tiny_models: Tiny) -> None:
    plain = by_torch(tiny_models["llama"][0])
    own = copy.deepcopy(plain)
    linears = sum(type(layer) is nn.Linear for layer in own.modules())
    assert multiply_by_onednn(own) == linears > 0
    assert multiply_by_onednn(own) == 0
    ids = torch.arange(40).view(2, 20) + 5
    results = []
    for model in (plain, own):
        model.zero_grad()
        output = model(input_ids=ids, labels=ids)
        output.loss.backward()
        results.append([output.logits.detach(), *(weight.grad for weight in model.parameters())])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    assert [*plain.state_dict()] == [*own.state_dict()]


def test_a_copy_multiplies_its_own_weights(tiny_models: Tiny) -> None:
    model = by_torch(tiny_models["llama"][0])
    multiply_by_onednn(model)
    ids = torch.arange(20)[None] + 5
    frozen = copy.deepcopy(model)
    with torch.no_grad():
        before = frozen(input_ids=ids).logits
        for weight in model.parameters():
            weight.mul_(1.5)
        assert torch.equal(frozen(input_ids=ids).logits, before)
        assert not torch.allclose(model(input_ids=ids).logits, before)


def test_adapters_packing_and_the_lean_step_take_its_layers(tiny_models: Tiny) -> None:
    model, tokenizer = by_torch(tiny_models["llama"][0]), tiny_models["llama"][1]
    multiply_by_onednn(model)
    ask = Request("r", "solver", (Message("user", "2 + 2 = ?"),), count=12, max_tokens=12, seed=3, trains=True)
    assert lean_step(model) is not None
    policy = LocalPolicy(model, tokenizer)
    assert isinstance(policy.decoder, CohortDecoder)
    assert policy.decoder.lean is not None
    usual = LocalPolicy(by_torch(model), tokenizer)
    assert [sample.text for sample in policy.sample([ask])] == [sample.text for sample in usual.sample([ask])]
    adapted: Any = inject_adapter_in_model(LoraConfig(r=2, target_modules=["q_proj", "up_proj"]), model)
    assert isinstance(adapted.model.layers[0].mlp.up_proj.base_layer, OneDnnLinear)
    assert pack_frozen(adapted, trained=True) > 0


INTEL = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: some processor\n"
AMD = INTEL.replace("GenuineIntel", "AuthenticAMD")


@pytest.mark.parametrize(
    ("processor", "capability", "faster"),
    [(AMD, "AVX512", True), (AMD, "AVX2", False), (INTEL, "AVX512", False), ("Features : asimd\n", "AVX512", False)],
)
def test_which_processors_it_is_for(
    processor: str, capability: str, faster: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(processor)
    maker = processor_maker(tmp_path / "cpuinfo")
    monkeypatch.setattr(products, "processor_maker", lambda: maker)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert onednn_is_faster.__wrapped__() is (faster and torch.backends.mkl.is_available())


def test_a_system_that_does_not_tell_its_processor(tmp_path: Path) -> None:
    assert processor_maker(tmp_path / "missing") == ""
