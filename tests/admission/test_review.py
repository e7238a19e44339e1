from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.admission.review import parse_verdict, read_review, review_passes
from evoenv.prompts.review import ScoredAnswer, latent_table, review_messages
from evoenv.records import Instance, Review


@pytest.mark.parametrize(
    "text",
    [
        "VERDICT: ACCEPT",
        "Step 4: fine.\n\nVERDICT: ACCEPT\n\n  \n",
        "reasons\n**VERDICT: ACCEPT**",
        "reasons\n  ** VERDICT: ACCEPT **  ",
        "VERDICT: REJECT\nOn second thought it is right.\nVERDICT: ACCEPT",
        "<think>VERDICT: REJECT</think>\nVERDICT: ACCEPT",
    ],
)
def test_an_accepting_last_line_is_read(text):
    assert parse_verdict(text) == "accept"


def test_a_rejecting_last_line_is_read():
    assert parse_verdict("VERDICT: ACCEPT\n*VERDICT: REJECT*\n") == "reject"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ACCEPT",
        "verdict: accept",
        "VERDICT: ACCEPT.",
        "VERDICT:ACCEPT",
        "VERDICT:  ACCEPT",
        "VERDICT: ACCEPT or VERDICT: REJECT",
        "VERDICT: ACCEPT\nThank you.",
        "My VERDICT: ACCEPT",
        "**VERDICT:** ACCEPT",
        "`VERDICT: ACCEPT`",
        "VERDICT: MAYBE",
        "<think>it ends with\nVERDICT: ACCEPT",
        "<Thinking>it ends with\nVERDICT: ACCEPT",
    ],
)
def test_anything_else_is_unparseable(text):
    assert parse_verdict(text) == "unparseable"


@given(st.text(max_size=80))
def test_text_before_the_verdict_line_never_matters(text):
    assert parse_verdict(text.replace("<think>", "") + "\nVERDICT: REJECT") == "reject"


def test_a_response_cut_off_by_the_limit_has_no_verdict():
    assert read_review("VERDICT: ACCEPT", "length") == Review("unparseable", "VERDICT: ACCEPT")
    assert read_review("VERDICT: ACCEPT", "stop").verdict == "accept"


A, R, U = Review("accept", ""), Review("reject", ""), Review("unparseable", "")


@pytest.mark.parametrize(
    ("reviews", "any_reject", "majority", "all_reject", "single"),
    [
        ((A, A, A), True, True, True, True),
        ((A, A, R), False, True, True, True),
        ((A, U, A), False, True, True, True),
        ((R, A, A), False, True, True, False),
        ((A, R, R), False, False, True, True),
        ((U, U, A), False, False, True, False),
        ((R, R, R), False, False, False, False),
        ((A, R), False, False, True, True),
        ((), False, False, False, False),
    ],
)
def test_aggregation_rules(reviews, any_reject, majority, all_reject, single):
    assert review_passes(reviews, "any-reject") is any_reject
    assert review_passes(reviews, "majority") is majority
    assert review_passes(reviews, "all-reject") is all_reject
    assert review_passes(reviews, "single") is single


def instance(prompt, latent, reference=0):
    return Instance(seed=7, difficulty=2, prompt=prompt, latent=latent, reference=reference)


def shown(prompt, latent, reference=0):
    return {row.path: row.shown for row in latent_table(instance(prompt, latent, reference))}


def test_latent_table_names_what_the_prompt_hides():
    found = shown("Sort 3 1 2 modulo ten.", {"numbers": [3, 1, 2], "modulus": 10}, 77)
    assert found == {"z['numbers']": "yes", "z['modulus']": "NO", "reference a": "NO"}


def test_latent_table_counts_values_shown_in_part_and_digits_inside_numbers_do_not_count():
    assert shown("Numbers: 12, 5", [1, 2, 5, 12]) == {"z": "partly (2 of 4 values)", "reference a": "NO"}


def test_latent_table_splits_tuples_and_reads_negative_numbers_floats_and_text():
    latent = {"~": "tuple", "v": [[[0, 1], [1, 2]], -4, 2.5, "abc", "xyz"]}
    found = shown("Edges 0-1, 1-2; value -4, weight 2.50, word a b c", latent)
    assert found == {
        "z[0]": "yes", "z[1]": "yes", "z[2]": "yes", "z[3]": "yes", "z[4]": "NO", "reference a": "yes",
    }  # fmt: skip


@pytest.mark.parametrize(
    "latent", [None, [], {}, {"~": "set", "v": [[1]]}, {"~": "nonsense"}, 10**400, {"~": "float", "v": "inf"}, [[[[]]]]]
)
def test_latent_table_takes_any_wire_value(latent):
    assert latent_table(instance("Find 3.", latent))


def test_the_prompt_holds_source_instances_reference_table_and_probes():
    source = 'class E:\n    """A fence: ``` and a slot {{probes}}."""\n'
    probes = [ScoredAnswer("reference", "4", 1.0), ScoredAnswer("off by one", "5", 0.0)]
    (message,) = review_messages(source, [instance("What is 2+2?", {"a": 2, "k": 9}, 4)], probes)
    text = message.content
    assert f"````python\n{source.rstrip()}\n````" in text
    assert "What is 2+2?" in text
    assert "z['k'] | 9 | NO" in text
    assert "reference a | 4 | NO" in text
    assert "off by one: '5' -> 0" in text
    assert text.endswith("VERDICT: ACCEPT\nVERDICT: REJECT")
    for step in ("1. Data flow", "2. Instance trace", "3. Algorithm check", "4. Scorer check"):
        assert step in text


def test_the_values_of_a_level_0_instance_are_shown_in_full_and_those_of_others_are_cut():
    values = list(range(400))  # 1,490 characters
    at_level = {
        level: Instance(seed=7, difficulty=level, prompt="x", latent=values, reference=values) for level in (0, 2)
    }
    (full,) = review_messages("class E: pass", [at_level[0]], [])
    assert full.content.count(str(values)) == 2, "z and the reference"
    (cut,) = review_messages("class E: pass", [at_level[2]], [])
    assert str(values) not in cut.content
    assert "(1890 characters)" in cut.content
    (short,) = review_messages("class E: pass", [at_level[0]], [], in_full=False)
    assert str(values) not in short.content


def test_the_reviewer_is_told_what_to_look_for():
    (message,) = review_messages("class E: pass", [], [])
    for words in ("domain relabelling", "hidden leakage", "permissive parsing"):
        assert words in message.content


def test_long_prompts_and_values_are_shortened():
    (message,) = review_messages("class E: pass", [instance("x" * 50_000, list(range(5000)))], [])
    assert len(message.content) < 12_000
    assert "(50000 characters in all)" in message.content
