"""The names of what a run asks and gets, as values with parts: built here, read here, and nowhere else.

    s00003.g001                     generator request: step 3, group 1
    s00003.g001.c05                 candidate (or question): the group's sample 5
    s00003.g001.c05.review          the request for its reviews
    s00003.g001.c05.recompute       the request for programs that recompute its answers
    s00003.g001.c05.calibrate.02    the request for a response to its calibration instance 2
    s00003.g001.c05.vote            the request for the votes on a question (r-zero)
    s00003.solve.0007               solver request: step 3, draw 7 of an environment
    s00003.solve.00007              solver request: step 3, problem 7 of a file or of a challenger

`str(id)` is the text that the store and the policy keep, and must never change: runs of every version share it.
`parse(text)` reads it back. Texts of one kind sort like their parts, as long as a part has no more digits than shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, order=True)
class GeneratorRequestId:
    """A prompt of the generator or challenger; its samples are candidates or questions."""

    step: int
    group: int

    def __str__(self) -> str:
        return f"s{self.step:05d}.g{self.group:03d}"

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(*_parts(r"s(\d{5,})\.g(\d{3,})", text, "a generator request"))

    def candidate(self, index: int) -> CandidateId:
        """Name the candidate that sample `index` of this request is."""
        return CandidateId(self.step, self.group, index)


@dataclass(frozen=True, slots=True, order=True)
class CandidateId:
    """A candidate for the pool, or under r-zero a question: one sample of a generator request."""

    step: int
    group: int
    index: int

    def __str__(self) -> str:
        return f"{self.request}.c{self.index:02d}"

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(*_parts(r"s(\d{5,})\.g(\d{3,})\.c(\d{2,})", text, "a candidate"))

    @property
    def request(self) -> GeneratorRequestId:
        return GeneratorRequestId(self.step, self.group)

    @property
    def review(self) -> ReviewRequestId:
        return ReviewRequestId(self)

    @property
    def recompute(self) -> RecomputeRequestId:
        return RecomputeRequestId(self)

    @property
    def vote(self) -> VoteRequestId:
        return VoteRequestId(self)

    def calibration(self, index: int) -> CalibrationRequestId:
        return CalibrationRequestId(self, index)


@dataclass(frozen=True, slots=True, order=True)
class ReviewRequestId:
    candidate: CandidateId

    def __str__(self) -> str:
        return f"{self.candidate}.review"

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(CandidateId.parse(_head(text, ".review", "a review request")))


@dataclass(frozen=True, slots=True, order=True)
class RecomputeRequestId:
    candidate: CandidateId

    def __str__(self) -> str:
        return f"{self.candidate}.recompute"

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(CandidateId.parse(_head(text, ".recompute", "a request for programs")))


@dataclass(frozen=True, slots=True, order=True)
class CalibrationRequestId:
    candidate: CandidateId
    index: int

    def __str__(self) -> str:
        return f"{self.candidate}.calibrate.{self.index:02d}"

    @classmethod
    def parse(cls, text: str) -> Self:
        head, _, index = text.rpartition(".calibrate.")
        return cls(CandidateId.parse(head), *_parts(r"(\d{2,})", index, "a calibration request"))


@dataclass(frozen=True, slots=True, order=True)
class VoteRequestId:
    question: CandidateId

    def __str__(self) -> str:
        return f"{self.question}.vote"

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(CandidateId.parse(_head(text, ".vote", "a request for votes")))


@dataclass(frozen=True, slots=True, order=True)
class SolverRequestId:
    """A solver's group on an instance of an environment: draw `index` of the step."""

    step: int
    index: int

    def __str__(self) -> str:
        return f"s{self.step:05d}.solve.{self.index:04d}"

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(*_parts(r"s(\d{5,})\.solve\.(\d{4,})", text, "a solver request"))


@dataclass(frozen=True, slots=True, order=True)
class ProblemRequestId:
    """A solver's group on a problem with a known answer: problem `index` of the step."""

    step: int
    index: int

    def __str__(self) -> str:
        return f"s{self.step:05d}.solve.{self.index:05d}"

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls(*_parts(r"s(\d{5,})\.solve\.(\d{5,})", text, "a solver request about a problem"))


def _head(text: str, tail: str, kind: str) -> str:
    if not text.endswith(tail):
        raise ValueError(f"{text!r} is not the id of {kind}; expected it to end in {tail!r}")
    return text.removesuffix(tail)


def _parts(form: str, text: str, kind: str) -> tuple[int, ...]:
    match = re.fullmatch(form, text, re.ASCII)
    if match is None:
        raise ValueError(f"{text!r} is not the id of {kind}")
    return tuple(map(int, match.groups()))
