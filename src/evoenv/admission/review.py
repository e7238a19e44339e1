"""Semantic review: how a verdict is read, and how several verdicts become one.

A review only opens or closes the door to the pool. It is no argument of `reward`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from evoenv.records import FinishReason, Review
from evoenv.thinking import is_thinking

Rule = Literal["any-reject", "majority", "all-reject", "single"]


def parse_verdict(text: str) -> Literal["accept", "reject", "unparseable"]:
    """Read the verdict strictly: it must be the last non-empty line and nothing else, bold or not.

    A response that ends inside its thinking has not reached a verdict, whatever its last line says.
    """
    if is_thinking(text):
        return "unparseable"
    lines = text.rstrip().rsplit("\n", 1)
    line = lines[-1].strip().strip("*").strip()
    if line == "VERDICT: ACCEPT":
        return "accept"
    return "reject" if line == "VERDICT: REJECT" else "unparseable"


def read_review(text: str, finish_reason: FinishReason = "stop") -> Review:
    """Read a review; a response cut off by the token limit, or lost to an error, is unparseable."""
    return Review(parse_verdict(text) if finish_reason == "stop" else "unparseable", text)


def review_passes(reviews: Sequence[Review], rule: Rule = "any-reject") -> bool:
    """Return whether the candidate may enter the pool. Only `accept` accepts; no reviews at all is a reject.

    `any-reject`: one reject refuses. `majority`: more accepts than rejects are needed, a tie refuses.
    `all-reject`: only a unanimous reject refuses. `single`: the first review alone counts.
    """
    if not reviews:
        return False
    accepted = sum(review.verdict == "accept" for review in reviews)
    if rule == "any-reject":
        return accepted == len(reviews)
    if rule == "majority":
        return 2 * accepted > len(reviews)
    if rule == "all-reject":
        return accepted > 0
    return reviews[0].verdict == "accept"
