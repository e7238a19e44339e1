"""A LoRA adapter as a model: the checkpoint of a run is sampled as the run itself would sample."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file

from evoenv.config import ModelConfig, TrainingConfig
from evoenv.engines.local.policy import LocalPolicy
from evoenv.errors import ModelError
from evoenv.models.registry import PACKAGED_MODELS
from evoenv.models.resolve import load_model, load_tokenizer, resolve_model
from evoenv.models.shapes import find_shape, shape_in
from evoenv.models.token_texts import decoder_of

LORA = TrainingConfig(lora_rank=2)


@pytest.fixture
def checkpoint(tiny_directories: dict[str, Path], tmp_path: Path) -> Path:
    """What a run with LoRA saves, its adapter moved away from where it started: at first it changes nothing."""
    model = ModelConfig(name=str(tiny_directories["qwen3"]), device="cpu", dtype="float32")
    policy = LocalPolicy.open(model, LORA, checkpoints=tmp_path / "checkpoints", progress=False)
    torch.manual_seed(0)
    for name, weight in policy.model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.1)
    return tmp_path / "checkpoints" / policy.save()


def logits(model: object) -> torch.Tensor:
    with torch.inference_mode():
        return model(torch.arange(3, 20)[None]).logits  # type: ignore[operator,no-any-return]


def test_a_checkpoint_with_lora_is_the_model_that_it_makes(
    checkpoint: Path, tiny_directories: dict[str, Path], tmp_path: Path
) -> None:
    merged = resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
    start = load_model(tiny_directories["qwen3"], "cpu", "float32")
    before = logits(start)
    expected = logits(PeftModel.from_pretrained(start, str(checkpoint)))
    found = logits(load_model(merged, "cpu", "float32"))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert (found - before).abs().max() > 0.01
    assert load_tokenizer(merged).chat_template == load_tokenizer(checkpoint).chat_template
    assert resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False) == merged
    made = [path for path in (tmp_path / "cache" / "models").iterdir() if path.is_dir()]
    assert made == [merged]


def test_an_adapter_without_a_tokenizer_has_that_of_its_model(
    checkpoint: Path, tiny_directories: dict[str, Path], tmp_path: Path
) -> None:
    for path in checkpoint.glob("tokenizer*"):
        path.unlink()
    merged = resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
    assert load_tokenizer(merged).get_vocab() == load_tokenizer(tiny_directories["qwen3"]).get_vocab()


def test_another_adapter_is_another_model(checkpoint: Path, tmp_path: Path) -> None:
    first = resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
    weights = checkpoint / "adapter_model.safetensors"
    save_file({name: 2 * value for name, value in load_file(weights).items()}, weights)
    (checkpoint / "state.json").unlink()  # it has the digest of the weights that a run saved
    second = resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
    assert first != second
    assert not torch.equal(logits(load_model(first, "cpu")), logits(load_model(second, "cpu")))


def _describe(checkpoint: Path, **changes: object) -> None:
    path = checkpoint / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_model_of_another_machines_cache_is_known_by_its_folder(
    checkpoint: Path, tiny_directories: dict[str, Path], tmp_path: Path
) -> None:
    known = PACKAGED_MODELS["qwen2.5-coder-0.5b-instruct"]
    cached = tmp_path / "cache" / "models" / known.cache_key
    shutil.copytree(tiny_directories["qwen3"], cached)
    (cached / "evoenv.json").write_text("{}")
    _describe(checkpoint, base_model_name_or_path=f"/elsewhere/models/{known.cache_key}")
    merged = resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
    assert merged.name.startswith(known.cache_key)


def test_an_adapter_names_its_model_as_the_run_did(tmp_path: Path) -> None:
    policy = LocalPolicy.open(ModelConfig(name="tiny-test", device="cpu"), LORA, checkpoints=tmp_path, progress=False)
    description = json.loads((tmp_path / policy.save() / "adapter_config.json").read_text())
    assert description["base_model_name_or_path"] == "tiny-test"


def test_other_weights_than_those_it_was_trained_beside_are_refused(
    checkpoint: Path, tiny_directories: dict[str, Path], tmp_path: Path
) -> None:
    other = Path(shutil.copytree(tiny_directories["qwen3"], tmp_path / "other"))
    weights = load_file(other / "model.safetensors")
    save_file({name: 1.01 * value for name, value in weights.items()}, other / "model.safetensors", {"format": "pt"})
    _describe(checkpoint, base_model_name_or_path=str(other))
    with pytest.raises(ModelError, match=r"was trained beside other weights than those of .*other"):
        resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
    (checkpoint / "state.json").unlink()  # what peft saves elsewhere does not say
    first = resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
    save_file({name: 1.02 * value for name, value in weights.items()}, other / "model.safetensors", {"format": "pt"})
    assert resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False) != first


def test_a_run_in_bfloat16_started_from_the_same_weights(tiny_directories: dict[str, Path], tmp_path: Path) -> None:
    model = ModelConfig(name=str(tiny_directories["llama"]), device="cpu", dtype="bfloat16")
    checkpoint = tmp_path / LocalPolicy.open(model, LORA, checkpoints=tmp_path, progress=False).save()
    assert resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False).is_dir()


def test_a_training_may_go_on_from_an_adapter_whose_merged_model_is_gone(checkpoint: Path, tmp_path: Path) -> None:
    config = ModelConfig(name=str(checkpoint), device="cpu", dtype="float32")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVOENV_CACHE", str(tmp_path / "cache"))
        policy = LocalPolicy.open(config, LORA, checkpoints=tmp_path / "second", progress=False)
        second = tmp_path / "second" / policy.save()
        shutil.rmtree(tmp_path / "cache")
        merged = resolve_model(str(second), progress=False)
    expected = logits(load_model(resolve_model(str(checkpoint), cache=tmp_path / "again", progress=False), "cpu"))
    torch.testing.assert_close(logits(load_model(merged, "cpu")), expected, atol=1e-5, rtol=1e-5)


def test_the_shape_and_the_tokenizer_of_an_adapter_are_known_without_merging_it(
    checkpoint: Path, tiny_directories: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVOENV_CACHE", str(tmp_path / "cache"))
    assert find_shape(str(checkpoint)) == shape_in(tiny_directories["qwen3"])
    decode = decoder_of(tmp_path / "none", {"model": {"name": str(checkpoint)}})
    assert decode is not None
    assert len(decode([70, 71])) == 2
    assert not (tmp_path / "cache").exists()


def test_a_model_with_odd_settings_of_generation_can_be_merged(
    checkpoint: Path, tiny_directories: dict[str, Path], tmp_path: Path
) -> None:
    base = Path(shutil.copytree(tiny_directories["qwen3"], tmp_path / "base"))
    odd = {"do_sample": False, "temperature": 0.7, "eos_token_id": [1, 2]}
    (base / "generation_config.json").write_text(json.dumps(odd))
    _describe(checkpoint, base_model_name_or_path=str(base))
    merged = resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
    assert json.loads((merged / "generation_config.json").read_text()) == odd


def test_an_adapter_of_the_output_layer_is_refused(
    tiny_directories: dict[str, Path], checkpoint: Path, tmp_path: Path
) -> None:
    model = load_model(tiny_directories["qwen3"], "cpu", "float32")
    get_peft_model(model, LoraConfig(r=2, target_modules=["lm_head"], task_type="CAUSAL_LM")).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"changes the embedding or the output layer .*lm_head"):
        resolve_model(str(tmp_path), cache=tmp_path / "cache", progress=False)


def test_changed_weights_of_a_checkpoint_are_noticed(checkpoint: Path, tmp_path: Path) -> None:
    weights = checkpoint / "adapter_model.safetensors"
    save_file({name: 2 * value for name, value in load_file(weights).items()}, weights)
    with pytest.raises(ModelError, match=r"adapter_model\.safetensors is damaged: it does not match the SHA-256"):
        resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"megatron_config": {"a": 1}, "megatron_core": "os"}, "asks for Megatron's layers"),
        ({"layer_replication": [[0, 1]]}, "does not fit"),
        ({"base_model_name_or_path": None}, "does not say to which model it belongs"),
        ({"base_model_name_or_path": "itself"}, "names its own directory"),
        ({"base_model_name_or_path": "/no/such/model"}, r"belongs was not found: .*/no/such/model does not exist"),
        ({"peft_type": "IA3"}, "holds no LoRA adapter: expected peft_type LORA"),
        ({"r": 4}, "does not fit .*size mismatch"),
        ({"target_modules": ["q_proj"]}, "does not fit .* of its matrices have no place there or are missing"),
        ({"target_modules": ["nowhere"]}, "does not fit .*nowhere"),
    ],
)
def test_an_adapter_that_cannot_be_merged_says_why_and_leaves_nothing(
    checkpoint: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    _describe(checkpoint, **{key: str(checkpoint) if value == "itself" else value for key, value in changes.items()})
    with pytest.raises(ModelError, match=f"(?s){message}"):
        resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
    assert not [path for path in tmp_path.glob("cache/models/*") if path.is_dir()]


def test_a_damaged_adapter_is_named(checkpoint: Path, tmp_path: Path) -> None:
    weights = checkpoint / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    with pytest.raises(ModelError, match=r"adapter_model\.safetensors is truncated"):
        resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
    weights.unlink()
    with pytest.raises(ModelError, match="holds no LoRA adapter"):
        resolve_model(str(checkpoint), cache=tmp_path / "cache", progress=False)
