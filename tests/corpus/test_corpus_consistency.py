"""The consistency oracle: emitted programs read back whole; wrong words are seen; nothing makes it raise or guess."""

from __future__ import annotations

import random
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.corpus import (
    Author,
    Reading,
    agrees,
    break_program,
    combination,
    corpus_index,
    is_verbatim,
    normalised,
    read_environment,
)
from evoenv.corpus.catalogue.families import COMPUTATIONS
from evoenv.corpus.compose.rewriting import template_of, with_template
from evoenv.corpus.compose.screen import load
from evoenv.corpus.read.code import ReadStep
from evoenv.corpus.read.words import meanings, read_words, split_sentences
from evoenv.environment.seeds import seed_sources

POWER = """import random


class PowerModulo(VerifiableEnvironment):
    prompt_template = "Find {b} to the power {e}, modulo {m}. Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        b = rng.randint(2, 5 + difficulty)
        e = rng.randint(2, 3 + 2 * difficulty)
        m = rng.randint(5, 9 + 3 * difficulty)
        a = pow(b, e, m)
        return {"b": b, "e": e, "m": m}, a

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
SQUARES = """import random


class Squares(VerifiableEnvironment):
    prompt_template = "List: {xs}\\nSquare every number. Then add up the 3 largest numbers. Give one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        xs = [rng.randint(1, 9 + difficulty) for _ in range(4 + difficulty)]
        ys = [v * v for v in xs]
        a = sum(sorted(ys)[-3:])
        return {"xs": xs}, a

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


@given(
    seed=st.integers(0, 2**32),
    index=st.integers(0, 2**32),
    split=st.sampled_from(["train", "paired", "held-out", "all"]),
)
def test_every_emitted_program_reads_back_as_what_it_was_made_of(seed: int, index: int, split: str) -> None:
    program = Author(seed, split).compose(index)  # type: ignore[arg-type]
    reading = read_environment(program.source)
    assert reading.consistent is True, reading.reason
    assert reading.sampler == program.parts[0].name
    pieces = [piece.name for step in program.steps for piece in ReadStep(step.name).pieces()]
    assert [name.split("(")[0] for name in reading.quantity or ()] == pieces
    assert reading.scorer == program.parts[-1].name


def test_a_program_is_read_with_its_constants() -> None:
    assert read_environment(SQUARES) == Reading(
        "ints/uniform", ("square", "top-sum(3)"), ("square", "top-sum(3)"), "exact", consistent=True
    )
    assert read_environment(POWER).quantity == ("power-modulo",)
    assert combination(SQUARES) == ("ints/uniform", "square", "top-sum", "exact")


@pytest.mark.parametrize(
    ("old", "new", "fault", "reason"),
    [
        ("Square every number", "Halve every number, rounding down", "another quantity", "asks for halve"),
        ("the 3 largest", "the 2 largest", "another constant", "says 2 where the code uses 3"),
        ("Square every number. ", "", "another quantity", "asks for top-sum; the code computes square then top-sum"),
        ("[v * v for v in xs]", "[-v for v in xs]", "another quantity", "computes negate"),
        (
            "sorted(ys)[-3:]",
            "sorted(xs)[-3:]",
            "another quantity",
            "code computes top-sum",
        ),  # a step that leads nowhere
        ("sorted(ys)[-3:]", "sorted(ys)[-2:]", "another constant", "uses 2"),
        ("Give one integer.", "Answer yes or no.", "another form of answer", "answer of type yesno"),
        ('{"xs": xs}', '{"values": xs}', "missing value", "which the instance does not hold"),
    ],
)
def test_a_prompt_that_asks_for_something_else_is_inconsistent(old: str, new: str, fault: str, reason: str) -> None:
    assert old in SQUARES
    reading = read_environment(SQUARES.replace(old, new))
    assert reading.consistent is False
    assert reading.fault == fault
    assert reason in reading.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Find {b} to the power {e}", "Find {e} to the power {b}"),
        ("pow(b, e, m)", "pow(e, b, m)"),
        ("modulo {m}", "modulo 7"),
        ('"b": b, "e": e', '"b": e, "e": b'),
        ("{b} to the power {e}", "{b} to the power 3"),
    ],
)
def test_values_in_the_wrong_place_are_inconsistent(old: str, new: str) -> None:
    assert old in POWER
    assert read_environment(POWER).consistent is True
    assert read_environment(POWER.replace(old, new)).consistent is False


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("v * v for v in xs", "v * v + 1 for v in xs"),
        ("Square every number", "Square all of the numbers"),
        ("return float(self._process(y) == a)", "return float(self._process(y) == z)"),
        ("rng = random.Random(seed)", "rng = random.Random(1)"),
        ('{"xs": xs}, a', '{"xs": ys}, a'),
        ("format(**z)", "format(xs=sorted(z['xs']))"),
        ("range(4 + difficulty)", "range(len(str(seed)))"),
        ("List: {xs}", "List: 5"),
        ("class Squares", "class"),
        ("def scorer", "def score"),
    ],
)
def test_what_is_not_made_of_known_parts_is_not_judged(old: str, new: str) -> None:
    assert old in SQUARES
    reading = read_environment(SQUARES.replace(old, new))
    assert reading.consistent is None
    assert reading.reason


def test_names_layout_and_docstrings_do_not_matter() -> None:
    renamed = SQUARES.replace("xs", "numbers").replace("ys", "second").replace("v * v for v in", "w * w for w in")
    renamed = renamed.replace("seed, difficulty):\n", 'seed, difficulty):\n        """Draws."""\n')
    assert read_environment(renamed).consistent is True
    assert normalised(renamed.replace("Squares", "Other")) == normalised(SQUARES)


def test_knobs_may_be_any_arithmetic_in_difficulty() -> None:
    assert read_environment(SQUARES.replace("4 + difficulty", "5 + 2 * difficulty ** 2 // 3")).consistent is True


def test_wrong_words_of_every_kind_are_seen_in_generated_programs() -> None:
    author = Author(9, "all")
    seen: Counter[str] = Counter()
    for index in range(60):
        program = author.compose(index)
        for fault in ("asks-other-quantity", "asks-other-number", "leaves-out-step", "swaps-steps", "one-answer-only"):
            broken = break_program(program, fault)
            if broken is not None:
                seen[fault] += 1
                assert read_environment(broken.source).consistent is False, broken.source
    assert seen["asks-other-quantity"] >= 30
    assert min(seen.values()) >= 1
    assert len(seen) == 5


def test_running_what_the_words_say_tells_wrong_code_that_cannot_be_read() -> None:
    author = Author(10, "all")
    told: Counter[tuple[str, bool | None]] = Counter()
    for index in range(60):
        program = author.compose(index)
        environment = load(program.source)
        sound = agrees(program.source, [environment._generate(seed, 2) for seed in range(12)])
        assert sound is (None if COMPUTATIONS[program.steps[-1].name].check else True)
        for fault in ("off-by-one", "wrong-operator", "reference-shifted"):
            broken = break_program(program, fault)
            if broken is not None:
                spoilt = load(broken.source)
                told[
                    fault, agrees(broken.source, [spoilt._generate(s, level) for level in (1, 3) for s in range(20)])
                ] += 1
    assert {verdict for _, verdict in told} == {False}
    assert len(told) == 3


def test_running_gives_no_verdict_on_unknown_words_and_huge_instances() -> None:
    instance = ({"xs": [1, 2, 3, 4]}, 29)
    assert agrees(SQUARES, [instance]) is True
    assert agrees(SQUARES, [instance, ({"xs": [1, 2, 3, 4]}, 30)]) is False
    assert agrees(SQUARES, [({"xs": "abcd"}, 29)]) is False
    assert agrees(SQUARES, []) is None
    assert agrees(SQUARES, [({"xs": [10**9] * 4}, 29)]) is None
    assert agrees(SQUARES.replace("Square every", "Cube every"), [instance]) is None
    assert agrees(SQUARES.replace("List: {xs}", "List: 5"), [instance]) is None


def test_running_gives_up_on_small_numbers_that_ask_for_much_work() -> None:
    words = "Count the partitions of {n} into parts of size at most {k}. Give one integer."
    source = POWER.replace("Find {b} to the power {e}, modulo {m}. Give one integer.", words)
    assert agrees(source, [({"n": 5, "k": 2}, 3)]) is True
    assert agrees(source, [({"n": 5, "k": 2}, 4)]) is False
    assert agrees(source, [({"n": 100_000, "k": 100_000}, 3)]) is None
    assert sys.gettrace() is None or "coverage" in repr(sys.gettrace())


def test_the_seeds_are_read_without_a_guess() -> None:
    for source in seed_sources().values():
        assert read_environment(source).consistent is None


@given(data=st.data())
def test_nothing_makes_the_reader_raise(data: st.DataObject) -> None:
    source = Author(0, "all").compose(data.draw(st.integers(0, 300))).source
    lines = source.split("\n")
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    for _ in range(rng.randint(1, 4)):
        action, i, j = rng.randrange(4), rng.randrange(len(lines)), rng.randrange(len(lines))
        if action == 0:
            lines[i], lines[j] = lines[j], lines[i]
        elif action == 1:
            lines[i] = lines[i].replace(rng.choice("abcxyz0123(){}#. "), rng.choice(["", "#", "(", "{k}", "7", " "]), 1)
        elif action == 2:
            del lines[i]
            lines.append("")
        else:
            lines.insert(i, lines[j])
    changed = "\n".join(lines)
    assert read_environment(changed).consistent in (True, False, None)
    combination(changed)
    normalised(changed)


@pytest.mark.parametrize("text", ["", "class", "\x00", "x = " + "(" * 5000, "class A:\n    prompt_template = 3\n", "é"])
def test_garbage_is_unreadable(text: str) -> None:
    assert read_environment(text).consistent is None
    assert combination(text) == ()
    assert not is_verbatim(text, corpus_index([SQUARES]))


def test_no_sentence_has_two_meanings() -> None:
    for key, found in meanings().items():
        if {meaning.kind for meaning in found} == {"intro"}:
            continue  # domains may look alike: the first step tells them apart
        assert len({(meaning.name, meaning.values) for meaning in found}) == 1, (key, found)


def test_a_copy_is_known_by_its_tree_and_a_new_number_makes_another() -> None:
    author = Author(0, "train")
    index = corpus_index(author.compose(i).source for i in range(50))
    source = author.compose(11).source
    assert is_verbatim(source, index)
    assert is_verbatim(source.replace("class ", "class Another").replace("\n\n\n", "\n\n"), index)
    assert not is_verbatim(source.replace("+ difficulty", "+ 7 * difficulty").replace("(1, 9)", "(1, 8)"), index)
    assert not is_verbatim(SQUARES, index)
    assert not is_verbatim("not python (", index)


def test_the_order_of_introduction_does_not_matter() -> None:
    pieces = ["Square every number. ", "Add up the 3 largest numbers. ", "Give one integer.\n", "List: {xs}"]
    assert read_environment(with_template(SQUARES, pieces)).consistent is True
    assert split_sentences(template_of(SQUARES))[0] == "List: {xs}"
    assert [str(step) for step in read_words(template_of(SQUARES)).steps] == ["square", "top-sum(3)"]
