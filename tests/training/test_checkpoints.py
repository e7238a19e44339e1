import json
import logging
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from training_support import learn, plain_logprobs, random_groups, tiny_model
from transformers import AutoModelForCausalLM

from evoenv.config import TrainingConfig
from evoenv.errors import ModelError, StoreError
from evoenv.training import checkpoints
from evoenv.training.update import Trainer

CONFIG = TrainingConfig(learning_rate=1e-2, warmup_steps=3, kl=0.1)


def fresh(**settings: Any) -> Trainer:
    kind = settings.pop("kind", "llama")
    dtype = settings.pop("dtype", torch.float32)
    return Trainer(tiny_model(kind, dtype=dtype), None, msgspec.structs.replace(CONFIG, **settings))


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


def assert_same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> None:
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "llama"},
        {"kind": "qwen3", "minibatches": 2},
        {"kind": "llama", "lora_rank": 2},
        {"kind": "llama", "dtype": torch.bfloat16},
        {"kind": "llama", "optimizer": "muon", "schedule": "linear", "schedule_steps": 6},
        {"kind": "llama", "optimizer": "muon", "dtype": torch.bfloat16},
    ],
)
def test_the_next_update_after_load_gives_the_same_bits(settings: dict[str, Any], tmp_path: Path) -> None:
    straight = fresh(**settings)
    for step in range(2):
        learn(straight, random_groups(step))
    straight.save(tmp_path / "checkpoint")
    resumed = fresh(**settings)
    resumed.load(tmp_path / "checkpoint")
    assert resumed.step == 2
    for step in (2, 3):
        assert learn(straight, random_groups(step))["loss/total"] == learn(resumed, random_groups(step))["loss/total"]
    assert_same(weights(straight), weights(resumed))
    assert_same(straight.optimizer.state(), resumed.optimizer.state())


@pytest.mark.parametrize(("written", "read"), [("muon", "adamw"), ("adamw", "muon")])
def test_a_checkpoint_of_another_optimiser_is_refused(written: str, read: str, tmp_path: Path) -> None:
    first = fresh(kind="llama", optimizer=written)
    learn(first, random_groups(0))
    first.save(tmp_path / "checkpoint")
    other = fresh(kind="llama", optimizer=read)
    before = weights(other)
    with pytest.raises(ModelError, match=f'resume with training.optimizer = "{written}"'):
        other.load(tmp_path / "checkpoint")
    assert_same(weights(other), before)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [pytest.param(0, marks=pytest.mark.long), 2])
def test_a_killed_run_ends_with_the_weights_of_an_uninterrupted_one(rank: int, tmp_path: Path) -> None:
    script = Path(__file__).with_name("resume_run.py")
    command = [sys.executable, str(script), str(tmp_path), str(rank)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    assert ends == {"whole": 0, "killed": -signal.SIGKILL, "resumed": 0}, done.stderr
    whole, resumed = ((tmp_path / f"{mode}.hash").read_text() for mode in ("whole", "resumed"))
    assert resumed == whole != ""
    assert not (tmp_path / "killed.hash").exists()


def test_random_states_come_back(tmp_path: Path) -> None:
    trainer = fresh()
    trainer.save(tmp_path / "checkpoint")
    expected = torch.rand(3), random.random()
    trainer.load(tmp_path / "checkpoint")
    assert torch.equal(torch.rand(3), expected[0])
    assert random.random() == expected[1]


def test_a_checkpoint_is_a_model_that_transformers_loads(tmp_path: Path) -> None:
    trainer = fresh(kind="qwen3")
    learn(trainer, random_groups(0))
    trainer.save(tmp_path / "checkpoint")
    sample = random_groups(0)[0].samples[0]
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "checkpoint")
    assert plain_logprobs(loaded, sample) == pytest.approx(plain_logprobs(trainer.model, sample), abs=1e-6)


def test_with_lora_only_the_adapter_is_written(tmp_path: Path) -> None:
    trainer = fresh(lora_rank=2)
    trainer.save(tmp_path / "checkpoint")
    names = {path.name for path in (tmp_path / "checkpoint").iterdir()}
    assert names == {
        "adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors", "rng.safetensors", "state.json"
    }  # fmt: skip


class Crash(BaseException):
    """Stands for a kill: nothing catches it."""


@pytest.mark.parametrize(
    ("function", "after"), [*(("rename", count) for count in range(4)), *(("fsync", count) for count in range(8))]
)
def test_a_crash_at_any_moment_leaves_one_whole_checkpoint(
    function: str, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "checkpoint"
    trainer = fresh()
    trainer.save(place)
    learn(trainer, random_groups(0))
    real, calls = getattr(os, function), 0

    def crash(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > after:
            raise Crash
        return real(*arguments)

    monkeypatch.setattr(os, function, crash)
    try:
        trainer.save(place)
        survived = True
    except Crash:
        survived = False
    monkeypatch.undo()
    resumed = fresh()
    resumed.load(place)
    assert resumed.step == 1 if survived else resumed.step in (0, 1)
    assert_same(weights(resumed), weights(trainer if resumed.step else fresh()))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_a_full_disk_leaves_the_earlier_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = fresh()
    trainer.save(tmp_path / "checkpoint")
    learn(trainer, random_groups(0))
    usage = type("usage", (), {"free": 1000})
    monkeypatch.setattr(checkpoints.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(StoreError, match="GB are free"):
        trainer.save(tmp_path / "checkpoint")
    resumed = fresh()
    resumed.load(tmp_path / "checkpoint")
    assert resumed.step == 0


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def forget_step(path: Path) -> None:
    state = json.loads(path.read_text())
    del state["step"]
    path.write_text(json.dumps(state))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("damage", "name", "message"),
    [
        (truncate, "model.safetensors", r"model.safetensors has \d+ bytes, expected"),
        (flip, "model.safetensors", "model.safetensors does not match its SHA-256"),
        (flip, "optimizer.safetensors", "optimizer.safetensors does not match"),
        (Path.unlink, "rng.safetensors", "rng.safetensors is missing"),
        (truncate, "state.json", "state.json cannot be read"),
        (forget_step, "state.json", "state.json does not mention step"),
    ],
)
def test_a_damaged_checkpoint_is_named_and_touches_nothing(
    damage: Any, name: str, message: str, tmp_path: Path
) -> None:
    trainer = fresh()
    learn(trainer, random_groups(0))
    trainer.save(tmp_path / "checkpoint")
    damage(tmp_path / "checkpoint" / name)
    other = fresh()
    before = weights(other)
    with pytest.raises(ModelError, match=f"is damaged: {message}"):
        other.load(tmp_path / "checkpoint")
    assert_same(weights(other), before)


def test_no_checkpoint_and_other_formats_are_said_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no checkpoint at"):
        fresh().load(tmp_path / "nowhere")
    fresh().save(tmp_path / "checkpoint")
    path = tmp_path / "checkpoint" / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(ModelError, match="has format 99, expected 1"):
        fresh().load(tmp_path / "checkpoint")


def test_a_checkpoint_of_another_start_or_shape_is_refused(tmp_path: Path) -> None:
    fresh().save(tmp_path / "full")
    fresh(lora_rank=2).save(tmp_path / "lora")
    other = Trainer(tiny_model("llama", seed=1, dtype=torch.float32), None, CONFIG)
    with pytest.raises(ModelError, match="trained from other weights"):
        other.load(tmp_path / "full")
    with pytest.raises(ModelError, match="holds full weights, expected a LoRA adapter"):
        fresh(lora_rank=2).load(tmp_path / "full")
    with pytest.raises(ModelError, match="holds a LoRA adapter, expected full weights"):
        fresh().load(tmp_path / "lora")
    with pytest.raises(ModelError, match="does not fit"):
        fresh(lora_rank=4).load(tmp_path / "lora")
    with pytest.raises(ModelError, match="differ in"):
        Trainer(tiny_model("llama", num_hidden_layers=1), None, msgspec.structs.replace(CONFIG, kl=0.0)).load(
            tmp_path / "full"
        )


def test_changed_settings_are_used_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fresh().save(tmp_path / "checkpoint")
    changed = fresh(learning_rate=3e-2, warmup_steps=0)
    with caplog.at_level(logging.WARNING):
        changed.load(tmp_path / "checkpoint")
    assert "training.learning_rate was 0.01 when the checkpoint was written and is 0.03 from here on" in caplog.text
    assert learn(changed, random_groups(0))["update/learning_rate"] == 3e-2
