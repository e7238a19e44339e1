"""verl's reward function for this export: `reward.custom_reward_function.path=…/compute_score.py`.

The ground truth in the Parquet files is for people to look at. What counts is the environment's own scorer, which
accepts every right answer and gives partial credit if it is due; it runs in the sandbox of `scorer/`.
"""

from pathlib import Path
from typing import Any

from evoenv.exchange.scorer.loading import load_scorer

SCORER = load_scorer(Path(__file__).resolve().parent / "scorer")


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any], **_: Any
) -> dict[str, float]:
    """Return the score in [0, 1], and for the logs: fully right or not, and whether there was an answer to judge."""
    item = (extra_info["environment_id"], extra_info["seed"], extra_info["difficulty"], solution_str)
    verdict = SCORER.judge([item])[0]
    return {
        "score": float(verdict["score"]),
        "acc": float(verdict["score"] >= 1.0),
        "format_ok": float(verdict["format_ok"]),
    }
