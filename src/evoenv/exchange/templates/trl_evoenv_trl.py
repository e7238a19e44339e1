"""This export for TRL: rows, a reward function, and an environment class.

    from evoenv_trl import Environment, environment_rows, reward, rows

    GRPOTrainer(model=…, train_dataset=Dataset.from_list(rows("train")), reward_funcs=reward)
    GRPOTrainer(model=…, train_dataset=Dataset.from_list(environment_rows("train")), environment_factory=Environment)

A row names its instance by environment, seed and difficulty, so that all completions of a group answer the same
instance. Answers are in neither the rows nor the environment's state; scoring happens in the sandbox of `scorer/`.
"""

import json
from pathlib import Path
from typing import Any

from evoenv.exchange.scorer.loading import load_scorer

HERE = Path(__file__).resolve().parent
SCORER = load_scorer(HERE / "scorer")
INSTRUCTION = "Solve the task, then hand in the final answer with the tool `submit`.\n\n"


def rows(split: str = "train") -> list[dict[str, Any]]:
    """Return the instances of a split, for the reward function."""
    with (HERE / f"{split}.jsonl").open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def reward(
    prompts: list[Any],
    completions: list[Any],
    environment_id: list[str],
    seed: list[int],
    difficulty: list[int],
    **_: Any,
) -> list[float]:
    """Return a score in [0, 1] for each completion."""
    texts = [final_text(completion) for completion in completions]
    scores: list[float] = SCORER.score_many(zip(environment_id, seed, difficulty, texts, strict=True))
    return scores


reward.__name__ = "evoenv_reward"  # the name under which TRL logs it


def final_text(completion: Any) -> str:
    """Return what the assistant said last; TRL gives text for plain prompts and messages for chats."""
    if isinstance(completion, str):
        return completion
    said = [message.get("content") for message in completion if message.get("role") == "assistant"]
    last = said[-1] if said else ""
    if isinstance(last, list):  # content in parts
        return "".join(part.get("text", "") for part in last if isinstance(part, dict))
    return last or ""


def environment_rows(split: str = "train") -> list[dict[str, Any]]:
    """Return the same instances for `environment_factory`: the task itself comes from `Environment.reset`."""
    return [{**row, "prompt": [{"role": "user", "content": INSTRUCTION}]} for row in rows(split)]


class Environment:
    """One instance; the model hands its answer in by calling `submit`."""

    def __init__(self) -> None:
        self._instance: tuple[str, int, int] | None = None
        self._answer: str | None = None

    def reset(self, environment_id: str, seed: int, difficulty: int, **_: Any) -> str:
        self._instance, self._answer = (environment_id, seed, difficulty), None
        task: str = SCORER.instance(environment_id, seed, difficulty)["task"]
        return task

    def submit(self, answer: str) -> str:
        """
        Hand in the final answer. Only the first one counts.

        Args:
            answer: The final answer alone, written the way the task asks for.

        Returns:
            That the answer was taken.
        """
        if self._answer is not None:
            return "An answer was handed in already; it stands."
        self._answer = str(answer)
        return "The answer was taken."

    def get_reward(self) -> float:
        if self._instance is None or self._answer is None:
            return 0.0
        score: float = SCORER.score(*self._instance, f"<answer>{self._answer}</answer>")
        return score
