"""The author: deterministic, split by family, varied, short, easy at level 0, and sound in our own validator."""

from __future__ import annotations

from collections import Counter

import pytest

from evoenv.corpus import FAMILIES, HELD_OUT, Author, families
from evoenv.corpus.catalogue.families import BASIC, COMPUTATIONS, PAIRED
from evoenv.corpus.compose.screen import answer_text, load
from evoenv.errors import InputError
from evoenv.sandbox.host import Sandbox
from evoenv.validation.validate import validate

AREAS = {
    "arrays",
    "strings",
    "number theory",
    "modular arithmetic",
    "recurrences",
    "dynamic programming",
    "graphs",
    "intervals",
    "matrices",
    "sets",
    "games",
    "feasibility",
}


def test_there_are_families_of_every_area_and_a_quarter_is_held_out_in_each_split() -> None:
    assert len(FAMILIES) >= 120
    assert {COMPUTATIONS[name].area for name in FAMILIES} == AREAS
    assert set(FAMILIES) >= HELD_OUT
    assert 0.15 <= len(HELD_OUT) / len(FAMILIES) <= 0.25
    held_out_areas = Counter(COMPUTATIONS[name].area for name in HELD_OUT)
    assert set(held_out_areas) == AREAS
    assert not set(families("train")) & set(families("held-out"))
    assert not PAIRED & HELD_OUT
    assert set(families("train")) | PAIRED | set(families("held-out")) == set(families("all"))
    assert set(families("paired")) == BASIC | PAIRED


@pytest.mark.parametrize("split", ["train", "paired", "held-out", "all"])
def test_the_same_seed_and_index_give_the_same_program_and_others_another(split: str) -> None:
    author, again, other = Author(3, split), Author(3, split), Author(4, split)  # type: ignore[arg-type]
    programs = [author.compose(index) for index in range(40)]
    assert programs == [again.compose(index) for index in range(40)]  # in any order, from any object
    assert again.compose(7) == programs[7]
    assert sum(other.compose(index) == programs[index] for index in range(40)) == 0


@pytest.mark.parametrize("split", ["train", "basic", "paired"])
def test_no_part_of_a_held_out_family_shows_in_a_train_program(split: str) -> None:
    author = Author(0, split)  # type: ignore[arg-type]
    for index in range(200):
        program = author.compose(index)
        assert program.family not in HELD_OUT
        assert not {part.name for part in program.parts} & HELD_OUT, program.description


def test_a_held_out_program_is_of_a_held_out_family_and_else_of_known_parts() -> None:
    author = Author(0, "held-out")
    for index in range(100):
        program = author.compose(index)
        assert program.family in HELD_OUT
        assert {part.name for part in program.parts} & HELD_OUT == {program.family}


def test_every_family_of_every_split_can_be_composed_and_computes_its_family() -> None:
    for split in ("train", "paired", "held-out"):
        author = Author(1, split)  # type: ignore[arg-type]
        for family in author.families:
            program = author.compose_family(family, 0)
            assert program.family == family
            assert family in {step.name for step in program.steps}


def test_an_unknown_split_or_family_is_named_in_the_error() -> None:
    with pytest.raises(InputError, match="'test'"):
        Author(0, "test")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'no-such-family'"):
        Author(0).compose_family("no-such-family", 0)


def test_programs_hardly_repeat() -> None:
    author = Author(0, "train")
    sources = [author.compose(index).source for index in range(250)]
    assert len(set(sources)) >= 248


@pytest.mark.long
def test_five_thousand_indices_give_thousands_of_distinct_programs_and_combinations() -> None:
    author = Author(0, "train")
    programs = [author.compose(index) for index in range(5000)]
    assert len({program.source for program in programs}) >= 4800
    assert len({tuple(str(part) for part in program.parts) for program in programs}) >= 2000


def test_programs_are_short() -> None:
    author = Author(2, "all")
    programs = [author.compose(index) for index in range(100)]
    lines = sorted(sum(bool(line.strip()) for line in program.source.split("\n")) for program in programs)
    assert lines[len(lines) // 2] <= 23
    assert lines[-1] <= 36
    assert max(len(program.source) for program in programs) <= 1600


def test_level_zero_is_small_and_levels_grow() -> None:
    author = Author(5, "all")
    longest, larger = [], 0
    for index in range(100):
        environment = load(author.compose(index).source)
        prompts = {level: environment._prompt_generate(environment._generate(9, level)[0]) for level in (0, 8)}
        answer = answer_text(environment._generate(9, 0)[1])
        longest.append(len(answer))
        larger += len(prompts[8]) > len(prompts[0])
    assert max(longest) <= 24
    assert sorted(longest)[len(longest) // 2] <= 2
    assert larger >= 80


def _layers(programs: list[str], sandbox: Sandbox) -> list[tuple[str, list[str]]]:
    reports = [(source, validate(source, sandbox)) for source in programs]
    return [(source, [str(one) for one in report.findings]) for source, report in reports if report.layer < 5]


@pytest.mark.sandbox
def test_emitted_programs_reach_the_last_layer(sandbox: Sandbox, thorough: bool) -> None:
    sample = FAMILIES[:: 5 if thorough else 20]
    author = Author(6, "all")
    assert _layers([author.compose_family(family, 0).source for family in sample], sandbox) == []


@pytest.mark.long
@pytest.mark.sandbox
def test_hundreds_of_programs_reach_the_last_layer(sandbox: Sandbox) -> None:
    by_family = Author(7, "all")
    programs = [by_family.compose_family(family, 0).source for family in FAMILIES]
    drawn = Author(8, "train")
    programs += [drawn.compose(index).source for index in range(150)]
    assert len(programs) >= 300
    assert _layers(programs, sandbox) == []
