"""A small run for the resume test, three times over: `resume_run.py DIRECTORY RANK`.

Four updates on groups that the model samples itself, with torch's global random state. `whole` does them all, `killed`
saves after the second and dies in the middle of the third, `resumed` does the rest; those that come to their end write
the hash of their weights. Each is a process of its own, forked from one that has done nothing but import. Prints how
they ended.
"""

import hashlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path

import torch
from training_support import learn, sample_group, tiny_model

from evoenv.config import TrainingConfig
from evoenv.training.update import Trainer


def run(mode: str, directory: Path, rank: int) -> None:
    config = TrainingConfig(learning_rate=1e-2, warmup_steps=3, lora_rank=rank, minibatches=2, kl=0.05)
    trainer = Trainer(tiny_model("llama", dtype=torch.float32), None, config)
    torch.manual_seed(7)
    if mode == "resumed":
        trainer.load(directory / "checkpoint")
    while trainer.step < 4:
        if mode == "killed" and trainer.step == 2:
            trainer.save(directory / "checkpoint")
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
    (directory / f"{mode}.hash").write_text(digest.hexdigest())


def ending(mode: str, directory: Path, rank: int) -> int:
    """Return the exit code of a process that does this run; negative if a signal ended it."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        run(mode, directory, rank)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    torch.set_num_threads(1)
    place, rank = Path(sys.argv[1]), int(sys.argv[2])
    print(json.dumps({mode: ending(mode, place, rank) for mode in ("whole", "killed", "resumed")}))
