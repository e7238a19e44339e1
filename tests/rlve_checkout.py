"""A folder that looks like a checkout of RLVE: three environments with controllers, two of them held out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ZOO = Path(__file__).parent / "zoo" / "sound"
ENVIRONMENTS = {
    "max_segment": "rlve_max_segment",
    "pair_counting": "rlve_closeness",
    "lattice_paths": "rlve_gold_is_answer",
}
HELD_OUT = ("MaxSegment", "PairCounting")

SEGMENT: dict[str, Any] = {"N": 3, "A": [1, -2, 3], "gold_answer": 3, "reference_answer": "2 2"}
PAIRS: dict[str, Any] = {"N": 4, "M": 2, "A": [1, 1, 2, 3], "K": 0, "reference_answer": 3}
ROWS = (
    ("MaxSegment", SEGMENT, 1.0, "The largest segment of 1 -2 3?"),
    ("PairCounting", PAIRS, 1.0, "How many pairs of 1 1 2 3 have an even sum?"),
    ("MaxSegment", SEGMENT, 0.1, "A good segment of 1 -2 3?"),
)
"""Environment, parameters, threshold, prompt. Sums of segments: 0 2 makes 2, which scores (2/3)^5 = 0.13."""


def make_checkout(directory: Path) -> Path:
    checkout = directory / "RLVE"
    for folder, file in ENVIRONMENTS.items():
        text = (ZOO / f"{file}.py").read_text(encoding="utf-8")
        head = text.index("\n\nclass ", text.index("_Environment("))
        imports = text[: text.index("\n\nclass ")]
        for kind, name, content in (
            ("environments", "environment", text[:head]),
            ("parameter_controllers", "parameter_controller", imports + text[head:]),
        ):
            path = checkout / "Gym" / kind / folder / f"{name}.py"
            path.parent.mkdir(parents=True)
            path.write_text(content, encoding="utf-8")
    rows = [
        {
            "user_prompt": prompt,
            "metadata": json.dumps(
                {
                    "environment": name,
                    "config": {"seed": 7, "parameter": parameter, "passing_reward_threshold": threshold},
                }
            ),
        }
        for name, parameter, threshold, prompt in ROWS
    ]
    test = checkout / "data" / "HELD-OUT_ENVIRONMENTS" / "test.json"
    test.parent.mkdir(parents=True)
    test.write_text(json.dumps(rows), encoding="utf-8")
    return checkout
