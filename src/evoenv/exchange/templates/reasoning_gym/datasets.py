"""One reasoning-gym data set per environment, each with a curriculum over its difficulty.

An item names its instance in `metadata` (environment, seed, level), so that scoring recomputes it: an item whose answer
was lost on the way is scored all the same. Seeds are hashed from the data set's seed and the index: data sets of
neighbouring seeds do not share their items.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from reasoning_gym.coaching import BaseCurriculum, RangeAttributeDefinition
from reasoning_gym.factory import ProceduralDataset, register_dataset

from . import scorer
from .forms import FORMS, PART_FORMS

PACKAGE: dict[str, Any] = json.loads((Path(__file__).parent / "package.json").read_text(encoding="utf-8"))
LEVELS: list[int] = PACKAGE["difficulties"]
ATTEMPTS = 20
RIGHT = 1.0


@dataclass
class EvoEnvConfig:
    """Which levels the instances are drawn from."""

    min_difficulty: int = LEVELS[0]
    max_difficulty: int = LEVELS[-1]
    seed: int | None = None
    size: int = 500

    def validate(self) -> None:
        assert self.size > 0, "size must be positive"
        assert self.min_difficulty >= 0, "min_difficulty must not be negative"
        assert self.max_difficulty >= self.min_difficulty, "max_difficulty must be >= min_difficulty"


class EvoEnvDataset(ProceduralDataset):
    """Instances of one environment."""

    name: ClassVar[str]
    environment_id: ClassVar[str]
    forms: ClassVar[list[Any]]
    """Ways to write an answer, the one that worked last first."""

    def __init__(self, config: EvoEnvConfig) -> None:
        super().__init__(config=config, seed=config.seed, size=config.size)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        low, high = self.config.min_difficulty, self.config.max_difficulty
        for attempt in range(ATTEMPTS):
            number = hashed(self.seed, idx, attempt)
            level = low + number % (high - low + 1)
            seed = hashed(self.seed, idx, attempt, "seed") % 2**53
            try:
                found = scorer.instance(self.environment_id, seed, level)
                break
            except ValueError:
                if attempt == ATTEMPTS - 1:
                    raise  # an environment may have no instance at some seeds, but hardly at twenty
        return {
            "question": found["task"],
            "answer": self.answer(seed, level),
            "metadata": {
                "source_dataset": self.name,
                "source_index": idx,
                "environment_id": self.environment_id,
                "seed": seed,
                "level": level,
                "difficulty": {"difficulty": (low, high)},
            },
        }

    def answer(self, seed: int, level: int) -> str | None:
        """Return the reference as a text that scores 1; None if the environment keeps no full answer."""
        value = scorer.reference_value(self.environment_id, seed, level)
        written: dict[str, Any] = {}
        for form in self.forms:
            try:
                text = form(value)
            except (TypeError, ValueError, OverflowError):
                continue
            if isinstance(text, str) and text.strip():
                written.setdefault(text.strip(), form)
        for texts in (list(written)[:1], list(written)[1:]):
            scores = scorer.score_many([(self.environment_id, seed, level, marked(text)) for text in texts])
            for text, score in zip(texts, scores, strict=True):
                if score >= RIGHT:
                    self.forms.sort(key=lambda form: form is not written[text])
                    return text
        return None

    def score_answer(self, answer: str | None, entry: dict[str, Any]) -> float:
        """Score an answer, or a whole response with an answer in it, with the environment's own scorer."""
        if not isinstance(answer, str) or not answer.strip():
            return 0.0
        known = entry["metadata"]
        return float(scorer.score(self.environment_id, known["seed"], known["level"], marked(answer)))


class EvoEnvCurriculum(BaseCurriculum):
    def __init__(self) -> None:
        super().__init__(type(self).__name__, EvoEnvConfig)
        self._define_attributes(
            RangeAttributeDefinition(
                name="difficulty",
                levels=list(range(LEVELS[0], LEVELS[-1] + 1)),
                default_level=0,
                description="Level of the instances",
                lower_field_name="min_difficulty",
                upper_field_name="max_difficulty",
            )
        )


def marked(answer: str) -> str:
    """Mark an answer as the scorer expects it: reasoning-gym hands over what its user has cut out of the response."""
    return answer if "</answer>" in answer.lower() else f"<answer>{answer}</answer>"


def hashed(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "big")


def register() -> dict[str, type[EvoEnvDataset]]:
    """Make a class per environment, at the top of this module under its own name, so that data sets can be pickled."""
    made: dict[str, type[EvoEnvDataset]] = {}
    for name, (environment_id, title) in PACKAGE["datasets"].items():
        own = {"name": name, "environment_id": environment_id, "forms": [*FORMS, *PART_FORMS], "__module__": __name__}
        kind = type(f"{title}Dataset", (EvoEnvDataset,), own)
        globals()[kind.__name__] = made[name] = kind
        register_dataset(name, kind, EvoEnvConfig, EvoEnvCurriculum)
    return made


DATASETS = register()
"""The registered data sets by name."""
