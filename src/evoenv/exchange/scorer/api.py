"""Generate instances of verified environments and score answers to them.

Needs Python 3.11 or later on Linux and nothing else: the sources of the environments lie in `environments/`, what
confines them (they were written by a language model) in `_evoenv/`. From Python:

    import scorer
    scorer.instance("1a2b3c4d5e6f7081", seed=7, difficulty=2)["prompt"]
    scorer.score("1a2b3c4d5e6f7081", 7, 2, "… so it is <answer>42</answer>")      # 0.0 to 1.0

From a shell: `python scorer list`, `python scorer instance ID SEED LEVEL`, `python scorer score ID SEED LEVEL TEXT`.

An instance is named by environment, seed and difficulty, so a training set needs to carry no answers. Scoring runs in a
process of its own without files, network or other processes, under limits of time and memory; whatever goes wrong
in there scores 0. If the kernel lacks the system call filter the sandbox refuses to start; set
EVOENV_ALLOW_DEGRADED=1 to run all the same, if you trust the environments.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from evoenv.environment.answers import extract_answer
from evoenv.sandbox.guest import codec
from evoenv.sandbox.host import Sandbox
from evoenv.sandbox.outcomes import MAX_ANSWER_PARTS, Ok, Outcome, checked_instance, score_of
from evoenv.sandbox.pool import Job, WorkerPool

__all__ = ["Scorer", "close", "environments", "instance", "judge", "reference", "score", "score_many"]

Item = tuple[str, int, int, str]
"""Environment id, seed, difficulty, response."""
NO_ANSWER = {"score": 0.0, "format_ok": False, "failure": None}


class Scorer:
    """One directory of environments with its sandbox, which starts at the first call. Thread-safe; survives a fork."""

    def __init__(self, directory: str | Path | None = None, *, allow_degraded: bool | None = None) -> None:
        self.directory = Path(directory) if directory is not None else Path(__file__).resolve().parent
        self.manifest: dict[str, Any] = json.loads((self.directory / "manifest.json").read_text(encoding="utf-8"))
        self._rows: dict[str, dict[str, Any]] = {row["id"]: row for row in self.manifest["environments"]}
        if allow_degraded is None:
            allow_degraded = os.environ.get("EVOENV_ALLOW_DEGRADED", "") not in ("", "0")
        self._allow_degraded = allow_degraded
        self._sources: dict[str, str] = {}
        self._lock = threading.Lock()
        self._opened: tuple[int, Sandbox, WorkerPool] | None = None

    def environments(self) -> list[dict[str, Any]]:
        """Return id, name, origin, licence and verdict of every environment."""
        return [dict(row) for row in self._rows.values()]

    def instance(self, environment_id: str, seed: int, difficulty: int) -> dict[str, Any]:
        """Return what the solver sees of an instance: `task` is the environment's text, `prompt` adds how to answer."""
        task, _, _ = self._instance(environment_id, seed, difficulty)
        template: str = self.manifest["solver_prompt"]
        return {
            "environment_id": environment_id,
            "name": self._row(environment_id)["name"],
            "seed": seed,
            "difficulty": difficulty,
            "task": task,
            "prompt": template.replace("{{task}}", task).strip(),
        }

    def reference(self, environment_id: str, seed: int, difficulty: int) -> Any:
        """Return the reference answer as plain JSON. For graders: never show it to a solver."""
        return plain(self._instance(environment_id, seed, difficulty)[2])

    def reference_value(self, environment_id: str, seed: int, difficulty: int) -> Any:
        """Return the reference answer as the environment made it, tuples and sets as such."""
        return codec.decode(self._instance(environment_id, seed, difficulty)[2])

    def score(self, environment_id: str, seed: int, difficulty: int, response: str) -> float:
        """Score a whole response, in [0, 1], by its last `<answer>…</answer>`, else its last `\\boxed{…}`."""
        return self.score_many([(environment_id, seed, difficulty, response)])[0]

    def score_many(self, items: Iterable[Item]) -> list[float]:
        """Score many at once, over all cores: one worker per environment."""
        return [float(verdict["score"]) for verdict in self.judge(items)]

    def judge(self, items: Iterable[Item]) -> list[dict[str, Any]]:
        """Score as `score_many` does, and say whether there was an answer to judge and why a scorer failed."""
        verdicts: list[dict[str, Any]] = []
        waiting: dict[str, list[tuple[int, list[Any]]]] = {}
        for index, (environment_id, seed, difficulty, response) in enumerate(items):
            self._row(environment_id)
            verdicts.append(dict(NO_ANSWER))
            answer = extract_answer(response) if isinstance(response, str) else None
            if answer is not None:
                item = [whole(seed, "seed"), whole(difficulty, "difficulty"), answer]
                waiting.setdefault(environment_id, []).append((index, item))
        jobs = [self._job(key, "score", [item for _, item in batch]) for key, batch in waiting.items()]
        for batch, outcomes in zip(waiting.values(), self._run(jobs), strict=True):
            for (index, _), outcome in zip(batch, outcomes, strict=True):
                judged = score_of(outcome)
                verdicts[index] = {"score": judged.value, "format_ok": True, "failure": judged.failure}
        return verdicts

    def close(self) -> None:
        """End the sandbox; the next call starts another."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None and opened[0] == os.getpid():
            opened[2].close()
            opened[1].close()

    # ----------------------------------------------------------------- inside

    def _instance(self, environment_id: str, seed: int, difficulty: int) -> Sequence[Any]:
        item = [whole(seed, "seed"), whole(difficulty, "difficulty")]
        outcome = checked_instance(self._run([self._job(environment_id, "instances", [item])])[0][0])
        if not isinstance(outcome, Ok):
            name = self._row(environment_id)["name"]
            raise ValueError(f"{name} has no instance at seed {seed}, difficulty {difficulty}: {outcome.message}")
        instance: Sequence[Any] = outcome.value[:3]
        return instance

    def _row(self, environment_id: str) -> dict[str, Any]:
        row = self._rows.get(environment_id)
        if row is None:
            raise ValueError(
                f"there is no environment {environment_id!r} in {self.directory}; environments() lists them"
            )
        return row

    def _job(self, environment_id: str, op: str, items: list[Any]) -> Job:
        self._row(environment_id)
        return Job(self._source(environment_id), op, items)

    def _source(self, environment_id: str) -> str:
        """Return the text of an environment; refuse it if it is not the one that was verified."""
        if environment_id not in self._sources:
            row = self._rows[environment_id]
            raw = (self.directory / "environments" / row["file"]).read_bytes()
            if hashlib.sha256(raw).hexdigest() != row["sha256"]:
                raise ValueError(
                    f"{row['file']} was changed after it was verified; export it again with `evoenv export`"
                )
            self._sources[environment_id] = raw.decode("utf-8", "surrogatepass")
        return self._sources[environment_id]

    def _run(self, jobs: Sequence[Job]) -> list[list[Outcome]]:
        return self._workers().run(jobs) if jobs else []

    def _workers(self) -> WorkerPool:
        with self._lock:
            # A forked copy of a trainer must not talk to the processes of the original.
            if self._opened is None or self._opened[0] != os.getpid():
                modules = sorted({module for row in self._rows.values() for module in row["modules"]})
                sandbox = Sandbox(allow_degraded=self._allow_degraded, modules=modules)
                self._opened = (os.getpid(), sandbox, WorkerPool(sandbox))
            return self._opened[2]


def whole(value: Any, name: str) -> int:
    """Read a whole number.

    Data sets hand numbers over in types of their own (numpy's, or floats if a column has gaps).
    """
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0 or number >= 2**63 or number != value:
        raise ValueError(f"{name} is {value!r}; expected a whole number, 0 ≤ {name} < 2^63")
    return number


def plain(encoded: Any) -> Any:
    """Return an encoded value as plain JSON: tags dropped, tuples and sets as lists."""
    if isinstance(encoded, list):
        return [plain(item) for item in encoded]
    if isinstance(encoded, dict):
        if "~" not in encoded:
            return {key: plain(item) for key, item in encoded.items()}
        if encoded["~"] == "range":
            values = range(*encoded["v"])
            return list(values) if len(values) <= MAX_ANSWER_PARTS else repr(values)
        if encoded["~"] in ("dict", "Counter", "OrderedDict", "defaultdict"):
            return {str(plain(key)): plain(item) for key, item in encoded["v"]}
        return plain(encoded["v"])
    return encoded


# --------------------------------------------------------------------------- the scorer of this directory

_default: Scorer | None = None
_default_lock = threading.Lock()


def _scorer() -> Scorer:
    global _default
    with _default_lock:
        if _default is None:
            _default = Scorer()
            atexit.register(_default.close)
        return _default


def environments() -> list[dict[str, Any]]:
    return _scorer().environments()


def instance(environment_id: str, seed: int, difficulty: int) -> dict[str, Any]:
    return _scorer().instance(environment_id, seed, difficulty)


def reference(environment_id: str, seed: int, difficulty: int) -> Any:
    return _scorer().reference(environment_id, seed, difficulty)


def reference_value(environment_id: str, seed: int, difficulty: int) -> Any:
    return _scorer().reference_value(environment_id, seed, difficulty)


def score(environment_id: str, seed: int, difficulty: int, response: str) -> float:
    return _scorer().score(environment_id, seed, difficulty, response)


def score_many(items: Iterable[Item]) -> list[float]:
    return _scorer().score_many(items)


def judge(items: Iterable[Item]) -> list[dict[str, Any]]:
    return _scorer().judge(items)


def close() -> None:
    if _default is not None:
        _default.close()


# --------------------------------------------------------------------------- from a shell

USAGE = "usage: python scorer list | instance ID SEED LEVEL | score ID SEED LEVEL RESPONSE"


def main(arguments: Sequence[str]) -> int:
    try:
        match list(arguments):
            case ["list"]:
                rows = [f"{row['id']}  {row['name']}  {row['origin']}" for row in environments()]
                print("\n".join(rows))
            case ["instance", name, seed, level]:
                print(json.dumps(instance(name, int(seed), int(level)), indent=2, ensure_ascii=False))
            case ["score", name, seed, level, response]:
                print(score(name, int(seed), int(level), response))
            case _:
                print(USAGE, file=sys.stderr)
                return 2
    except ValueError as error:
        print(f"scorer: {error}", file=sys.stderr)
        return 2
    return 0
