"""One episode: `reset` draws an instance of a verified environment, `step` scores the response to it.

`reset(split="test", index=3)` is one of the exported tasks; `reset(seed=7)` draws, and `environment` (a name or id) and
`difficulty` may be named with it. The answer is in no observation and no state: scoring recomputes the instance, in a
process of its own that the environment's code cannot leave.
"""

import hashlib
import json
import secrets
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata, State

from . import scorer

try:
    from ..models import EvoEnvAction, EvoEnvObservation
except ImportError:  # run from the package's directory, where `server` is at the top
    from models import EvoEnvAction, EvoEnvObservation

HERE = Path(__file__).parent
NAME = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["name"]
SPLITS = ("train", "test")
ATTEMPTS = 20


class EvoEnvEnvironment(Environment[EvoEnvAction, EvoEnvObservation, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State(episode_id=str(uuid4()), step_count=0)
        self._task: dict[str, Any] | None = None
        self._done = False

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        split: str | None = None,
        index: int | None = None,
        environment: str | None = None,
        difficulty: int | None = None,
        **_: Any,
    ) -> EvoEnvObservation:
        if split is not None or index is not None:
            self._task = self._stored(split or "train", 0 if index is None else index)
        else:
            self._task = self._drawn(secrets.randbits(53) if seed is None else seed, environment, difficulty)
        self._done = False
        named = {key: self._task[key] for key in ("environment_id", "seed", "difficulty")}
        self._state = State(episode_id=episode_id or str(uuid4()), step_count=0, **named)
        return self._observe(self._task["prompt"])

    def step(self, action: EvoEnvAction, timeout_s: float | None = None, **_: Any) -> EvoEnvObservation:
        if self._task is None:
            raise RuntimeError("there is no task yet; call reset first")
        self._state.step_count += 1
        if self._done:
            return self._observe("The episode is over; reset for another task.", done=True, reward=0.0)
        self._done = True
        task = self._task
        item = (task["environment_id"], task["seed"], task["difficulty"], action.response)
        verdict = scorer.judge([item])[0]
        return self._observe("", done=True, reward=verdict["score"], format_ok=verdict["format_ok"])

    @property
    def state(self) -> State:
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        count = len(scorer.environments())
        return EnvironmentMetadata(
            name=NAME,
            description=f"{count} verified environments: a task, one response, a score in [0, 1]",
            version="0.1.0",
        )

    # ------------------------------------------------------------------ the tasks that were exported

    def list_splits(self) -> list[str]:
        return list(SPLITS)

    def num_tasks(self, split: str) -> int:
        return len(stored(known_split(split)))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        row = self._stored(split, index)
        key = f"{row['environment_id']}-{row['seed']}-{row['difficulty']}"
        return {"id": key, "index": index, "environment": row["environment"], "difficulty": row["difficulty"]}

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return self.get_task_range(split)

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        return [self.get_task(split, index) for index in range(*slice(start, stop).indices(self.num_tasks(split)))]

    # ------------------------------------------------------------------ inside

    def _stored(self, split: str, index: int) -> dict[str, Any]:
        rows = stored(known_split(split))
        if not 0 <= index < len(rows):
            raise IndexError(f"{split} has no task {index}; expected 0 to {len(rows) - 1}")
        return rows[index]

    def _drawn(self, seed: int, environment: str | None, difficulty: int | None) -> dict[str, Any]:
        """Draw an instance by its seed; what is not named follows from the seed, too."""
        rows = [row for row in scorer.environments() if environment in (None, row["id"], row["name"])]
        if not rows:
            raise ValueError(f"there is no environment {environment!r} here; get_task lists the names")
        levels = sorted({row["difficulty"] for split in SPLITS for row in stored(split)})
        for attempt in range(ATTEMPTS):
            number = hashed(seed, attempt)
            row = rows[number % len(rows)]
            level = levels[number // len(rows) % len(levels)] if difficulty is None else difficulty
            try:
                found = scorer.instance(row["id"], hashed(seed, attempt, "again") % 2**53 if attempt else seed, level)
            except ValueError:
                if attempt == ATTEMPTS - 1:
                    raise
                continue  # an environment may have no instance at some seed
            return {**found, "environment": row["name"]}
        raise AssertionError("unreachable")

    def _observe(self, prompt: str, **fields: Any) -> EvoEnvObservation:
        assert self._task is not None
        named = {key: self._task[key] for key in ("environment", "environment_id", "difficulty")}
        return EvoEnvObservation(prompt=prompt, **named, **fields)


def hashed(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "big")


def known_split(split: str) -> str:
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; expected one of: {', '.join(SPLITS)}")
    return split


@cache
def stored(split: str) -> tuple[dict[str, Any], ...]:
    with (HERE / f"{split}.jsonl").open(encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)
