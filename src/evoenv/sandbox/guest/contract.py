"""What an environment file may lean on: `VerifiableEnvironment`, RLVE-Gym's `ParameterController` and `timeout`.

The two classes are in scope in every environment file without an import; `from evoenv import VerifiableEnvironment`
and RLVE-Gym's `from Gym.environment import VerifiableEnvironment` mean the same class.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

CALLS_PER_SECOND = 100_000
"""What RLVE-Gym's time limits are counted in here: function calls, so that no machine decides a score."""


class VerifiableEnvironment:
    """Base of every environment e = (G, Π, S). Stateless between calls in the functional dialect:

    - `_generate(seed, difficulty) -> (z, a)`: latent instance and reference answer, all randomness from
      `random.Random(seed)`;
    - `_prompt_generate(z) -> str`: all that the solver sees;
    - `_process(y) -> parsed | None`: parses the answer text, None if it is malformed;
    - `scorer(y, z, a) -> float`: in [0, 1], 1.0 for fully right.
    """

    prompt_template: str = ""

    def __init__(self, answer_markers: tuple[str, str] | None = None, **_ignored: Any) -> None:
        self.seed: int | None = None
        self.parameter: dict[str, Any] = {}
        self.answer_markers = tuple(answer_markers) if answer_markers else ("<answer>", "</answer>")
        self.passing_reward_threshold = 1.0

    # RLVE-Gym's public face, which its subclasses call on themselves.

    def processor(self, output: str) -> Any:
        """Parse the text between the last pair of answer markers; the subclass's `_process` gets None without one."""
        opener, closer = self.answer_markers
        head, found, _ = output.rpartition(closer)
        answer = None
        if found:
            _, found, tail = head.rpartition(opener)
            answer = tail if found else None
        return self._process(answer)  # type: ignore[attr-defined]

    def prompt_generator(self) -> str:
        text: str = self._prompt_generate()  # type: ignore[attr-defined]
        return text


class ParameterController:
    """RLVE-Gym's map from difficulty to knobs: d calls of `update()`, then one of `get_parameter_list()`."""

    def __init__(self, **_ignored: Any) -> None:
        pass

    def update(self) -> None:
        raise TypeError("a ParameterController needs an update() method")

    def get_parameter_list(self) -> list[dict[str, Any]]:
        raise TypeError("a ParameterController needs a get_parameter_list() method")


class TimeoutException(Exception):
    """RLVE-Gym's: a function ran longer than it was given."""


def timeout(seconds: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """End a function after `seconds`, counted in calls; the worker's own limit stands. RLVE-Gym's decorator."""

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def limited(*arguments: Any, **named: Any) -> Any:
            left = int(seconds * CALLS_PER_SECOND)

            def count(frame: Any, event: str, argument: Any) -> None:
                nonlocal left
                left -= 1
                if left < 0:
                    raise TimeoutException(f"Function timed out after {seconds} seconds")

            before = sys.getprofile()
            sys.setprofile(count)
            try:
                return function(*arguments, **named)
            finally:
                sys.setprofile(before)

        return limited

    return decorator
