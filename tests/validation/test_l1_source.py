"""L1: what the source says, one finding for each fault."""

from __future__ import annotations

import pytest

from evoenv.validation.l1_source import MAX_SOURCE_BYTES, check_source

METHODS = """
    def _generate(self, seed, difficulty):
        return seed, seed
    def _prompt_generate(self, z):
        return str(z)
    def _process(self, y):
        return y
    def scorer(self, y, z, a):
        return 1.0
"""
SOUND = f"import random\n\nclass E(VerifiableEnvironment):{METHODS}"


def codes(source: str) -> list[str]:
    return [one.code for one in check_source(source)[1]]


def test_a_sound_source_has_no_finding() -> None:
    facts, findings = check_source(SOUND)
    assert (facts.class_name, facts.dialect, findings) == ("E", "functional", [])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", ["L1.no-code"]),
        ("  \n\n", ["L1.no-code"]),
        ("x = 1\n", ["L1.no-class"]),
        ("class E(:\n", ["L1.syntax"]),
        ("x = '\x00'", ["L1.syntax"]),
        ("-" * 100_000 + "1", ["L1.syntax"]),
        ("x" + ".x" * 60_000, ["L1.syntax"]),
        ("#" * (MAX_SOURCE_BYTES + 1), ["L1.too-large"]),
        (SOUND + SOUND.replace("class E", "class F"), ["L1.several-classes"]),
        (SOUND.replace("def scorer(self, y, z, a)", "def score(self, y, z, a)"), ["L1.missing-method"]),
        ("class E(VerifiableEnvironment):\n    pass\n", ["L1.missing-method"] * 4),
        (SOUND.replace("(self, seed, difficulty)", "(self, seed)"), ["L1.signature"]),
        (SOUND.replace("def scorer(self, y, z, a)", "def scorer(self, y, z, a, extra)"), ["L1.signature"]),
        ("import os\n" + SOUND, ["L1.import"]),
        ("import numpy as np\n" + SOUND, ["L1.import"]),
        ("from os.path import join\n" + SOUND, ["L1.import"]),
        ("from . import helpers\n" + SOUND, ["L1.import"]),
        ("from random import _os\n" + SOUND, ["L1.private-access"]),
        ("import random\nx = random._os\n" + SOUND, ["L1.private-access"]),
        ("import typing\nx = typing.sys\n" + SOUND, ["L1.private-access"]),
        ("from functools import types\n" + SOUND, ["L1.private-access"]),
        ("import enum\nx = enum.sys\n" + SOUND, ["L1.private-access"]),
        ("import queue\nx = queue.threading\n" + SOUND, ["L1.private-access"]),
        ("from statistics import random\n" + SOUND, ["L1.private-access"]),
        ("import copy\nx = copy.copyreg\n" + SOUND, ["L1.private-access"]),
        ("import dataclasses\nx = dataclasses.inspect\n" + SOUND, ["L1.private-access"]),
        ("from array import array\nfrom fractions import Fraction\nfrom copy import copy\n" + SOUND, []),
        (SOUND.replace("return y\n", "return eval(y)\n"), ["L1.forbidden-name"]),
        (SOUND.replace("return y\n", "return open(y)\n"), ["L1.forbidden-name"]),
        (SOUND.replace("return y\n", "return ().__class__\n"), ["L1.dunder"]),
        (SOUND.replace("return y\n", "return getattr(y, '__class__')\n"), ["L1.dunder"]),
        (SOUND.replace("return y\n", "return __builtins__\n"), ["L1.forbidden-name"]),
        (
            SOUND.replace("return y\n", "match y:\n            case object(__class__=c):\n                return c\n"),
            ["L1.dunder"],
        ),
    ],
)
def test_each_fault_has_its_finding(source: str, expected: list[str]) -> None:
    assert codes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations\n" + SOUND,
        "from evoenv import VerifiableEnvironment\n" + SOUND,
        "from Gym.environment import VerifiableEnvironment\n" + SOUND,
        "from ...environment import VerifiableEnvironment\n" + SOUND,
        "import collections.abc\nfrom typing import Optional\n" + SOUND,
        "from collections import abc\nfrom random import random\nimport bisect\nx = bisect.bisect\n" + SOUND,
        SOUND + "\nif __name__ == '__main__':\n    print(E())\n",
        SOUND.replace("class E", "class Node:\n    def __init__(self):\n        self.x = 1\n\nclass E"),
        SOUND.replace("(VerifiableEnvironment)", ""),
        SOUND.replace("return y\n", "open = [y]\n        return open[0]\n"),
        SOUND.replace("def _process", "def __init__(self):\n        super().__init__()\n    def _process"),
        f"class Base(VerifiableEnvironment):{METHODS}\nclass E(Base):\n    pass\n",
    ],
)
def test_what_is_harmless_passes(source: str) -> None:
    assert codes(source) == []


def test_every_finding_of_the_layer_is_reported() -> None:
    source = "import os, sys\n" + SOUND.replace("return y\n", "return eval(y).__class__\n")
    assert sorted(codes(source)) == ["L1.dunder", "L1.forbidden-name", "L1.import", "L1.import"]


@pytest.mark.parametrize(
    ("generate", "prompt", "scorer", "dialect"),
    [
        ("(self, seed, difficulty)", "(self, z)", "(self, y, z, a)", "functional"),
        ("(self, seed=0, difficulty=1)", "(self, z)", "(self, y, z, a)", "functional"),
        ("(self, seed, difficulty)", "(self)", "(self, parsed)", "stateful"),
        ("(self)", "(self)", "(self, output)", "rlve"),
    ],
)
def test_dialects_are_told_by_signature(generate: str, prompt: str, scorer: str, dialect: str) -> None:
    source = (
        SOUND.replace("(self, seed, difficulty)", generate)
        .replace("_prompt_generate(self, z)", f"_prompt_generate{prompt}")
        .replace("scorer(self, y, z, a)", f"scorer{scorer}")
    )
    facts, findings = check_source(source)
    assert (facts.dialect, findings) == (dialect, [])
