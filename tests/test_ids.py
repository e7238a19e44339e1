"""Ids: the texts that runs of every version share, and their parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.ids import (
    CalibrationRequestId,
    CandidateId,
    GeneratorRequestId,
    ProblemRequestId,
    ReviewRequestId,
    SolverRequestId,
    VoteRequestId,
)
from evoenv.records import Candidate, Question

CANDIDATE = CandidateId(3, 1, 5)
TEXTS = {
    "s00003.g001": GeneratorRequestId(3, 1),
    "s00003.g001.c05": CANDIDATE,
    "s00003.g001.c05.review": ReviewRequestId(CANDIDATE),
    "s00003.g001.c05.calibrate.02": CalibrationRequestId(CANDIDATE, 2),
    "s00003.g001.c05.vote": VoteRequestId(CANDIDATE),
    "s00003.solve.0007": SolverRequestId(3, 7),
    "s00003.solve.00007": ProblemRequestId(3, 7),
}
KINDS = sorted({type(value) for value in TEXTS.values()}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize(("text", "value"), TEXTS.items())
def test_the_text_of_an_id_is_what_runs_have_always_stored(text: str, value: object) -> None:
    assert str(value) == text


@given(st.integers(0, 10**7), st.integers(0, 10**5), st.integers(0, 10**4), st.integers(0, 10**3))
def test_every_id_is_read_back_from_its_text(step: int, group: int, index: int, instance: int) -> None:
    candidate = GeneratorRequestId(step, group).candidate(index)
    for value in (
        candidate,
        candidate.request,
        candidate.review,
        candidate.vote,
        candidate.calibration(instance),
        SolverRequestId(step, index),
        ProblemRequestId(step, index),
    ):
        assert type(value).parse(str(value)) == value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_text_of_another_kind_is_refused(kind: type[CandidateId]) -> None:
    others = [text for text, value in TEXTS.items() if type(value) is not kind]
    if kind is SolverRequestId:  # the ten-thousandth draw of a step looks like a problem
        others.remove("s00003.solve.00007")
    for text in [*others, "", "0123456789abcdef", "s3.g1.c5", "s00003.g001.c05\n"]:
        with pytest.raises(ValueError, match="is not the id of"):
            kind.parse(text)


def test_candidates_and_questions_are_named_by_their_parts() -> None:
    assert Candidate(3, 1, 5, "text", None).id == Question(3, 1, 5, "text").id == "s00003.g001.c05"


def test_texts_of_one_kind_sort_like_their_parts() -> None:
    values = [CandidateId(*parts) for parts in ((1, 0, 9), (1, 0, 10), (1, 2, 0), (1, 10, 0), (12, 0, 0), (112, 0, 0))]
    assert sorted(map(str, reversed(values))) == list(map(str, values))
