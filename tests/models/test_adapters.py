"""A LoRA adapter as a model: the checkpoint of a run is sampled as the run itself would sample."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file

from evoenv.config import ModelConfig, TrainingConfig
from evoenv.engines.local.policy import LocalPolicy
from evoenv.errors import ModelError
from evoenv.models.registry import PACKAGED_MODELS
from evoenv.models.resolve import load_model, load_tokenizer, resolve_model

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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base_model_name_or_path": None}, "does not say to which model it belongs"),
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
    _describe(checkpoint, **changes)
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
