"""Train a model on the environments that it writes, and measure it before and after.

    python examples/train_and_evaluate.py RUN [PRESET]

The default preset, `tiny-test`, takes seconds: a random model of half a million weights that learns nothing useful.
`nano` takes minutes and admits environments of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import evoenv


def main(run_directory: Path, preset: str) -> None:
    config = evoenv.load_config(evoenv.preset(preset), overrides=["run.steps=2"])
    result = evoenv.train(config, run_directory)
    for step in result.steps:
        print(f"step {step.step}: mean score of the solver {step.metrics['solver/score']:.3f}")
    few = {"difficulties": [0], "instances": 1, "max_tokens": 24}
    before = evoenv.evaluate(config.model.name, "seeds", **few)
    after = evoenv.evaluate(result.directory, "seeds", **few)
    print(f"held-out accuracy: {before.accuracy.mean:.3f} before, {after.accuracy.mean:.3f} after")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "tiny-test")
