"""The table, worked out by hand."""

from __future__ import annotations

from evoenv.records import Recomputation, Review
from evoenv.review_audit.agreement import Agreement
from evoenv.review_audit.journal import Cost, Mechanical, VerdictLedger
from evoenv.review_audit.labels import Labelled, LabelledSet
from evoenv.review_audit.tables import KindRow, summarise, table_text

SET = LabelledSet(
    "by hand",
    (
        Labelled("s1", "", buggy=False),
        Labelled("s2", "", buggy=False),
        Labelled("b1", "", True, "greedy"),
        Labelled("b2", "", True, "leak"),
        Labelled("b3", "", True, "greedy"),
    ),
)
VERDICTS = {"s1": "aaa", "s2": "ura", "b1": "arr", "b2": "aaa", "b3": "rru"}
WORDS = {"a": "accept", "r": "reject", "u": "unparseable"}


def journal() -> VerdictLedger:
    kept = VerdictLedger(None, {})
    for name in SET.labels:
        kept.add_mechanical(name, Mechanical(4, ("L5.answer-in-prompt",)) if name == "b2" else Mechanical(5))
        for index, letter in enumerate(VERDICTS[name]):
            kept.add_review(name, index, Review(WORDS[letter], ""))  # type: ignore[arg-type]
    return kept


def test_rows_are_the_mechanical_checks_each_rule_and_each_rule_after_the_checks() -> None:
    rows = summarise(SET, journal(), reviews=3).rows
    assert [(row.checks, row.rule, row.agreement, row.unparsed, row.read) for row in rows] == [
        ("mechanical", None, Agreement(1, 0, 2, 2), 0, 0),
        ("review", "single", Agreement(1, 1, 1, 2), 1, 5),  # s2's first is unparsed: a reject
        ("review", "majority", Agreement(2, 1, 1, 1), 2, 15),  # s2 has one accept of three
        ("review", "any-reject", Agreement(2, 1, 1, 1), 2, 15),
        ("review", "all-reject", Agreement(1, 0, 2, 2), 2, 15),  # only b3 has no accept
        ("both", "single", Agreement(2, 1, 1, 1), 1, 5),
        ("both", "majority", Agreement(3, 1, 1, 0), 2, 15),
        ("both", "any-reject", Agreement(3, 1, 1, 0), 2, 15),
        ("both", "all-reject", Agreement(2, 0, 2, 1), 2, 15),
    ]


def test_fewer_reviews_are_the_first_ones() -> None:
    rows = {(row.checks, row.rule): row for row in summarise(SET, journal(), reviews=1).rows}
    assert rows["review", "any-reject"].agreement == rows["review", "single"].agreement == Agreement(1, 1, 1, 2)
    assert rows["review", "any-reject"].read == 5


def test_kinds_of_defects_come_by_name_and_the_sound_last() -> None:
    assert summarise(SET, journal(), reviews=3).kinds == (
        KindRow("greedy", 2, 0, 2, 2),
        KindRow("leak", 1, 1, 0, 1),
        KindRow("sound", 2, 0, 1, 1),
    )
    assert summarise(SET, journal(), reviews=0).kinds[0] == KindRow("greedy", 2, 0, None, None)


def test_cells_are_the_papers() -> None:
    cells = table_text(summarise(SET, journal(), reviews=3).rows)
    assert cells[0] == ["L1-L5", "", "60.0%", "100.0%", "33.3%", "50.0%", "(1, 0, 2, 2)", ""]
    assert cells[7] == [
        "both",
        "any-reject",
        "80.0%",
        "75.0%",
        "100.0%",
        "85.7%",
        "(3, 1, 1, 0)",
        "2 of 15",
    ]


def test_the_document_holds_every_item_with_its_verdicts() -> None:
    document = summarise(SET, journal(), reviews=3).to_json()
    assert (document["sound"], document["buggy"], len(document["table"])) == (2, 3, 9)
    assert document["items"][3] == {
        "name": "b2", "label": "buggy", "kind": "leak", "note": "", "layer": 4, "findings": ["L5.answer-in-prompt"],
        "verdicts": ["accept", "accept", "accept"],
    }  # fmt: skip


def recomputed() -> VerdictLedger:
    """The same verdicts, and programs that confirm s1, contradict b1 and say nothing of the others."""
    kept = journal()
    for name in SET.labels:
        if name in ("s1", "b1"):
            found = Recomputation(
                "confirmed" if name == "s1" else "contradicted", 2, (1.0,) if name == "s1" else (0.0,)
            )
        else:
            found = Recomputation("unconfirmed", 2, (0.5,))
        kept.add_recomputation(name, found, tokens=30, prompt_tokens=100)
    return kept


def test_recomputation_has_rows_alone_with_the_checks_and_with_reading() -> None:
    audit = summarise(SET, recomputed(), reviews=3)
    assert [(row.checks, row.rule, row.agreement, row.unparsed, row.read) for row in audit.rows[9:]] == [
        ("recomputation", "confirmed", Agreement(3, 1, 1, 0), 3, 5),
        ("recomputation", "not contradicted", Agreement(1, 0, 2, 2), 3, 5),
        ("mechanical and recomputation", "confirmed", Agreement(3, 1, 1, 0), 3, 5),
        ("mechanical and recomputation", "not contradicted", Agreement(2, 0, 2, 1), 3, 5),
        ("all", "not contradicted", Agreement(3, 1, 1, 0), 3, 5),  # any-reject refuses s2, b1 and b3, the checks b2
    ]
    assert audit.kinds == (
        KindRow("greedy", 2, 0, 2, 2, 2), KindRow("leak", 1, 1, 0, 1, 1), KindRow("sound", 2, 0, 1, 1, 1),
    )  # fmt: skip
    assert audit.costs == {"reading": Cost(), "recomputing": Cost(500, 150)}
    assert audit.to_json()["costs"]["recomputing"] == {"prompt_tokens": 500, "sampled_tokens": 150}
    assert table_text(audit.rows)[9][:2] == ["recomputing", "confirmed"]


def test_without_reading_recomputation_stands_beside_the_checks() -> None:
    rows = summarise(SET, recomputed(), reviews=0).rows
    assert [row.checks for row in rows] == ["mechanical", *["recomputation"] * 2, *["mechanical and recomputation"] * 2]


def test_a_set_that_is_recomputed_in_part_has_no_such_rows() -> None:
    kept = journal()
    kept.add_recomputation("s1", Recomputation("confirmed", 2, (1.0,)))
    assert len(summarise(SET, kept, reviews=3).rows) == 9
