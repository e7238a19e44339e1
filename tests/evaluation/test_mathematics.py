"""Symbolic equivalence: the hard kinds of answer that math-verify's own tests are about, and hostile ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evoenv.evaluation.mathematics import MathGrader, letter_of, nesting, normalised
from evoenv.sandbox.host import Limits
from tests.effort import HANG_S

pytest.importorskip("math_verify", reason="math_verify is not installed: pip install 'evoenv[eval]'")
pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def grader() -> Iterator[MathGrader]:
    with MathGrader(limits=Limits(cpu_s=2.0, wall_s=120, memory_mb=512)) as grader:
        yield grader


SAME = [
    # numbers as people write them
    ("8251000", "8,251,000"),
    ("2000", "2 000"),
    ("14{,}916", "14916"),
    ("73", "73.0"),
    ("0.4", ".4"),
    ("-7", "- 7"),
    ("1000.99", "1,000.99"),
    ("204", r"204 \text{ cm}"),
    ("12", r"\$12"),
    ("113", "113."),
    ("113", r"\boxed{113}"),
    ("113", "$113$"),
    ("113", r"\(113\)"),
    ("113", "The answer is 113"),
    # fractions, roots, powers, well formed and not
    (r"\frac{3}{8}", "3/8"),
    (r"\frac38", r"\dfrac{3}{8}"),
    (r"\frac{3}{8}", "0.375"),
    (r"-\frac{1}{3}", r"\frac{-1}{3}"),
    ("2.5", r"2\frac{1}{2}"),
    (r"\sqrt5", r"\sqrt{5}"),
    (r"\sqrt{2}+1", r"\frac{1}{\sqrt{2}-1}"),
    (r"2^{12}", "4096"),
    (r"10^{-3}", "0.001"),
    (r"7!", "5040"),
    (r"\binom{6}{2}", "15"),
    (r"\log_2 32", "5"),
    (r"4\pi", r"12.566371"),
    # percent and degrees
    (r"28\%", "28"),
    (r"28\%", r"28 \%"),
    (r"90^\circ", "90"),
    # expressions
    ("2x+1", "1+2x"),
    (r"x^2+2x+1", r"(x+1)^2"),
    (r"\frac{a}{b}", "a/b"),
    ("1 + i", "i+1"),
    (r"\sin^2 x + \cos^2 x", "1"),
    # an equation for its right side
    ("9", "x = 9"),
    ("y = 2x+3", "2x+3"),
    # sets, tuples, intervals, matrices
    (r"\{3, 1\}", r"\{1, 3\}"),
    ("1,2", "2, 1"),
    (r"(3, \frac{\pi}{2})", r"\left(3, \pi/2\right)"),
    ("[0,1)", "[0, 1)"),
    (r"(-\infty, 2)", r"\left(-\infty, 2\right)"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{bmatrix}1&2\\3&4\end{bmatrix}"),
    (r"\pm 2", "-2, 2"),
    (r"3 \text{ and } 4", "3, 4"),
    # words
    (r"\text{Evelyn}", "Evelyn"),
    ("A", "(A)"),
    (r"\textbf{(C)}", "C"),
]

DIFFERENT = [
    ("113", "114"),
    ("113", "1133"),
    ("5", "3x+5"),
    ("0.28", "28"),
    (r"\frac{28}{100}", "28"),
    ("28", "28/100"),
    ("2\\pi", "6.28"),
    ("[0,1)", "[0,1]"),
    ("(0,9)", "[0,9)"),
    ("1,2,3", "1,2"),
    (r"(1,2)", r"(2,1)"),
    ("x+1", "x-1"),
    (r"\sqrt{2}", "1.41"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 2 \\ 1 \end{pmatrix}"),
    ("A", "B"),
    ("2", "AZYUK2A"),
    ("5", "5 or 6"),
    ("5", ""),
    ("5", "$"),
]


def test_the_same_mathematics_is_the_same(grader: MathGrader) -> None:
    assert [pair for pair in SAME if grader.equivalent(*pair) != (True, None)] == []


def test_other_mathematics_is_not(grader: MathGrader) -> None:
    assert [pair for pair in DIFFERENT if grader.equivalent(*pair) != (False, None)] == []


@pytest.mark.timeout(HANG_S)
@pytest.mark.parametrize(
    "answer",
    [
        "9^{9^{9^{9}}}",
        pytest.param("(10^9)!", marks=pytest.mark.slow),
        pytest.param(r"\prod_{n=1}^{100000000} n", marks=pytest.mark.long),
        pytest.param(r"\binom{10^8}{5 \cdot 10^7}", marks=pytest.mark.long),
        pytest.param("(x+1)^{100000}", marks=pytest.mark.long),
    ],
)
def test_what_makes_sympy_hang_is_killed_and_the_next_answer_is_graded(grader: MathGrader, answer: str) -> None:
    same, failure = grader.equivalent("5", answer)
    assert not same
    assert failure is not None
    assert "killed" in failure or "Memory" in failure
    assert grader.equivalent("5", "10/2") == (True, None)


@pytest.mark.timeout(HANG_S)
@pytest.mark.parametrize(
    "answer",
    [
        "9" * 10_000_000,
        "(" * 10_000_000,
        pytest.param("{" * 150 + "}" * 150, marks=pytest.mark.slow),
        pytest.param(r"\frac{" * 60 + "1" + "}{2}" * 60, marks=pytest.mark.slow),
        pytest.param(r"\sqrt{" * 190 + "2" + "}" * 190, marks=pytest.mark.slow),
        pytest.param("1+" * 4000 + "1", marks=pytest.mark.slow),
        pytest.param("2^{2^{31}}-1", marks=pytest.mark.slow),
        "$" * 9000,
        "\\" * 9000,
        r"\left(" * 1200,
        "__import__('os').system('id')",
        "exec('while True: pass')",
        "\x00\ud800\u202e",
        r"\begin{pmatrix}" + "&".join("1" * 300) + r"\end{pmatrix}",
        r"\text{" + "a" * 9000 + "}",
        "٣٤",
        "∞",
    ],
    ids=lambda text: text[:12].encode("unicode_escape").decode(),
)
def test_hostile_answers_neither_hang_nor_crash(grader: MathGrader, answer: str) -> None:
    assert grader.equivalent("x^2+1", answer)[0] is False
    assert grader.equivalent("5", "10/2") == (True, None)


def test_answers_that_are_equal_as_text_need_no_mathematics() -> None:
    assert normalised(r" $\left( \dfrac{1}{2}, 3 \right)$. ") == normalised(r"(\frac{1}{2},3)")
    assert normalised("a b") == normalised("a  b")


@pytest.mark.parametrize(("reference", "answer"), [("1 23", "12 3"), ("1 2 3", "123"), ("3 1/2", "31/2")])
def test_a_space_between_two_numbers_is_not_nothing(grader: MathGrader, reference: str, answer: str) -> None:
    assert grader.equivalent(reference, answer) == (False, None)


def test_spaces_elsewhere_do_not_matter(grader: MathGrader) -> None:
    assert normalised(r"1\,000 ") == normalised("1000")
    assert normalised("x = 5 , 6") == normalised("x=5,6")
    assert grader.equivalent("2 x", "2x") == (True, None)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("(B)", "B"),
        ("B.", "B"),
        (r"\text{B}", "B"),
        (r"\textbf{(B)}", "B"),
        ("Because", None),
        ("BC", None),
    ],
)
def test_letters_of_options(text: str, letter: str | None) -> None:
    assert letter_of(text) == letter


def test_nesting_counts_brackets_of_any_kind() -> None:
    assert nesting("([{x}])") == 3
    assert nesting("()()") == 1
    assert nesting(")))(") == 1
