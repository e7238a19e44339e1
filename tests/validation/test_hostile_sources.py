"""Sources that attack the host through what it computes about them: each gets a verdict, none an exception or a hang.

A hang shows as a time limit: every one of these took minutes, or more memory than there is, at some time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evoenv.sandbox.host import Sandbox
from evoenv.validation.l1_source import check_source
from evoenv.validation.validate import validate
from tests.effort import HANG_S

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(HANG_S)]

BASE = """
import random
class E(VerifiableEnvironment):
    prompt_template = "Multiply {x} and {y}."
    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        x, y = rng.randint(2, 9 + 5 * difficulty), rng.randint(2, 99)
        return {"x": x, "y": y}, x * y
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
PROMPT = "return self.prompt_template.format(**z)"
SCORE = "return float(self._process(y) == a)"
PAIR = 'return {"x": x, "y": y}, x * y'


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


def test_the_honest_version_reaches_the_top(sandbox: Sandbox) -> None:
    assert validate(BASE, sandbox).layer == 5


@pytest.mark.parametrize(
    "source",
    [
        "class C0: pass\n" + "".join(f"class C{i}({', '.join([f'C{i - 1}'] * 10)}): pass\n" for i in range(1, 40)),
        "class A(B): pass\nclass B(A): pass\n",
        BASE.replace("    def _process", "    @a" + ".a" * 900 + "\n    def _process"),
    ],
    ids=["a ladder of bases", "a circle of bases", "a long decorator"],
)
def test_reading_the_source_takes_no_time(source: str) -> None:
    check_source(source)


WORDS = ' + " ".join(format(z["x"] * 10**6 + i * 7919, "b") for i in range(4000)).replace("0", "q").replace("1", "w")'
ATTACKS = {
    "90,000 digits in a row": (PROMPT, PROMPT + ' + "1" * 90_000'),
    "20,000 numbers": (PROMPT, PROMPT + ' + " ".join([str(z["x"])] * 20_000)'),
    "4,000 words": (PROMPT, PROMPT + WORDS),
    "5 MB of prompt": (PROMPT, PROMPT + ' + "x" * 5_000_000'),
    "colliding keys": (PAIR, "return {(2**61 - 1) * i: x for i in range(2000)}, x + y"),
    "colliding answer": (PAIR, 'return {"x": x, "y": y}, {(2**61 - 1) * i for i in range(6000)}'),
    "a large latent": (PAIR, 'return {"x": x, "y": y, "w": list(range(59_000))}, x + y'),
    "an answer of 3,800 digits": (PAIR, 'return {"x": x, "y": y}, 10**3800 + x'),
    "a huge score": (SCORE, "return 10**400"),
    "an infinite score": (SCORE, "return 1e308 * 10"),
    "an error without text": (SCORE, "raise type('E', (BaseException,), {'__str__': lambda self: 1 / 0})()"),
    "SystemExit": (SCORE, "raise SystemExit"),
    "KeyboardInterrupt": (PROMPT, "raise KeyboardInterrupt"),
}


# Each is seconds of work, bounded all the same.
DEAR = ("20,000 numbers", "a large latent", "an answer of 3,800 digits", "colliding keys", "90,000 digits in a row")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(*attack, id=name, marks=[pytest.mark.slow] if name in DEAR else [])
        for name, attack in ATTACKS.items()
    ],
)
def test_every_attack_on_the_host_gets_a_verdict(old: str, new: str, sandbox: Sandbox) -> None:
    assert old in BASE
    report = validate(BASE.replace(old, new), sandbox)
    assert 0 <= report.layer <= 5
    assert bool(report.findings) == (report.layer < 5)


@pytest.mark.parametrize(
    "forged",
    [
        '["ok", [1, 2, 3]]',
        '["ok", {"~": "tuple", "v": 5}]',
        '["ok", "text"]',
        '["ok", [["a"], null, {"~": "set", "v": [[1], {}]}, true]]',
        f'["ok", {10**300}]',
        '["ok", null]',
        '"nonsense"',
        '["err", 1, 2, 3]',
    ],
)
def test_forged_results_are_failures(forged: str, sandbox: Sandbox) -> None:
    """The candidate walks up to the worker's own `handle` and answers every later call with JSON of its choice."""
    values = forged.replace("null", "None").replace("true", "True")
    hijack = (
        "        try:\n            raise ValueError\n        except ValueError as error:\n"
        "            caught = error\n"
        "        walk = getattr(caught, '_' + '_traceback_' + '_').tb_frame\n"
        "        while walk is not None:\n"
        "            runtime = walk.f_locals.get('self')\n"
        "            if type(runtime).__name__ == 'Runtime':\n"
        f"                type(runtime).handle = lambda s, op, args, items: ({values} for _ in items)\n"
        "            walk = walk.f_back\n"
    )
    body = BASE.replace("        rng = random.Random(seed)\n", hijack + "        rng = random.Random(seed)\n")
    report = validate(body, sandbox)
    assert report.layer < 5
    assert report.findings
