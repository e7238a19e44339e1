"""Play an environment of a run: draw an instance, score an answer. All of it in the sandbox, and not too often."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from evoenv.assembly import limits_of, open_sandbox
from evoenv.config import load_config
from evoenv.environment.answers import extract_answer
from evoenv.errors import ConfigError, EvoEnvError, InputError
from evoenv.prompts.recompute import plain_value
from evoenv.prompts.review import decoded
from evoenv.records import Instance
from evoenv.sandbox.host import EnvironmentWorker, Limits, Sandbox
from evoenv.sandbox.outcomes import is_encoded
from evoenv.watch.documents import Document, seed_text

BURST = 20
"""Calls in a row that are answered at once."""
PER_SECOND = 1.0
"""Calls that may follow, on average."""
ANSWER_AT_MOST = 20_000
LEVEL_AT_MOST = 1000
COUNTED_INSTANCES = 30
"""Seeds that the number of distinct instances is counted on."""


class TooOften(EvoEnvError):
    """More calls than a person makes."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many calls; try again in {seconds:.0f} s")
        self.seconds = seconds


class Allowance:
    """A bucket of calls that fills slowly: a few at once, then a steady trickle."""

    def __init__(
        self, burst: int = BURST, per_second: float = PER_SECOND, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst, self._per_second, self._clock = float(burst), per_second, clock
        self._left, self._at = float(burst), clock()
        self._lock = threading.Lock()

    def take(self) -> None:
        """Use up one call; raises TooOften if none is left."""
        with self._lock:
            now = self._clock()
            self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
            self._at = now
            if self._left < 1:
                raise TooOften(max(1.0, (1 - self._left) / self._per_second))
            self._left -= 1


class Player:
    """Opens a sandbox when it is first needed, with the limits and modules of the run that is played."""

    def __init__(self, *, allow_degraded: bool = False, allowance: Allowance | None = None) -> None:
        self._allow_degraded = allow_degraded
        self._allowance = allowance or Allowance()
        self._lock = threading.Lock()
        self._sandbox: Sandbox | None = None
        self._settings: tuple[Limits, tuple[str, ...]] | None = None

    def play(
        self, source: str, config: Mapping[str, Any], seed: int, difficulty: int, answer: str | None = None
    ) -> Document:
        """Show the instance at a seed and level, and score an answer if there is one."""
        if not 0 <= seed < 2**63:
            raise InputError(f"the seed is {seed}; expected 0 ≤ seed < 2^63")
        if not 0 <= difficulty <= LEVEL_AT_MOST:
            raise InputError(f"the level is {difficulty}; expected 0 to {LEVEL_AT_MOST}")
        if answer is not None and len(answer) > ANSWER_AT_MOST:
            raise InputError(f"the answer has {len(answer):,} characters; expected {ANSWER_AT_MOST:,} at most")
        self._allowance.take()
        with self._lock, self._opened(config).open(source) as worker:
            return _played(worker, seed, difficulty, answer)

    def _opened(self, config: Mapping[str, Any]) -> Sandbox:
        try:
            settings = load_config(config)
            wanted = limits_of(settings), settings.validation.modules
        except ConfigError:  # of another version: its environments still play, with the usual limits
            wanted = Limits(), ()
        if self._sandbox is None or self._settings != wanted:
            self._close()
            limits, modules = wanted
            self._sandbox = open_sandbox(limits=limits, modules=modules, allow_degraded=self._allow_degraded, workers=1)
            self._settings = wanted
        return self._sandbox

    def _close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

    def close(self) -> None:
        """End the sandbox. Safe to call twice."""
        with self._lock:
            self._close()


def _played(worker: EnvironmentWorker, seed: int, difficulty: int, answer: str | None) -> Document:
    if worker.failure is not None:
        raise InputError(f"the environment does not load: {worker.failure.message}")
    instances = worker.instances([seed], difficulty)
    instance = instances[0]
    if instance is None:
        raise InputError(f"no instance at seed {seed}, level {difficulty}: {worker.failures[0].message}")
    document: Document = {
        "seed": seed_text(seed),
        "difficulty": difficulty,
        "prompt": instance.prompt,
        "reference": reference_document(instance.reference),
    }
    if answer is None:
        others = worker.instances(range(COUNTED_INSTANCES), difficulty)
        drawn = [other.prompt for other in others if isinstance(other, Instance)]
        return {**document, "distinct": len(set(drawn)), "counted": len(drawn)}
    text = extract_answer(answer)
    text = answer.strip() if text is None else text
    score = worker.score([(seed, difficulty, text)])[0]
    return {
        **document,
        "answer": text,
        "score": score.value if text else 0.0,
        "format_ok": bool(text),
        "failure": score.failure,
    }


def reference_document(encoded: Any) -> Any:
    """Turn the wire form of a reference answer into plain JSON, under the rules by which programs are given values."""
    if not is_encoded(encoded):
        return "(too large or damaged to be shown)"
    return _exact(plain_value(decoded(encoded)))


def _exact(value: Any) -> Any:
    """Write numbers that JSON or a browser would change as text: seeds are sent like that, too."""
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return str(value) if type(value) is int and abs(value) > 2**53 else value
