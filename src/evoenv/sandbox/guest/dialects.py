"""Three shapes of environment class, one face for the rest of the system.

| dialect    | `_generate`          | `_prompt_generate` | scorer            | instance lives in   |
|------------|----------------------|--------------------|-------------------|---------------------|
| functional | (seed, difficulty)   | (z)                | (y, z, a)         | the returned (z, a) |
| stateful   | (seed, difficulty)   | ()                 | (parsed)          | attributes of self  |
| rlve       | ()                   | ()                 | (raw output)      | self.parameter      |

An adapter turns each into `generate -> task`, `prompt(task)`, `parse(task, text)`, `score(task, text)`. A task
can be frozen to bytes and thawed, so that every score starts from an untouched instance: what one
answer did to the object can never reach the next.
"""

from __future__ import annotations

import copy
import inspect
import marshal
import random
from collections.abc import Callable, Mapping
from typing import Any, Literal

from evoenv.sandbox.guest import codec, tracing

MAX_PROMPT = codec.MAX_PROMPT
METHODS = ("_generate", "_prompt_generate", "_process", "scorer")


class BadResult(TypeError):
    """The environment returned something of the wrong shape."""


class BadScore(TypeError):
    """The scorer returned a number outside the contract's range."""

    def __init__(self, message: str, value: float) -> None:
        super().__init__(message)
        self.value = value


class NeedsParameters(ValueError):
    """An RLVE-Gym environment without knobs to run on."""


def positional_range(cls: type, method: str) -> tuple[int, float]:
    """Return the fewest and the most positional arguments that a method takes, `self` not counted."""
    static = isinstance(inspect.getattr_static(cls, method), staticmethod | classmethod)
    fewest, most = 0, 0.0
    for index, parameter in enumerate(inspect.signature(getattr(cls, method)).parameters.values()):
        if parameter.kind is parameter.VAR_POSITIONAL:
            most = float("inf")
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            if index == 0 and not static:  # self
                continue
            most += 1
            fewest += parameter.default is parameter.empty
    return fewest, most


def recognise(cls: type) -> str | None:
    """Tell the dialect of a class by its methods' signatures; None if no dialect fits."""
    return dialect_of({method: positional_range(cls, method) for method in METHODS})


def dialect_of(ranges: Mapping[str, tuple[int, float]]) -> Literal["functional", "stateful", "rlve"] | None:
    """Tell the dialect by the fewest and the most positional arguments of each method; None if no dialect fits."""

    def accepts(method: str, count: int) -> bool:
        fewest, most = ranges[method]
        return fewest <= count <= most

    def needs(method: str) -> int:
        return ranges[method][0]

    if (
        accepts("_generate", 2)
        and accepts("_prompt_generate", 1)
        and accepts("scorer", 3)
        and accepts("_process", 1)
        and (needs("_prompt_generate") == 1 or needs("scorer") == 3)
    ):
        return "functional"
    if not accepts("_prompt_generate", 0) or not accepts("scorer", 1) or not accepts("_process", 1):
        return None
    if accepts("_generate", 2):
        return "stateful"
    return "rlve" if accepts("_generate", 0) else None


def checked_score(value: Any) -> float:
    """Return a score as a float if it is exactly a float, int or bool, and finite.

    A subclass could bring an `__eq__` or `__float__` of its own.
    """
    if type(value) not in (float, int, bool):
        raise BadResult(f"scorer returned {type(value).__name__}, expected a float in [0, 1]")
    number = float(value)
    if number != number or number in (float("inf"), float("-inf")):
        raise BadScore(f"scorer returned {number}, expected a finite float in [0, 1]", number)
    return number


def checked_prompt(value: Any) -> str:
    if type(value) is not str:
        raise BadResult(f"_prompt_generate returned {type(value).__name__}, expected str")
    if len(value) > MAX_PROMPT:
        raise BadResult(f"_prompt_generate returned {len(value):,} characters, expected at most {MAX_PROMPT:,}")
    return value


def storable(attributes: dict[str, Any]) -> dict[str, Any]:
    """Drop attributes that cannot be stored, such as a generator on self: instances are made anew from the seed."""
    kept: dict[str, Any] = {}
    for key, value in attributes.items():
        try:
            codec.encode(value)
        except codec.NotSerialisable:
            continue
        kept[key] = value
    return kept


class Adapter:
    """One interface to every dialect; subclasses say where an instance is kept."""

    dialect = ""

    def __init__(self, cls: type, parameters: Callable[[int, int], dict[str, Any]] | None = None) -> None:
        self.cls = cls
        self.parameters = parameters

    def new(self) -> Any:
        return self.cls()

    def generate(self, environment: Any, seed: int, difficulty: int) -> Any:
        raise NotImplementedError

    def prompt(self, environment: Any, task: Any) -> str:
        raise NotImplementedError

    def parse(self, environment: Any, task: Any, text: str) -> Any:
        return environment._process(text)

    def score(self, environment: Any, task: Any, text: str) -> float:
        raise NotImplementedError

    def latent(self, task: Any) -> Any:
        raise NotImplementedError

    def reference(self, task: Any) -> Any:
        raise NotImplementedError

    def has_reference(self, task: Any) -> bool:
        return True

    def with_reference_of(self, task: Any, other: Any) -> Any:
        """Return the same instance with another's reference: tells scorers that compare from scorers that verify."""
        raise NotImplementedError

    def freeze(self, task: Any) -> Callable[[], Any]:
        """Return a function that returns an untouched copy of the task; marshal is ten times faster than deepcopy."""
        try:
            blob = marshal.dumps(task)
            if not _is_plain(task):
                raise ValueError("marshal would turn it into bytes")
        except ValueError:
            kept = copy.deepcopy(task)
            return lambda: copy.deepcopy(kept)
        return lambda: marshal.loads(blob)


_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def _is_plain(value: Any) -> bool:
    """Return whether marshal gives a value back as it was; of an array or a bytearray it keeps the bytes alone."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind in _PLAIN or id(part) in seen:
            continue
        if kind is dict:
            stack += part.keys()
            stack += part.values()
        elif kind in (list, tuple, set, frozenset):
            stack += part
        else:
            return False
        seen.add(id(part))
    return True


class Functional(Adapter):
    dialect = "functional"

    def generate(self, environment: Any, seed: int, difficulty: int) -> tuple[Any, Any]:
        pair = environment._generate(seed, difficulty)
        if type(pair) not in (tuple, list) or len(pair) != 2:
            size = f" of {len(pair)}" if type(pair) in (tuple, list) else ""
            raise BadResult(f"_generate returned {type(pair).__name__}{size}, expected the pair (z, a)")
        return pair[0], pair[1]

    def prompt(self, environment: Any, task: Any) -> str:
        return checked_prompt(environment._prompt_generate(task[0]))

    def score(self, environment: Any, task: Any, text: str) -> float:
        return checked_score(environment.scorer(text, task[0], task[1]))

    def latent(self, task: Any) -> Any:
        return task[0]

    def reference(self, task: Any) -> Any:
        return task[1]

    def with_reference_of(self, task: Any, other: Any) -> Any:
        return task[0], other[1]


class Stateful(Adapter):
    """`_generate` leaves the instance on `self`; each task is the object that generated it."""

    dialect = "stateful"

    def generate(self, environment: Any, seed: int, difficulty: int) -> Any:
        environment._generate(seed, difficulty)
        if not hasattr(environment, "ref_answer"):
            raise BadResult("_generate did not set self.ref_answer")
        return environment

    def prompt(self, environment: Any, task: Any) -> str:
        return checked_prompt(task._prompt_generate())

    def parse(self, environment: Any, task: Any, text: str) -> Any:
        return (environment if task is None else task)._process(text)

    def score(self, environment: Any, task: Any, text: str) -> float:
        parsed = task._process(text)
        return 0.0 if parsed is None else checked_score(task.scorer(parsed))

    def latent(self, task: Any) -> Any:
        skip = {"ref_answer", "answer_markers", "passing_reward_threshold"}
        return storable({key: value for key, value in vars(task).items() if key not in skip})

    def reference(self, task: Any) -> Any:
        return task.ref_answer

    def with_reference_of(self, task: Any, other: Any) -> Any:
        task.ref_answer = other.ref_answer
        return task

    def freeze(self, task: Any) -> Callable[[], Any]:
        cls, thaw = type(task), super().freeze(dict(vars(task)))

        def fresh() -> Any:
            twin: Any = object.__new__(cls)
            twin.__dict__.update(thaw())
            return twin

        return fresh


class Rlve(Stateful):
    """RLVE-Gym: knobs in `self.parameter`, the global `random`, raw text in and [-1, 1] out."""

    dialect = "rlve"
    REFERENCE_KEYS = ("reference_answer", "gold_answer")

    def generate(self, environment: Any, seed: int, difficulty: int) -> Any:
        if self.parameters is None:
            raise NeedsParameters("this RLVE-Gym environment has no knobs: give a controller or parameters")
        environment.seed = seed
        environment.parameter = tracing.TRACE.knobs(self.parameters(seed, difficulty))
        random.seed(seed)
        environment._generate()
        if type(environment.parameter) is not dict:
            raise BadResult(f"_generate left self.parameter as {type(environment.parameter).__name__}, expected dict")
        return environment

    def score(self, environment: Any, task: Any, text: str) -> float:
        opener, closer = task.answer_markers
        raw = checked_score(task.scorer(f"{opener}{text}{closer}"))
        if not -1.0 <= raw <= 1.0:
            raise BadScore(f"scorer returned {raw}, expected a float in [-1, 1]", raw)
        # RLVE-Gym passes from 1 - 1e-6 on, which makes a count of 30 million that is off by one "right". We do not.
        return 1.0 if raw >= task.passing_reward_threshold else max(0.0, raw)

    def latent(self, task: Any) -> Any:
        return storable({key: value for key, value in task.parameter.items() if key not in self.REFERENCE_KEYS})

    def reference(self, task: Any) -> Any:
        for key in self.REFERENCE_KEYS:
            if key in task.parameter:
                return task.parameter[key]
        return None

    def has_reference(self, task: Any) -> bool:
        return "reference_answer" in task.parameter

    def with_reference_of(self, task: Any, other: Any) -> Any:
        for key in self.REFERENCE_KEYS:
            if key in other.parameter:
                task.parameter[key] = other.parameter[key]
        return task


ADAPTERS: dict[str, type[Adapter]] = {kind.dialect: kind for kind in (Functional, Stateful, Rlve)}


class ControllerLevels:
    """Knobs per difficulty level: d updates of a controller, or an explicit list of one dict per level."""

    def __init__(self, controller: type | None, explicit: list[dict[str, Any]] | None) -> None:
        self._explicit = explicit
        self._controller = controller() if controller is not None and explicit is None else None
        self._levels: list[list[dict[str, Any]]] = []

    @property
    def count(self) -> int | None:
        """The number of distinct levels; None if a controller can always go on."""
        return None if self._explicit is None else len(self._explicit)

    def __call__(self, seed: int, difficulty: int) -> dict[str, Any]:
        if self._explicit is not None:
            return copy.deepcopy(self._explicit[min(difficulty, len(self._explicit) - 1)])
        assert self._controller is not None
        while len(self._levels) <= difficulty:
            if self._levels:
                self._controller.update()
            choices = self._controller.get_parameter_list()
            if type(choices) is not list or not choices or any(type(choice) is not dict for choice in choices):
                raise BadResult("get_parameter_list() must return a non-empty list of dicts")
            self._levels.append(copy.deepcopy(choices))
        choices = self._levels[difficulty]
        # Not the environment's own stream: the choice of knobs must not eat its random numbers.
        return copy.deepcopy(choices[random.Random(f"knobs:{seed}").randrange(len(choices))])
