"""Broken variants: every fault exists, says what is wrong, changes something, and stops where it says."""

from __future__ import annotations

from collections import defaultdict

import pytest

from evoenv.corpus import FAULTS, Author, Broken, break_program, broken_variants, worked_solution
from evoenv.corpus.catalogue.families import COMPUTATIONS
from evoenv.corpus.compose.screen import answer_text, load
from evoenv.environment.answers import extract_answer
from evoenv.errors import InputError
from evoenv.sandbox.host import Sandbox
from evoenv.validation.validate import validate


def _examples(each: int, seed: int = 12, limit: int = 400) -> dict[str, list[Broken]]:
    author = Author(seed, "all")
    found: defaultdict[str, list[Broken]] = defaultdict(list)
    for index in range(limit):
        program = author.compose(index)
        for fault in FAULTS:
            if len(found[fault]) < each and (broken := break_program(program, fault)) is not None:
                found[fault].append(broken)
        if all(len(found[fault]) >= each for fault in FAULTS):
            break
    return found


def test_every_fault_has_a_place_somewhere_and_says_what_is_wrong() -> None:
    for fault, found in _examples(2).items():
        assert len(found) == 2, fault
        for broken in found:
            assert broken.fault == fault
            assert broken.source != broken.program.source
            assert broken.explanation.endswith(".")
            assert broken.passes == (broken.layer == 5)
            compile(broken.source, fault, "exec")


def test_breaking_is_deterministic_and_varies_with_the_seed() -> None:
    program = Author(0, "train").compose(3)
    assert broken_variants(program, 1) == broken_variants(program, 1)
    assert len(broken_variants(program, 1)) >= 8
    programs = [Author(0, "train").compose(index) for index in range(10)]
    assert any(
        break_program(p, "asks-other-quantity", 1) != break_program(p, "asks-other-quantity", 2) for p in programs
    )


def test_an_unknown_fault_is_named_in_the_error() -> None:
    with pytest.raises(InputError, match="'no-such-fault'"):
        break_program(Author(0).compose(0), "no-such-fault")


def test_faults_in_the_code_change_references_and_faults_in_the_words_do_not() -> None:
    examples = _examples(3, seed=13)
    for fault in ("off-by-one", "wrong-operator", "greedy", "reference-shifted"):
        for broken in examples[fault]:
            before, after = load(broken.program.source), load(broken.source)
            rows = [(before._generate(s, level), after._generate(s, level)) for level in (1, 3, 5) for s in range(12)]
            assert all(z == other for (z, _), (other, _) in rows)
            assert any(a != b for (_, a), (_, b) in rows)
    for fault in ("asks-other-quantity", "asks-other-number", "leaves-out-step", "swaps-steps"):
        for broken in examples[fault]:
            before, after = load(broken.program.source), load(broken.source)
            assert [before._generate(s, 2) for s in range(5)] == [after._generate(s, 2) for s in range(5)]


def _check_layers(examples: dict[str, list[Broken]], sandbox: Sandbox) -> list[str]:
    wrong = []
    for fault, found in examples.items():
        for broken in found:
            report = validate(broken.source, sandbox)
            if report.layer != broken.layer:
                codes = [finding.code for finding in report.findings]
                wrong.append(f"{fault}: {report.layer} {codes}, expected {broken.layer}: {broken.program.description}")
    return wrong


@pytest.mark.sandbox
def test_each_fault_stops_at_the_layer_it_names(sandbox: Sandbox, thorough: bool) -> None:
    quick = ("asks-other-quantity", "off-by-one", "hidden-parameter", "rare-crash", "answer-leaked", "tolerant")
    examples = _examples(1)
    assert _check_layers({fault: examples[fault] for fault in (FAULTS if thorough else quick)}, sandbox) == []


@pytest.mark.long
@pytest.mark.sandbox
def test_faults_stop_at_their_layers_by_the_hundred(sandbox: Sandbox) -> None:
    examples = _examples(10, seed=14, limit=1500)
    total = sum(len(found) for found in examples.values())
    assert total >= 200
    assert len(_check_layers(examples, sandbox)) <= 0.02 * total  # a changed program may turn out degenerate by chance


def test_worked_solutions_end_in_the_reference_as_the_scorer_reads_it() -> None:
    author = Author(15, "all")
    for index in range(80):
        program = author.compose(index)
        environment = load(program.source)
        for level in (0, 1, 3):
            z, a = environment._generate(index, level)
            text = worked_solution(program, z, a)
            answer = extract_answer(text)
            assert answer == answer_text(a)
            assert environment.scorer(answer, z, a) == 1.0
            pieces = sum(max(1, len(COMPUTATIONS[step.name].made_of)) for step in program.steps)
            assert len(text.split("\n")) == pieces + 1
            if level < 2:
                assert len(text) <= 400


def test_a_worked_solution_of_another_reference_is_refused() -> None:
    program = Author(0, "train").compose(1)
    z, a = load(program.source)._generate(0, 1)
    with pytest.raises(ValueError, match="this very program"):
        worked_solution(program, z, [a, a])
