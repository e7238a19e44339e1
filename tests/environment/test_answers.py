"""`extract_answer`: the rules, one by one; no text makes it raise; time is linear in the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.environment.answers import extract_answer, extract_source
from tests.effort import assert_linear

CASES = {
    "tagged": ("So it is <answer>42</answer>.", "42"),
    "whitespace is stripped": ("<answer>\n  1 2 3 \n</answer>", "1 2 3"),
    "last tag wins": ("<answer>1</answer> no, <answer>2</answer>", "2"),
    "tag case does not matter": ("<Answer>5</ANSWER>", "5"),
    "non-ASCII look-alike is no tag": ("<anſwer>5</answer>", None),
    "tag beats a later box": (r"<answer>1</answer> \boxed{2}", "1"),
    "nested openers: the innermost": ("<answer>a <answer>b</answer> c</answer>", "b"),
    "unclosed tag": ("<answer>5", None),
    "unclosed tag after a whole one": ("<answer>4</answer> or <answer>5", "4"),
    "unclosed tag before a box": (r"<answer>4 \boxed{5}", "5"),
    "closer without opener": ("5</answer>", None),
    "closers and openers the wrong way round": ("</answer>5<answer>", None),
    "stray closer after a pair": ("<answer>5</answer></answer>", "5"),
    "empty tag": ("<answer></answer>", None),
    "blank tag": ("<answer> \n </answer>", None),
    "empty last tag: the earlier one does not stand in": ("<answer>5</answer><answer></answer>", None),
    "markup is kept": (r"<answer>\text{Bob}</answer>", r"\text{Bob}"),
    "box that fills the tag": (r"<answer>\boxed{7}</answer>", "7"),
    "box with text that fills the tag": (r"<answer> \boxed{\text{Bob}} </answer>", "Bob"),
    "box that fills only part of the tag": (r"<answer>x = \boxed{7}</answer>", r"x = \boxed{7}"),
    "two boxes in the tag": (r"<answer>\boxed{7}\boxed{8}</answer>", r"\boxed{7}\boxed{8}"),
    "tag in a box": (r"\boxed{<answer>7</answer>}", "7"),
    "boxed": (r"Thus $\boxed{42}$.", "42"),
    "last box wins": (r"\boxed{1} then \boxed{2}", "2"),
    "braces in a box": (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
    "escaped braces in a box": (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
    "escaped brace does not close": (r"\boxed{a\} b", None),
    "nested boxes: the innermost": (r"\boxed{1 \boxed{2} 3}", "2"),
    "braces after a nested box": (r"\boxed{\boxed{2} {3}}", "2"),
    "unclosed box": (r"\boxed{5", None),
    "unclosed box after a whole one": (r"\boxed{4} or \boxed{5", "4"),
    "unclosed box around a whole one": (r"\boxed{4 \boxed{5}", "5"),
    "stray braces around": (r"} {{ \boxed{5} } {", "5"),
    "empty box": (r"\boxed{}", None),
    "fbox": (r"\fbox{9}", "9"),
    "space before the brace": (r"\boxed {9}", "9"),
    "number without braces": (r"so \boxed 5.", "5"),
    "fraction without braces": (r"\boxed -3/4 indeed", "-3/4"),
    "number without braces, later": (r"\boxed{4}, that is \boxed 5", "5"),
    "word after a bare command": (r"\boxed{4} is in a \boxed command", "4"),
    "text in a box": (r"\boxed{\text{Alice}}", "Alice"),
    "mathrm in a box": (r"\boxed{\mathrm{Alice}}", "Alice"),
    "only one wrapper is taken off": (r"\boxed{\text{\text{A}}}", r"\text{A}"),
    "text that fills only part of a box": (r"\boxed{\text{A} or \text{B}}", r"\text{A} or \text{B}"),
    "empty text in a box": (r"\boxed{\text{ }}", None),
    "other command": (r"\boxedx{5} \unboxed{5}", None),
    "thinking is dropped": ("<think><answer>1</answer></think><answer>2</answer>", "2"),
    "only thinking": ("<think><answer>1</answer></think>", None),
    "long tag, other case": ("<Thinking><answer>1</answer></THINKING><answer>2</answer>", "2"),
    "unclosed thinking": ("<think>so <answer>1</answer>", None),
    "unclosed thinking after the answer": ("<answer>1</answer> <think> hm <answer>2</answer>", "1"),
    "thinking opened in the prompt": ("first <answer>1</answer></think><answer>2</answer>", "2"),
    "thinking opened in the prompt, no answer": ("<answer>1</answer></think>", None),
    "closer without opener after a block": ("<answer>1</answer><think>a</think>b</think>", None),
    "thinking between": ("<answer>1</answer><think><answer>2</answer></think>", "1"),
    "thinking in the answer": ("<answer><think>hm</think>3</answer>", "3"),
    "thinking that mentions its tag": ("<think>a <think> tag</think><answer>1</answer>", "1"),
    "nested thinking": ("<think>a<think>b</think><answer>0</answer></think><answer>1</answer>", "1"),
    "no tag arises where thinking was": ("<ans<think></think>wer>5</answer>", None),
    "nothing": ("", None),
    "no marker": ("The answer is 5.", None),
}


@pytest.mark.parametrize(("response", "expected"), CASES.values(), ids=CASES.keys())
def test_rule(response: str, expected: str | None) -> None:
    assert extract_answer(response) == expected


unmarked = st.text().filter(lambda text: not any(mark in text.lower() for mark in ("answer>", "think", "box")))
markers = ["<answer>", "</answer>", "<think>", "</think>", r"\boxed{", r"\boxed", r"\text{", "{", "}", "\\", " ", "7"]
pieces = st.lists(st.sampled_from(markers) | st.text(max_size=3), max_size=40).map("".join)


@given(before=unmarked, answer=unmarked, after=unmarked)
def test_tagged_text_comes_back_stripped(before: str, answer: str, after: str) -> None:
    assert extract_answer(f"{before}<answer>{answer}</answer>{after}") == (answer.strip() or None)


@given(before=unmarked, answer=unmarked.filter(lambda text: not set(text) & set("{}\\")), after=unmarked)
def test_boxed_text_comes_back_stripped(before: str, answer: str, after: str) -> None:
    assert extract_answer(f"{before}\\boxed{{{answer}}}{after}") == (answer.strip() or None)


@given(pieces | st.text())
def test_any_text_gives_stripped_part_of_itself_or_none(response: str) -> None:
    answer = extract_answer(response)
    assert answer is None or (answer and answer == answer.strip())


@given(thought=pieces.filter(lambda text: "</think" not in text), rest=pieces.filter(lambda text: "think" not in text))
def test_closed_thinking_changes_nothing(thought: str, rest: str) -> None:
    assert extract_answer(f"<think>{thought}</think>{rest}") == extract_answer(rest)


HOSTILE = [
    "<answer>",
    "</answer>",
    "<answer></answer>",
    "<",
    "<answer",
    "<think>",
    "</think>",
    "<think></think>",
    r"\boxed{",
    r"\boxed",
    r"\boxed{}",
    r"\boxed 1",
    "\\boxed        ",
    "\\",
    "{",
    "}",
    "{}",
    r"\text{",
    r"<answer>\boxed{",
    r"\boxed{</answer><answer>}",
    "7",
    " ",
]


@pytest.mark.parametrize(
    "prefix",
    [
        pytest.param("", id="plain"),
        pytest.param(r"\boxed{", id="box", marks=pytest.mark.slow),
        pytest.param("<answer>", id="tag", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear_in_hostile_text(unit: str, prefix: str) -> None:
    assert_linear(extract_answer, prefix + unit * (320_000 // len(unit)))


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_two_megabytes_after_an_open_box_change_nothing(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    assert extract_answer(r"\boxed{" + text + "</think><answer>5</answer>") == "5"
    extract_answer(r"\boxed{" + text)


@pytest.mark.parametrize("line", ["```" + "=" * 200_000 + "`", "```" + " " * 200_000 + "`", " " * 200_000 + "```"])
def test_time_is_linear_in_a_line_that_is_almost_a_fence(line: str) -> None:
    assert_linear(extract_source, line)
