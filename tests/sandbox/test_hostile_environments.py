"""Environments that cheat through the front door: nothing they return or raise becomes a reward."""

from __future__ import annotations

import math

import pytest

from evoenv.sandbox.host import Sandbox

TEMPLATE = """
import random
class Cheat(VerifiableEnvironment):
    prompt_template = "?"
    def _generate(self, seed, difficulty):
        return {{"seed": seed}}, seed
    def _prompt_generate(self, z):
        return "?"
    def _process(self, y):
        return y
    def scorer(self, y, z, a):
{body}
"""

CHEATS = {
    "an object equal to everything": "class Equal:\n    def __eq__(self, other): return True\nreturn Equal()",
    "a float that compares as it likes": "class Liar(float):\n    def __le__(self, o): return True\nreturn Liar(7)",
    "an int in disguise": "class One(int): pass\nreturn One(1)",
    "not a number": "return float('nan')",
    "infinity": "return float('inf')",
    "more than one": "return 2.0",
    "less than nothing": "return -1.0",
    "a huge integer": "return 10 ** 400",
    "the word PASSED": "return 'PASSED'",
    "None": "return None",
    "a list": "return [1.0]",
    "exit with success": "raise SystemExit(0)",
    "a keyboard interrupt": "raise KeyboardInterrupt",
    "a generator's exit": "raise GeneratorExit",
    "an exception group of its own": "class Fine(BaseException): pass\nraise Fine('PASSED')",
    "an exception that cannot be printed": (
        "class Evil(Exception):\n    def __str__(self): raise RuntimeError\nraise Evil"
    ),
    "an exception whose type has a name for a terminal": "raise type('\\x1b[2J', (Exception,), {})('\\x1b[2J')",
    "recursion": "return self.scorer(y, z, a)",
    "all the memory": "return float(len('x' * (1 << 40)))",
    "an endless loop": "while True: pass",
    "an endless loop in C": "return 7 ** 10 ** 9",
}


def cheat(body: str) -> str:
    return TEMPLATE.format(body="\n".join("        " + line for line in body.splitlines()))


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheating_scorer_earns_nothing(sandbox: Sandbox, name: str) -> None:
    with sandbox.open(cheat(CHEATS[name])) as worker:
        assert worker.failure is None
        score, again = worker.score([(1, 0, "answer"), (2, 0, "answer")])
    assert (score.value, again.value) == (0.0, 0.0)
    assert type(score.value) is float
    assert score.failure
    assert score.failure.isprintable(), "no escape sequence reaches a terminal"


@pytest.mark.parametrize(
    "patch",
    [
        "random.Random.random = lambda self: 1.0",
        "type(z)['x']",
        "import typing; typing.get_type_hints(type('X', (), {'__annotations__': {'x': 'exit()'}}))",
        "from random import _os; _os._exit(0)",
        "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen'][0](['/bin/true'])",
        "globals()['__builtins__']['__import__'].__globals__['builtins'].open('/etc/passwd').read()",
        "(lambda: 0).__code__.replace(co_code=b'\\xff' * 64)",
        'import functools; functools._lru_cache_wrapper; eval(\'__import__("os").system("id")\')',
    ],
)
def test_known_ways_around_a_python_level_filter_end_in_the_worker(sandbox: Sandbox, patch: str) -> None:
    with sandbox.open(cheat(patch + "\nreturn 1.0")) as worker:
        (score,) = worker.score([(1, 0, "answer")])
        assert math.isfinite(score.value)
        assert score.value in (0.0, 1.0)
    assert sandbox.open(cheat("return 0.5")).score([(1, 0, "x")])[0].value == 0.5, "the sandbox goes on"


def test_a_scorer_that_patches_the_worker_cannot_answer_for_another_environment(sandbox: Sandbox) -> None:
    body = "import random\nrandom.Random.__init__ = None\nrandom._os.environ.clear()\nreturn 1.0"
    with sandbox.open(cheat(body)) as bad, sandbox.open(cheat("return 0.25")) as good:
        bad.score([(1, 0, "x")])
        assert good.score([(1, 0, "x")])[0].value == 0.25


def test_honest_scores_pass_exactly(sandbox: Sandbox) -> None:
    with sandbox.open(cheat("return {'a': 0, 'b': 1, 'c': 0.1, 'd': True, 'e': 1/3}[y]")) as worker:
        scores = worker.score([(1, 0, text) for text in "abcde"])
    assert [score.value for score in scores] == [0.0, 1.0, 0.1, 1.0, 1 / 3]
    assert [score.failure for score in scores] == [None] * 5


def test_a_scorer_that_takes_the_worker_down_is_named(sandbox: Sandbox) -> None:
    with sandbox.open(cheat("from random import _os\nif y == 'b': _os._exit(0)\nreturn 1.0")) as worker:
        scores = worker.score([(1, 0, "a"), (1, 0, "b"), (1, 0, "c")])
    assert [score.value for score in scores] == [1.0, 0.0, 1.0]
    assert scores[1].failure == "call 2 of 3 (score) ended the worker: it exited with status 0"
