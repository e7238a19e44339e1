"""Build a verified pool without a model: the procedural author writes the candidates.

    python examples/synthesise_a_pool.py RUN

With a model behind a server, leave `policy` out and name it in the configuration instead:
`overrides=["model.base_url=http://localhost:8000/v1", "model.name=author-1"]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import evoenv
from evoenv.corpus import Author

CANDIDATES = 4
SETTINGS = [
    f"run.candidates={CANDIDATES}",
    f"generator.prompts={CANDIDATES}",
    "generator.candidates_per_prompt=1",
    "novelty.embedder=hashing",  # needs no weights
    "review.enabled=false",  # nobody is here to review, and to solve
    "calibration.enabled=false",
]


def main(run_directory: Path) -> None:
    author = Author(seed=0, split="train")
    answers = [f"```python\n{author.compose(index).source}\n```" for index in range(CANDIDATES)]
    policy = evoenv.ScriptedPolicy({"generator": answers}, trainable=False)
    config = evoenv.load_config(overrides=SETTINGS)
    result = evoenv.synthesise(config, run_directory, policy=policy)
    proposed = sum(step.metrics["funnel/candidates"] for step in result.steps)
    pool = [entry for entry in evoenv.load_entries(result.directory) if not entry.original]
    print(f"{proposed:.0f} proposed, {len(pool)} admitted")
    for entry in pool:
        print(f"{entry.name}: layer {entry.report.layer}, {', '.join(entry.tags)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
