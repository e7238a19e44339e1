"""A small run for the resume test: `resume_run.py DIRECTORY RANK (whole|killed|resumed)`.

Four updates on groups that the model samples itself, with torch's global random state. `killed` saves after the second
and dies in the middle of the third, `resumed` does the rest; the last one standing prints the hash of its weights.
"""

import hashlib
import os
import signal
import sys
from pathlib import Path

import torch
from training_support import learn, sample_group, tiny_model

from evoenv.config import TrainingConfig
from evoenv.training.update import Trainer

directory, rank, mode = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
config = TrainingConfig(learning_rate=1e-2, warmup_steps=3, lora_rank=rank, minibatches=2, kl=0.05)
trainer = Trainer(tiny_model("llama", dtype=torch.float32), None, config)
torch.manual_seed(7)
if mode == "resumed":
    trainer.load(directory)
while trainer.step < 4:
    if mode == "killed" and trainer.step == 2:
        trainer.save(directory)
        next(iter(trainer.optimizer.weights.values())).register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
    groups = [
        sample_group(
            trainer.model,
            (1, number),
            role="solver" if number % 2 else "generator",
            count=6,
            length=5,
            reward=lambda reply: float(sum(reply)),
            generator=torch.default_generator,
        )
        for number in range(4)
    ]
    learn(trainer, groups)
digest = hashlib.sha256()
for name, weight in sorted(trainer.model.state_dict().items()):
    digest.update(name.encode() + weight.numpy().tobytes())
print(digest.hexdigest())
