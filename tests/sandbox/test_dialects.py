"""The worker's own code, without walls: dialects are told apart and look alike; counterfactuals change one thing."""

from __future__ import annotations

import random
from array import array
from typing import Any

import pytest

from evoenv.sandbox.guest import tracing
from evoenv.sandbox.guest.dialects import Functional
from evoenv.sandbox.guest.runtime import Runtime
from evoenv.sandbox.outcomes import Failed, outcome_of

FUNCTIONAL = """
import random
class Sum(VerifiableEnvironment):
    prompt_template = "Add {x} and {y}."
    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        x, y = rng.randint(0, 9 + difficulty), rng.randint(0, 9)
        return {"x": x, "y": y}, x + y
    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)
    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None
    def scorer(self, y, z, a):
        return float(self._process(y) == a)
"""
STATEFUL = """
import random
class Sum(VerifiableEnvironment):
    prompt_template = "Add {x} and {y}."
    def _generate(self, seed, difficulty):
        self.rng = random.Random(seed)
        self.x, self.y = self.rng.randint(0, 9 + difficulty), self.rng.randint(0, 9)
        self.ref_answer = self.x + self.y
    def _prompt_generate(self):
        return self.prompt_template.format(x=self.x, y=self.y)
    def _process(self, response):
        try:
            return int(response)
        except ValueError:
            return None
    def scorer(self, parsed):
        return float(parsed == self.ref_answer)
"""
RLVE = """
import random
from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController
class Sum_Environment(VerifiableEnvironment):
    prompt_template = "Add {x} and {y}."
    def _generate(self):
        self.parameter["x"] = random.randint(0, self.parameter["MAX"])
        self.parameter["y"] = random.randint(0, 9)
        self.parameter["reference_answer"] = self.parameter["x"] + self.parameter["y"]
    def _prompt_generate(self):
        return self.prompt_template.format(x=self.parameter["x"], y=self.parameter["y"])
    def _process(self, answer):
        try:
            return int(answer.strip()) if answer is not None else None
        except ValueError:
            return None
    def scorer(self, output):
        parsed = self.processor(output)
        if parsed is None:
            return -1.0
        return 1.0 if parsed == self.parameter["reference_answer"] else -0.5
class Sum_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.most = 9
    def update(self):
        self.most += 1
    def get_parameter_list(self):
        return [dict(MAX=self.most)]
"""


def load(source: str, **options: Any) -> tuple[Runtime, dict[str, Any]]:
    runtime = Runtime()
    arguments = {"source": source, "allowed_imports": ["random"], **options}
    ((kind, *rest),) = runtime.handle("load", arguments, [])
    assert kind == "ok", rest
    return runtime, rest[0]


def one(runtime: Runtime, op: str, item: list[Any], **args: Any) -> Any:
    ((kind, *rest),) = runtime.handle(op, args, [item])
    assert kind == "ok", rest
    return rest[0]


@pytest.mark.parametrize(("source", "dialect"), [(FUNCTIONAL, "functional"), (STATEFUL, "stateful"), (RLVE, "rlve")])
def test_three_dialects_look_alike_from_outside(source: str, dialect: str) -> None:
    runtime, description = load(source)
    assert description["dialect"] == dialect
    prompt, latent, reference, full = one(runtime, "instances", [11, 2])
    rng = random.Random(11)
    x, y = rng.randint(0, 11), rng.randint(0, 9)
    assert (prompt, reference, full) == (f"Add {x} and {y}.", x + y, True)
    assert (latent["x"], latent["y"]) == (x, y)
    assert one(runtime, "score", [11, 2, str(x + y)]) == 1.0
    assert one(runtime, "score", [11, 2, str(x + y + 1)]) == 0.0, "a negative score is 0 to us"
    assert one(runtime, "score", [11, 2, "?"]) == 0.0


def test_explicit_knobs_stand_for_levels() -> None:
    runtime, description = load(RLVE, parameters=[{"MAX": 1}, {"MAX": 1000}])
    assert description["levels"] == 2
    small = [one(runtime, "instances", [seed, 0])[1]["x"] for seed in range(20)]
    large = [one(runtime, "instances", [seed, 1])[1]["x"] for seed in range(20)]
    assert max(small) <= 1 < max(large)


def test_what_one_answer_does_to_the_instance_never_reaches_the_next() -> None:
    greedy = FUNCTIONAL.replace(
        "return float(self._process(y) == a)", 'z["x"] += 1\n        return float(z["x"] + z["y"] == a + 1)'
    )
    runtime, _ = load(greedy)
    assert [one(runtime, "score", [3, 0, "0"]) for _ in range(3)] == [1.0, 1.0, 1.0]


def test_an_error_names_the_method_and_the_line() -> None:
    runtime, _ = load(FUNCTIONAL.replace("return self.prompt_template.format(**z)", "return z['nothing']"))
    ((kind, error, message, line),) = runtime.handle("instances", {}, [[1, 1]])
    assert (kind, error, message, line) == ("err", "KeyError", "_prompt_generate raised KeyError: 'nothing'", 10)


@pytest.mark.parametrize("score", ["'1'", "None", "[1]", "float('nan')", "1j"])
def test_a_score_is_exactly_a_finite_number(score: str) -> None:
    runtime, _ = load(FUNCTIONAL.replace("return float(self._process(y) == a)", f"return {score}"))
    ((kind, error, *_),) = runtime.handle("score", {}, [[1, 1, "2"]])
    assert kind == "err"
    assert error in ("BadResult", "BadScore")


@pytest.mark.parametrize("score", [1.25, -3.0])
def test_a_score_that_is_refused_comes_as_a_number_behind_the_message(score: float) -> None:
    scorer = RLVE.partition("    def scorer")
    assert scorer[1], "the source has no scorer"
    source = f"{scorer[0]}    def scorer(self, output):\n        return {score}\n"
    runtime, _ = load(source, parameters=[{"MAX": 1}])
    (result,) = runtime.handle("score", {}, [[1, 0, "2"]])
    outcome = outcome_of(result)
    assert isinstance(outcome, Failed)
    assert (outcome.error, outcome.value) == ("BadScore", score)


@pytest.mark.parametrize("value", ["1.5", None, True, [1.5]])
def test_only_a_number_may_stand_behind_the_message(value: object) -> None:
    outcome = outcome_of(["err", "BadScore", "scorer returned 1.5", 3, value])
    assert isinstance(outcome, Failed)
    assert outcome.kind == "protocol"


@pytest.mark.parametrize("level", ["import os", "from os import path", "import evoenv.sandbox", "from . import x"])
def test_imports_outside_the_list_fail_at_load(level: str) -> None:
    ((kind, error, *_),) = Runtime().handle(
        "load", {"source": f"{level}\n{FUNCTIONAL}", "allowed_imports": ["random"]}, []
    )
    assert (kind, error) == ("err", "ImportError")


def test_a_tracing_generator_draws_the_same_numbers() -> None:
    tracing.TRACE.reset()
    plain, traced = random.Random(5), tracing.TracingRandom(5)
    for method, arguments in [("randint", (1, 6)), ("random", ()), ("choice", ([1, 2, 3],)), ("getrandbits", (9,)),
                              ("sample", (range(50), 5)), ("uniform", (1, 2)), ("gauss", (0, 1))]:  # fmt: skip
        assert getattr(plain, method)(*arguments) == getattr(traced, method)(*arguments), method
    row, mirrored = list(range(10)), list(range(10))
    plain.shuffle(row)
    traced.shuffle(mirrored)
    assert row == mirrored


def test_changing_one_draw_leaves_all_others_alone() -> None:
    def draws(changed: int) -> list[int]:
        tracing.TRACE.reset(draw=changed)
        generator = tracing.TracingRandom(1)
        return [generator.randint(0, 999) for _ in range(6)]

    before = draws(-1)
    for place in range(6):
        after = draws(place)
        assert [i for i in range(6) if before[i] != after[i]] == [place]
    tracing.TRACE.reset()


def test_each_use_of_seed_and_difficulty_is_a_site_of_its_own() -> None:
    import ast

    tracing.TRACE.sites = 0
    tree = tracing.mark_argument_sites(ast.parse(FUNCTIONAL))
    assert ast.unparse(tree).count(tracing.SITE_FUNCTION) == 2
    assert tracing.TRACE.sites == 2
    tracing.TRACE.sites = 0


TIMED = """
from Gym.environment import VerifiableEnvironment, timeout, TimeoutException

class Timed(VerifiableEnvironment):
    def _generate(self):
        self.parameter["reference_answer"] = 3
    def _prompt_generate(self):
        return "three?"
    def _process(self, answer):
        return int(answer)
    def scorer(self, output):
        @timeout(0.01)
        def count():
            for _ in range(self.processor(output)):
                abs(1)
            return 1.0
        try:
            return count()
        except TimeoutException:
            return -1.0
"""


def test_the_time_limits_of_rlve_gym_are_counted_in_calls() -> None:
    runtime = Runtime()
    load = {"source": TIMED, "allowed_imports": [], "parameters": [{}]}
    (loaded,) = runtime.handle("load", load, [])
    assert loaded[0] == "ok"
    assert list(runtime.handle("score", {}, [[1, 0, "3"], [1, 0, "100000"], [1, 0, "4"]])) == [
        ["ok", 1.0],
        ["ok", 0.0],
        ["ok", 1.0],
    ]


@pytest.mark.parametrize(
    "value", [array("i", [1, 2]), bytearray(b"ab"), {"a": [bytearray(b"x"), (1, {2})]}, [1, ("a", None)]]
)
def test_a_task_comes_back_as_it_was(value: object) -> None:
    again = Functional(object).freeze(value)
    first, second = again(), again()
    assert first == second == value
    assert type(first) is type(value)
    assert repr(first) == repr(value), "an array is not its bytes"
    assert first is not second
