"""Training that really trains: reward alone, a fixed seed, and a rise far beyond noise."""

import msgspec
import pytest
import torch
from training_support import sample_group, tiny_model

from evoenv.config import TrainingConfig
from evoenv.training.update import Trainer

WORDS = 16
CONFIG = TrainingConfig(learning_rate=1e-2, warmup_steps=2, weight_decay=0.0, kl=1e-3)


def train(trainer: Trainer, steps: int) -> tuple[list[float], list[float]]:
    """Mean rewards by step: the solver copies the last prompt token, the generator says 5s."""
    chance = torch.Generator().manual_seed(0)
    solver, generator = [], []
    for _ in range(steps):
        groups = []
        for digit in (10, 11, 12):
            groups.append(
                sample_group(
                    trainer.model,
                    (1, digit),
                    role="solver",
                    count=16,
                    length=2,
                    generator=chance,
                    reward=lambda reply, digit=digit: sum(token == digit for token in reply) / len(reply),
                )
            )
        groups.append(
            sample_group(
                trainer.model,
                (2, 3),
                role="generator",
                count=16,
                length=3,
                generator=chance,
                reward=lambda reply: sum(token == 5 for token in reply) / len(reply),
            )
        )
        metrics = trainer.update(groups)
        assert metrics["update/skipped"] == 0
        solver.append(sum(sum(group.rewards) / 16 for group in groups[:3]) / 3)
        generator.append(sum(groups[3].rewards) / 16)
    return solver, generator


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
@pytest.mark.parametrize("rank", [0, 8])
def test_both_roles_learn_from_reward_alone(kind: str, rank: int) -> None:
    config = msgspec.structs.replace(CONFIG, lora_rank=rank)
    # Embeddings of some size: LoRA leaves them as they are, and tiny ones could never give a sure answer.
    model = tiny_model(kind, dtype=torch.float32, vocab_size=WORDS, initializer_range=0.3)
    trainer = Trainer(model, None, config)
    frozen = {name: value.clone() for name, value in trainer.model.state_dict().items() if "lora_" not in name}
    solver, generator = train(trainer, 14)
    chance = 1 / WORDS
    assert solver[0] < 3 * chance
    assert sum(solver[-3:]) / 3 > 0.55
    assert sum(generator[-3:]) / 3 > 0.8
    if rank:
        now = trainer.model.state_dict()
        assert all(torch.equal(now[name], value) for name, value in frozen.items())
