"""Our numbers against verl's and TRL's own functions, each in its own virtual environment, on the same batch."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from training_support import learn, plain_logprobs, random_groups, with_rollout

from evoenv.config import TrainingConfig
from evoenv.models.tiny import build_tiny_policy, build_tiny_tokenizer
from evoenv.objective import group_advantages
from evoenv.records import Group
from evoenv.training.update import Trainer

pytestmark = [pytest.mark.peer, pytest.mark.timeout(3600)]

HERE = Path(__file__).parent
CONFIG = TrainingConfig(kl=0.05, dual_clip=3.0, dr_grpo_tokens=64, warmup_steps=0)


def ask(peer: str, batch: dict[str, Any]) -> dict[str, Any]:
    sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))
    import peer_environments

    python = peer_environments.peer_python(peer, getattr(peer_environments, peer.upper()))
    command = [str(python), str(HERE / f"peer_{peer}.py")]
    result = subprocess.run(command, input=json.dumps(batch), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


@pytest.fixture(scope="module")
def model_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_policy(tmp_path_factory.mktemp("tiny"), "llama", initializer_range=0.2)


def load(directory: Path) -> Any:
    from transformers import AutoModelForCausalLM

    loader: Any = AutoModelForCausalLM
    return loader.from_pretrained(directory, dtype=torch.float32)


def moved_trainer(directory: Path, groups: list[Group], rate: float) -> Trainer:
    """Two updates away from the reference, so that no term of the loss is zero."""
    trainer = Trainer(load(directory), None, msgspec.structs.replace(CONFIG, learning_rate=rate))
    for _ in range(2):
        learn(trainer, groups)
    return trainer


def make_batch(model_directory: Path, rate: float) -> dict[str, Any]:
    """Groups, and what a peer must know of them and of the model after two updates."""
    model = load(model_directory)
    noise = torch.Generator().manual_seed(0)
    groups = [
        dataclasses.replace(
            group,
            samples=tuple(
                with_rollout(
                    sample,
                    logprobs=[
                        value + torch.randn((), generator=noise).item() for value in plain_logprobs(model, sample)
                    ],
                )
                for sample in group.samples
            ),
        )
        for group in random_groups(3, roles=["solver"] * 3)
    ]
    samples = [sample for group in groups for sample in group.samples]
    trainer = moved_trainer(model_directory, groups, rate)
    return {
        "groups": groups,
        "rate": rate,
        "peer": {
            "prompts": [list(sample.rollout.prompt_ids) for sample in samples],
            "replies": [list(sample.rollout.token_ids) for sample in samples],
            "sampled": [list(sample.rollout.logprobs) for sample in samples],
            "logp": [plain_logprobs(trainer.model, sample) for sample in samples],
            "reference": [plain_logprobs(model, sample) for sample in samples],
            "rewards": [reward for group in groups for reward in group.rewards],
            "group": [int(group.id) for group in groups for _ in group.samples],
            "advantages": [value for group in groups for value in group_advantages(group.rewards)],
            "centred": [value for group in groups for value in group_advantages(group.rewards, std=False)],
            "temperature": samples[0].rollout.temperature,
            **{name: getattr(CONFIG, name) for name in ("clip_low", "clip_high", "dual_clip", "kl", "dr_grpo_tokens")},
        },
    }


def ours(directory: Path, batch: dict[str, Any], aggregation: str) -> dict[str, float]:
    """Return the metrics of one update at the weights that the batch's `logp` belong to."""
    trainer = moved_trainer(directory, batch["groups"], batch["rate"])
    trainer.config = msgspec.structs.replace(trainer.config, aggregation=aggregation)
    return learn(trainer, batch["groups"])


def farthest(batch: dict[str, Any]) -> float:
    """Return the largest gap between reference and policy: k3 is clamped from about 2.6 on."""
    rows = zip(batch["peer"]["reference"], batch["peer"]["logp"], strict=True)
    return max(reference - logp for row in rows for reference, logp in zip(*row, strict=True))


def test_losses_and_advantages_are_those_of_verl(model_directory: Path) -> None:
    batch = make_batch(model_directory, 2e-4)
    assert farthest(batch) > 3.0  # verl clamps k3 as we do
    answer = ask("verl", batch["peer"])
    names = {
        "token-mean": "token-mean",
        "seq-mean-token-mean": "sequence-mean",
        "seq-mean-token-sum-norm": "dr-grpo",
    }
    for theirs, name in names.items():
        metrics = ours(model_directory, batch, name)
        expected = answer[theirs]
        print(f"\nverl {theirs}: {expected['loss']:.8f}  ours: {metrics['loss/total']:.8f}")
        assert metrics["loss/total"] == pytest.approx(expected["loss"], abs=1e-5)
        assert metrics["loss/solver"] == pytest.approx(expected["surrogate"], abs=1e-5)
        assert metrics["loss/kl"] == pytest.approx(expected["kl"], abs=1e-5)
        assert metrics["clip/solver_dual"] == pytest.approx(expected["dual"], abs=1e-5)
        assert expected["dual"] > 0
        advantages = batch["peer"]["centred" if name == "dr-grpo" else "advantages"]
        assert advantages == pytest.approx(expected["advantages"], abs=1e-9)


def test_losses_and_gradients_are_those_of_a_real_trl_trainer(model_directory: Path, tmp_path: Path) -> None:
    batch = make_batch(model_directory, 2e-5)
    assert 0.1 < farthest(batch) < 2.5  # TRL does not clamp k3
    trainer = moved_trainer(model_directory, batch["groups"], batch["rate"])
    trainer.model.save_pretrained(tmp_path)
    build_tiny_tokenizer().save_pretrained(tmp_path)
    answer = ask("trl", {**batch["peer"], "model": str(tmp_path)})
    names = {"bnpo": "token-mean", "dapo": "token-mean", "grpo": "sequence-mean", "dr_grpo": "dr-grpo"}
    for theirs, name in names.items():
        metrics = ours(model_directory, batch, name)
        expected = answer[theirs]
        print(f"\nTRL {theirs}: {expected['loss']:.8f}  ours: {metrics['loss/total']:.8f}", end="  ")
        print(f"gradient norm {expected['gradient_norm']:.6f}  ours: {metrics['grad/norm']:.6f}")
        assert metrics["loss/total"] == pytest.approx(expected["loss"], abs=1e-5)
        assert metrics["grad/norm"] == pytest.approx(expected["gradient_norm"], rel=1e-4)
