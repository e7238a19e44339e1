"""What a configuration needs of a device's memory: formulas by hand, real models, and what is refused."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest

from evoenv import assembly, memory
from evoenv.cli import main
from evoenv.config import Config, load_config
from evoenv.engines.local import decode, lean
from evoenv.errors import ConfigError
from evoenv.memory import (
    GB,
    Pass,
    RoleLoad,
    largest_passes,
    local_need,
    refusal,
    sharded_need,
    smallest_world,
    what_fits,
)
from evoenv.models import devices
from evoenv.models.devices import Device, find_device, host_memory
from evoenv.models.resolve import load_model, resolve_model
from evoenv.models.shapes import KNOWN_SHAPES, ModelShape, find_shape, read_shape, shape_in
from evoenv.presets import preset, preset_names
from evoenv.training import logprobs

SMALL = ModelShape(
    layers=2, hidden=8, intermediate=16, heads=2, key_heads=1, head_size=4, vocabulary=32, tied=True
)  # fmt: skip
"""Queries are 8 wide, keys 4."""


def settings(*overrides: str) -> Config:
    """One group of each role: prompts of 10 tokens, two responses of 5; 20 tokens fit a micro-batch."""
    return load_config(
        overrides=[
            "model.dtype=float32",
            "model.sample_batch_tokens=1000",
            "novelty.embedder=hashing",
            "review.enabled=false",
            "calibration.enabled=false",
            "training.micro_batch_tokens=20",
            *(
                f"{role}.{name}={value}"
                for role, count in (("generator", "candidates_per_prompt"), ("solver", "responses_per_prompt"))
                for name, value in (("prompts", 1), (count, 2), ("max_prompt_tokens", 10), ("max_tokens", 5))
            ),
            *overrides,
        ]
    )


# --------------------------------------------------------------------------- shapes


def test_the_parameters_of_a_shape_are_counted_by_hand() -> None:
    # a layer: 8 × (8 + 8 + 4 + 4) attention + 3 × 8 × 16 feed-forward + 2 × 8 norms = 192 + 384 + 16
    assert SMALL.layer_parameters == 592
    # embedding 32 × 8, two layers, the last norm
    assert SMALL.parameters == 256 + 2 * 592 + 8
    # rank 2 beside seven matrices: (8+8) + (8+4) + (8+4) + (8+8) + 3 × (8+16) = 128 rows and columns, in two layers
    assert SMALL.lora_parameters(2) == 2 * 2 * 128


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Qwen/Qwen3-4B-Instruct-2507", 4_022_468_096),
        ("Qwen/Qwen3-4B-Thinking-2507", 4_022_468_096),
        ("nvidia/Nemotron-Cascade-8B-IFRL", 8_190_735_360),
        ("Qwen/Qwen3-1.7B", 1_720_574_976),
        ("SmolLM2-135M-Instruct", 134_515_008),
        ("Qwen2.5-Coder-0.5B-Instruct", 494_032_768),
        ("Qwen2.5-Coder-1.5B-Instruct", 1_543_714_304),
    ],
)
def test_the_papers_models_have_the_parameters_that_their_authors_state(name: str, parameters: int) -> None:
    assert KNOWN_SHAPES[name].parameters == parameters


@pytest.mark.parametrize("name", ["nano", "tiny-test"])
def test_a_computed_number_of_parameters_is_that_of_the_loaded_model(name: str) -> None:
    model = load_model(resolve_model(name), "cpu", "float32")
    shape = find_shape(name)
    assert shape is not None
    assert shape.parameters == sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize("arch", ["llama", "qwen3"])
def test_the_shape_of_a_directory_is_read_from_its_configuration(tiny_directories: dict[str, Path], arch: str) -> None:
    shape = find_shape(str(tiny_directories[arch]))
    model = load_model(tiny_directories[arch], "cpu", "float32")
    assert shape is not None
    assert shape.parameters == sum(weight.numel() for weight in model.parameters())


def test_an_architecture_that_is_not_known_has_no_shape(tmp_path: Path) -> None:
    described = {"model_type": "mamba", "hidden_size": 8, "num_attention_heads": 2}
    assert read_shape(described) is None
    assert read_shape({"model_type": "llama"}) is None
    (tmp_path / "config.json").write_text(json.dumps(described))
    assert shape_in(tmp_path) is None
    assert shape_in(tmp_path / "nothing") is None


def test_every_preset_names_a_model_whose_shape_is_known_without_a_hub() -> None:
    for name in preset_names():
        assert find_shape(load_config(preset(name)).model.name) is not None


# --------------------------------------------------------------------------- formulas


def test_passes_are_cut_as_the_trainer_cuts_them() -> None:
    # One bundle of a prompt and both responses has 20 tokens: it fits, and nothing is packed beside it.
    whole = Pass(tokens=20, responses=10, keys=30, checkpointed=False)
    assert largest_passes(settings()) == [whole, whole]
    # With room for 16 a bundle has one response: 15 tokens each, 30 in all; one checkpointed bundle of 20 costs 26.7.
    assert largest_passes(settings("training.micro_batch_tokens=16"))[0] == Pass(20, 10, 30, checkpointed=True)
    # Two groups of 20 are packed into 40.
    two = largest_passes(settings("training.micro_batch_tokens=40", "solver.prompts=2"))
    assert two[0] == Pass(tokens=40, responses=20, keys=60, checkpointed=False)


def test_the_parts_of_a_full_update_in_float32_are_counted_by_hand() -> None:
    need = local_need(SMALL, settings())
    parameters = 1448
    assert need.bytes_of("weights") == 4 * parameters
    assert need.bytes_of("float32 masters") == 0
    assert need.bytes_of("optimiser") == 8 * parameters
    assert need.bytes_of("reference") == 4 * parameters
    assert need.bytes_of("gradients") == 4 * parameters
    # 2 prompts would be 1 of 10 tokens and 2 rows of 5: 20 tokens × keys and values × 2 layers × 4 wide × 4 bytes
    assert need.bytes_of("key-value cache") == 20 * 2 * 2 * 4 * 4
    # One layer, 20 tokens: norms 2 × 3 × 8, queries and outputs 3 × 8, keys and values 2 × 4, feed-forward 4 × 16,
    # and the keys and values of responses, 30 × 2 × 4; all times 4 bytes.
    layer = 4 * (20 * (2 * 3 * 8 + 3 * 8 + 2 * 4 + 4 * 16) + 30 * 2 * 4)
    ends = 4 * 8 * (4 * 20 + 3 * 10)
    backward = 4 * 20 * (2 * 16 + 2 * 8)
    logits = 3 * 10 * 32 * 4 + 4 * 32 * 8
    assert need.bytes_of("logits") == logits
    assert need.bytes_of("activations") == 2 * layer + ends + max(0, backward - logits)
    assert need.peak == sum(part.bytes for part in (*need.held, *need.training))
    joined = 4 * (parameters - 32 * 8)  # copies to decode by, of all but the embedding at most
    assert need.bytes_of("joined weights") == joined
    assert need.least == 24 * parameters - 4 * parameters + joined + memory.RUNTIME["cpu"]


def test_half_precision_has_masters_and_checkpointing_keeps_one_tensor_a_layer() -> None:
    half = local_need(SMALL, settings("model.dtype=bfloat16", "training.gradient_checkpointing=true"), device="gpu")
    assert half.bytes_of("weights") == half.bytes_of("reference") == 2 * 1448
    assert half.bytes_of("float32 masters") == half.bytes_of("gradients") == 4 * 1448
    assert half.bytes_of("gradients of a micro-batch") == 2 * 1448
    # Norms 2 × 8 × (4 + 2 + 2), heads (2 × 8 + 2 × 4) × 2, output 8 × 2, feed-forward 4 × 16 × 2; and the keys and
    # values of responses 30 × 8 × 2.
    layer = 20 * (2 * 8 * 8 + 24 * 2 + 8 * 2 + 4 * 16 * 2) + 30 * 8 * 2
    ends, backward = 2 * 8 * (4 * 20 + 3 * 10), 2 * 20 * (2 * 16 + 2 * 8)
    logits = 3 * 10 * 32 * 4 + 2 * 32 * 8
    assert half.bytes_of("activations") == 2 * 20 * 8 * 2 + layer + ends + max(0, backward - logits)


def test_lora_needs_neither_a_reference_nor_masters() -> None:
    need = local_need(SMALL, settings("training.lora_rank=2", "model.dtype=bfloat16"))
    assert need.bytes_of("weights") == 2 * 1448 + 4 * 512
    assert need.bytes_of("optimiser") == 8 * 512
    assert need.bytes_of("gradients") == 4 * 512
    assert need.bytes_of("reference") == need.bytes_of("float32 masters") == 0


def test_a_policy_that_only_samples_needs_no_training_state() -> None:
    for need in (
        local_need(SMALL, settings(), trains=False),
        local_need(SMALL, settings("curriculum.name=untrained")),
    ):
        assert need.training == ()
        assert need.bytes_of("optimiser") == need.bytes_of("reference") == 0
        assert need.least == 4 * 1448 + 4 * (1448 - 32 * 8) + memory.RUNTIME["cpu"]


def test_the_cache_is_bounded_by_its_budget_and_calibrations_have_a_prompt_each() -> None:
    per_token = 2 * 2 * 4 * 4
    assert local_need(SMALL, settings("model.sample_batch_tokens=17")).bytes_of("key-value cache") == 17 * per_token
    calibrated = settings("calibration.enabled=true", "calibration.instances=3")
    assert memory.asked_in_step(calibrated)[-1] == RoleLoad(6, 1, 10, 5)
    assert local_need(SMALL, calibrated).bytes_of("key-value cache") == 6 * 15 * per_token


def test_several_devices_share_the_training_state_and_the_samplers_weights() -> None:
    one, four = (sharded_need(SMALL, settings(), devices=n, tensor_parallel=t) for n, t in ((1, 1), (4, 2)))
    assert one.bytes_of("float32 masters") == 4 * 1448
    for name in ("float32 masters", "optimiser", "reference", "gradients"):
        assert four.bytes_of(name) * 4 == one.bytes_of(name)
    assert one.bytes_of("sampler's weights") == 2 * 1448
    assert four.bytes_of("sampler's weights") == 1448
    # the only key head cannot be cut: each of the two devices keeps all of the cache
    assert four.bytes_of("key-value cache") == one.bytes_of("key-value cache") == 2 * 15 * 2 * 2 * 4 * 2
    # two layers and the embedding in bfloat16
    assert (one.bytes_of("gathered weights"), four.bytes_of("gathered weights")) == (0, 2 * (2 * 592 + 256))
    # a micro-batch of 20 tokens: what training.micro_batch_tokens says, if no sequence is longer
    assert four.bytes_of("logits") == one.bytes_of("logits") == 2 * 20 * 32 * 2
    longer = sharded_need(SMALL, settings("engine.tokens_per_device=50"), devices=4)
    assert longer.bytes_of("logits") == 2 * 50 * 32 * 2
    offloaded = sharded_need(SMALL, settings(), devices=1, offload=True)
    state = 16 * 1448
    assert sum(part.bytes for part in one.held) - sum(part.bytes for part in offloaded.held) == state


def test_what_the_engine_bounds_is_what_is_computed_with() -> None:
    assert memory.LOGIT_CHUNK == logprobs.LOGIT_CHUNK
    assert memory.PREFILL_TOKENS == decode.PREFILL_TOKENS
    assert memory.ROWS["cpu"] == decode.MAX_ROWS
    for weights in (1, lean.SMALL_WEIGHTS, lean.SMALL_WEIGHTS + 1):
        assert memory.rows_at_once(weights, "cpu") == decode.rows_at_once(weights, on_cpu=True)
        assert memory.rows_at_once(weights, "gpu") == decode.rows_at_once(weights, on_cpu=False)


# --------------------------------------------------------------------------- fitting


@pytest.mark.parametrize(("name", "memory_of_machine"), [("nano", 2), ("laptop", 16), ("tiny-test", 2)])
def test_the_small_presets_fit_the_machines_that_they_are_for(name: str, memory_of_machine: int) -> None:
    config = load_config(preset(name))
    shape = find_shape(config.model.name)
    assert shape is not None
    assert local_need(shape, config).peak < 8 * GB
    assert refusal(config.model.name, shape, config, memory_of_machine * GB, device="cpu") is None


@pytest.mark.parametrize("name", ["paper-4b", "paper-4b-thinking", "paper-8b"])
def test_the_papers_presets_are_refused_on_one_device_with_numbers_and_a_way_out(name: str) -> None:
    config = load_config(preset(name))
    shape = find_shape(config.model.name)
    assert shape is not None
    message = refusal(config.model.name, shape, config, 80 * GB, device="gpu")
    assert message is not None
    for words in (config.model.name, "optimiser", "float32 masters", "80.0 GB", "Nothing was loaded", "sharded over"):
        assert words in message
    world = smallest_world(shape, config, 80 * GB)
    assert world == 4
    assert sharded_need(shape, config, devices=world).peak < 80 * GB


def test_what_is_offered_fits() -> None:
    config = load_config(preset("paper-4b"))
    shape = KNOWN_SHAPES[config.model.name]
    options = what_fits(shape, config, 24 * GB, device="cpu")
    assert len(options) == 2
    changes = [word for word in options[0].words.split() if "=" in word]
    assert local_need(shape, load_config(preset("paper-4b"), overrides=changes)).peak == options[0].bytes <= 24 * GB


def test_a_model_that_cannot_fit_is_refused_before_anything_is_loaded_or_fetched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fetched(*_: Any, **__: Any) -> Path:
        raise AssertionError("nothing may be fetched")

    monkeypatch.setattr("evoenv.models.resolve.resolve_model", fetched)
    monkeypatch.setattr(devices, "host_memory", lambda: 24 * GB)
    config = load_config(preset("paper-4b"), overrides=["model.device=cpu", "engine.name=local"])
    words = r"Qwen3-4B-Instruct-2507 needs at least 8\d\.\d GB to be trained .* this machine has 24\.0 GB"
    with pytest.raises(ConfigError, match=words), assembly.open_ports(config, learns=True):
        pass
    with pytest.raises(ConfigError, match=words):
        assembly.open_policy(config, learns=True)
    # Only sampled from it would fit.
    assembly.check_memory(config, learns=False)


def test_a_container_may_have_less_than_its_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = host_memory()
    assert whole is not None
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(devices, "CGROUP_LIMITS", (limit,))
    limit.write_text("max\n")
    unlimited = host_memory()
    limit.write_text(f"{2 * GB}\n")
    assert find_device("cpu") == Device("cpu", "CPU", 2 * GB)
    assert unlimited is not None
    assert unlimited >= whole


# --------------------------------------------------------------------------- the command


def test_doctor_prints_what_a_preset_needs_and_refuses_it_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(devices, "host_memory", lambda: 24 * GB)
    command = [
        "doctor",
        "--preset",
        "paper-4b",
        "--set",
        "model.device=cpu",
        "--devices",
        "4,8",
        "--device-memory",
        "80",
    ]
    assert main([*command, "--json"]) == 1
    needs = json.loads(capsys.readouterr().out)["preset"]
    assert needs["parameters"] == 4_022_468_096
    assert [need["fits"] for need in needs["needs"]] == [False, True, True]
    assert needs["needs"][0]["held"]["optimiser"] == 8 * 4_022_468_096
    assert main(command) == 1
    text = capsys.readouterr().out
    for words in ("Memory of each device for paper-4b", "key-value cache", "4 devices", "Refused here", "lora_rank"):
        assert words in text


def test_doctor_says_that_a_small_preset_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--preset", "nano", "--set", "model.device=cpu"]) == 0
    assert "Refused" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--preset", "nanoo"], "did you mean 'nano'"),
        (["--preset", "nano", "--devices", "0"], "--devices has 0"),
        (["--preset", "nano", "--tensor-parallel", "0"], "--tensor-parallel is 0"),
        (["--set", "run.steps=2"], "name one with --preset"),
    ],
)
def test_doctor_refuses_what_makes_no_sense(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *options]) == 2
    assert words in capsys.readouterr().err


def test_shares_that_do_not_fit_a_device_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "find_device", lambda _: Device("gpu", "a card", 24 * GB))
    config = load_config(preset("paper-4b"), overrides=["engine.devices_per_node=2"])
    # weights, reference, gradients and AdamW take 20 bytes a parameter: 37.5 GB on each of two devices, and libraries
    with pytest.raises(ConfigError, match=r"needs at least 39\.\d GB of each of 2 devices .* this GPU has 24\.0 GB"):
        assembly.check_memory(config, learns=True)
    assembly.check_memory(load_config(preset("paper-4b")), learns=True)
    monkeypatch.setattr(devices, "find_device", lambda _: Device("cpu", "CPU", 24 * GB))
    with pytest.raises(ConfigError, match=r"each of 8 devices to be trained, and here they would share 24\.0 GB"):
        assembly.check_memory(load_config(preset("paper-4b")), learns=True)
    assembly.check_memory(load_config(preset("nano"), overrides=["engine.name=verl"]), learns=True)


def test_packed_weights_are_a_second_copy_with_lora_and_else_at_most_of_what_is_tied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shape = KNOWN_SHAPES["Qwen2.5-Coder-0.5B-Instruct"]
    settings = {"model": {"dtype": "float32", "packed": True}, "training": {"lora_rank": 8}}
    config = load_config(settings)
    for machine, size, beside in (("x86_64", 2, 0), ("aarch64", 4, 4 * 151_936 * 896)):
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        assert local_need(shape, config).bytes_of("packed weights") == size * shape.parameters
        assert local_need(shape, config, trains=False).bytes_of("packed weights") == beside
    whole = load_config(settings, overrides=["training.lora_rank=0"])
    assert local_need(shape, whole).bytes_of("packed weights") == 0
    for other in ("model.packed=false", "model.dtype=bfloat16"):
        assert local_need(shape, load_config(settings, overrides=[other])).bytes_of("packed weights") == 0
    assert local_need(shape, config, device="gpu").bytes_of("packed weights") == 0
