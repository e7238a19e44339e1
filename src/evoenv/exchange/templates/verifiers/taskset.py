"""Verified environments as a verifiers taskset: one task per instance, scored by the environment's own scorer.

The data of a task names its instance (environment, seed, difficulty) and holds no answer: it is recorded in traces and
handed to harnesses. References for `vf-validate` are in `answers.json`, which nothing else reads.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import verifiers.v1 as vf
from pydantic import Field

from . import scorer
from .scorer._evoenv.environment.answers import extract_answer

HERE = Path(__file__).parent
RIGHT = 1.0


class EvoEnvData(vf.TaskData):
    """What is known of a task besides its prompt."""

    environment_id: str
    environment: str
    seed: int
    difficulty: int


class EvoEnvTask(vf.Task[EvoEnvData]):
    @property
    def key(self) -> str:
        return f"{self.data.environment_id}-{self.data.seed}-{self.data.difficulty}"

    async def grade(self, response: str) -> float:
        """Score a whole response with the environment's scorer; in a thread, since it waits for another process."""
        data = self.data
        return await asyncio.to_thread(scorer.score, data.environment_id, data.seed, data.difficulty, response)

    @vf.reward(weight=1.0)
    async def correct(self, trace: vf.Trace) -> float:
        return await self.grade(trace.last_reply)

    @vf.metric
    async def format_ok(self, trace: vf.Trace) -> float:
        """Return whether a final answer could be cut out of the reply."""
        return float(extract_answer(trace.last_reply) is not None)

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """Check that the reference scores 1; None if the environment keeps no full answer."""
        answer = answers().get(self.key)
        return None if answer is None else await self.grade(f"<answer>{answer}</answer>") == RIGHT


class EvoEnvConfig(vf.TasksetConfig):
    split: Literal["train", "test", "fresh"] = "train"
    """`fresh` draws new instances without end; none of them has a prompt of the test split."""
    environments: list[str] = Field(default_factory=list)
    """Names or ids of the environments to use; empty: all."""
    difficulties: list[int] = Field(default_factory=list)
    """Levels to use; empty: all that were exported."""
    draw: int = 0
    """Names the stream of fresh instances: another number, other instances."""


class EvoEnvTaskset(vf.Taskset[EvoEnvTask, EvoEnvConfig]):
    def __init__(self, config: EvoEnvConfig) -> None:
        super().__init__(config)
        self.INFINITE = config.split == "fresh"
        known = {row[key] for row in scorer.environments() for key in ("id", "name")}
        if unknown := sorted(set(config.environments) - known):
            raise ValueError(
                f"there is no environment {unknown[0]!r} here; expected some of: {', '.join(sorted(known))}"
            )

    def load(self) -> Iterator[EvoEnvTask]:
        rows = self._fresh() if self.config.split == "fresh" else self._stored()
        for row in rows:
            yield EvoEnvTask(EvoEnvData(name=row["environment"], **row), self.config.task)

    def _stored(self) -> Iterator[dict[str, Any]]:
        for row in stored(self.config.split):
            if self._wanted(row["environment_id"], row["environment"]) and self._level(row["difficulty"]):
                yield row

    def _fresh(self) -> Iterator[dict[str, Any]]:
        names = {row["id"]: row["name"] for row in scorer.environments() if self._wanted(row["id"], row["name"])}
        levels = sorted({row["difficulty"] for row in stored("train") if self._level(row["difficulty"])})
        levels = levels or sorted(set(self.config.difficulties))
        seen = {row["prompt"] for row in stored("test")}
        for index in itertools.count():
            number = hashed(self.config.draw, index)
            try:
                found = scorer.instance(
                    list(names)[number % len(names)],
                    hashed(self.config.draw, index, "seed") % 2**53,
                    levels[number // len(names) % len(levels)],
                )
            except ValueError:
                continue  # an environment may have no instance at some seed
            if found["prompt"] not in seen:
                kept = {key: found[key] for key in ("environment_id", "seed", "difficulty", "prompt")}
                yield {**kept, "environment": names[found["environment_id"]]}

    def _wanted(self, identity: str, name: str) -> bool:
        wanted = self.config.environments
        return not wanted or identity in wanted or name in wanted

    def _level(self, level: int) -> bool:
        return not self.config.difficulties or level in self.config.difficulties


def hashed(*parts: object) -> int:
    """Hash parts to a seed. Seeds are never added up: neighbouring ones would share instances."""
    return int.from_bytes(hashlib.blake2b(repr(("fresh", *parts)).encode(), digest_size=8).digest(), "big")


@cache
def stored(split: str) -> tuple[dict[str, Any], ...]:
    with (HERE / f"{split}.jsonl").open(encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


@cache
def answers() -> dict[str, str]:
    found: dict[str, str] = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))
    return found
