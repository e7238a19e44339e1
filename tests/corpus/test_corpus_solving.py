"""Programs that solve the corpus's instances: right by the environment's own scorer, from plain values alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evoenv.corpus import FAMILIES, Author, Part, Program, solving_program
from evoenv.corpus.compose.screen import answer_text, load


def test_a_program_is_written_step_by_step() -> None:
    sampler, scorer = Part("sampler", "ints/uniform", (("XS", "nums"),)), Part("scorer", "exact")
    steps = (Part("step", "shift", (("K", "5"),)), Part("step", "sum"))
    assert solving_program(Program("", "sum", (sampler, *steps, scorer), "", "")) == (
        'def solve(values):\n    nums = values["nums"]\n'
        "    ys = [v + 5 for v in nums]\n    ans = sum(ys)\n    return ans\n"
    )


def test_a_drawn_parameter_is_read_and_a_list_of_the_argument_s_name_is_read_last() -> None:
    sampler, scorer = Part("sampler", "ints/uniform", (("XS", "values"),)), Part("scorer", "exact")
    steps = (Part("step", "shift", (("K", "{k}"),)), Part("step", "sum"))
    assert solving_program(Program("", "sum", (sampler, *steps, scorer), "", "")).split("\n")[1:4] == [
        '    k = values["k"]',
        '    values = values["values"]',
        "    ys = [v + k for v in values]",
    ]


def test_what_is_made_of_several_steps_is_taken_apart() -> None:
    sampler, scorer = Part("sampler", "ints/uniform", (("XS", "xs"),)), Part("scorer", "exact")
    program = Program("", "even-sum", (sampler, Part("step", "even-sum"), scorer), "", "")
    assert solving_program(program).split("\n")[2:4] == [
        "    ys = [v for v in xs if v % 2 == 0]",
        "    ans = sum(ys)",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_every_family_s_program_is_right_on_every_level(seed: int) -> None:
    author = Author(seed, "all")
    assert set(author.families) == set(FAMILIES)
    for family in author.families:
        program = author.compose_family(family, seed)
        environment = load(program.source)
        names: dict[str, Any] = {}
        exec(solving_program(program), names)
        for number in range(6):
            z, a = environment._generate(number, number % 3)
            answer = names["solve"](json.loads(json.dumps(z)))
            assert environment.scorer(answer_text(answer), z, a) == 1.0, program.source
