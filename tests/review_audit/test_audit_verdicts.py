"""Asking, keeping and continuing: a scripted reviewer, the real sandbox, a real file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evoenv.config import ReviewConfig
from evoenv.engines.scripted import Fault, ScriptedPolicy
from evoenv.errors import InputError, PolicyError, StoreError
from evoenv.records import Request, Review
from evoenv.review_audit.journal import Mechanical, VerdictLedger
from evoenv.review_audit.labels import LabelledSet, read_set
from evoenv.review_audit.tables import summarise
from evoenv.review_audit.verdicts import TOO_LONG, check_mechanically, review_all
from evoenv.sandbox.host import Sandbox

CONFIG = ReviewConfig(reviews=3, max_tokens=64)
IDENTITY = {"set": "four", "model": {"name": "scripted"}}


@pytest.fixture(scope="module")
def four() -> LabelledSet:
    return LabelledSet("four", read_set("shipped", count=2, seed=4).items)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


def oracle(labelled: LabelledSet) -> ScriptedPolicy:
    """A reviewer that knows the labels, but whose second review has no verdict."""
    buggy = labelled.labels

    def answer(request: Request, index: int) -> str:
        assert "## Source" in request.messages[0].content
        assert "the reference:" in request.messages[0].content
        verdict = "VERDICT: REJECT" if buggy[request.id] else "VERDICT: ACCEPT"
        return verdict if index != 1 else f"{verdict}, I think"

    return ScriptedPolicy({"reviewer": answer})


@pytest.mark.sandbox
def test_every_environment_is_checked_and_reviewed_as_a_run_would(four: LabelledSet, sandbox: Sandbox) -> None:
    seen: list[tuple[int, int]] = []
    policy = oracle(four)
    with VerdictLedger(None, IDENTITY) as kept:
        check_mechanically(four, sandbox, kept)
        review_all(four, sandbox, policy, CONFIG, kept, progress=lambda done, total: seen.append((done, total)))
        found = summarise(four, kept, reviews=3)
    assert set(found.mechanical) == set(four.labels)
    assert (seen[0], seen[-1], len(seen)) == ((0, 12), (12, 12), 13)
    for item in four.items:
        assert [review.verdict for review in found.reviews[item.name]] == [
            "reject" if item.buggy else "accept", "unparseable", "reject" if item.buggy else "accept",
        ]  # fmt: skip
    rows = {row.rule: row for row in found.rows if row.checks == "review"}
    assert rows["single"].agreement.accuracy == 1.0
    assert rows["majority"].agreement.accuracy == 1.0
    assert rows["any-reject"].agreement.accuracy == 0.5, "an unparsed verdict is a reject"
    assert rows["any-reject"].unparsed == 4
    assert {(request.temperature, request.max_tokens, request.count) for request in policy.requests} == {(0.6, 64, 3)}


@pytest.mark.sandbox
def test_a_stopped_audit_goes_on_where_it_was_and_asks_nothing_twice(
    four: LabelledSet, sandbox: Sandbox, tmp_path: Path
) -> None:
    path = tmp_path / "deep" / "audit.jsonl"
    failing = ScriptedPolicy({"reviewer": "VERDICT: ACCEPT"}, faults=[Fault(at=5)])
    with VerdictLedger(path, IDENTITY) as kept:
        check_mechanically(four, sandbox, kept)
        with pytest.raises(PolicyError):
            review_all(four, sandbox, failing, CONFIG, kept)
        assert len(kept.reviews) == 5
    with path.open("ab") as stream:
        stream.write(b'{"item": "torn')
    going_on = ScriptedPolicy({"reviewer": "VERDICT: REJECT"})
    with VerdictLedger(path, IDENTITY) as kept:
        assert set(kept.mechanical) == set(four.labels)
        assert len(kept.reviews) == 5
        review_all(four, sandbox, going_on, CONFIG, kept)
        verdicts = [review.verdict for review in kept.reviews.values()]
    assert (verdicts.count("accept"), verdicts.count("reject")) == (5, 7)
    idle = ScriptedPolicy({"reviewer": "VERDICT: REJECT"})
    with VerdictLedger(path, IDENTITY) as kept:
        review_all(four, sandbox, idle, CONFIG, kept)
        assert idle.requests == []
        review_all(four, sandbox, idle, ReviewConfig(reviews=4, max_tokens=64), kept)  # more may be asked for later
        assert len(kept.reviews) == 16
    assert len(path.read_text().splitlines()) == 1 + 4 + 16


@pytest.mark.sandbox
def test_what_does_not_fit_the_prompt_counts_as_unparsed(four: LabelledSet, sandbox: Sandbox) -> None:
    policy = ScriptedPolicy({"reviewer": "VERDICT: ACCEPT"})
    with VerdictLedger(None, IDENTITY) as kept:
        review_all(four, sandbox, policy, ReviewConfig(reviews=2, max_prompt_tokens=50), kept)
    assert policy.requests == []
    assert set(kept.reviews.values()) == {Review("unparseable", TOO_LONG)}


@pytest.mark.sandbox
def test_environments_that_do_not_even_load_are_reviewed_by_their_source(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class A(VerifiableEnvironment):\n    x = 1 / 0\n")
    (tmp_path / "labels.json").write_text('[{"file": "a.py", "label": "buggy"}]')
    labelled = read_set(str(tmp_path))
    policy = ScriptedPolicy({"reviewer": "VERDICT: REJECT"})
    with VerdictLedger(None, IDENTITY) as kept:
        check_mechanically(labelled, sandbox, kept)
        review_all(labelled, sandbox, policy, CONFIG, kept)
    assert kept.mechanical["a.py"].layer < 2
    assert "x = 1 / 0" in policy.requests[0].messages[0].content


# --------------------------------------------------------------------------- the file


def test_a_journal_is_of_one_audit(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with VerdictLedger(path, IDENTITY) as kept:
        kept.add_mechanical("a", Mechanical(3, ("L4.few-prompts",)))
        kept.add_review("a", 0, Review("reject", "because\n…"))
        with pytest.raises(StoreError, match="in use by another audit"):
            VerdictLedger(path, IDENTITY)
    with VerdictLedger(path, IDENTITY) as kept:
        assert kept.mechanical == {"a": Mechanical(3, ("L4.few-prompts",))}
        assert kept.reviews == {("a", 0): Review("reject", "because\n…")}
    with pytest.raises(InputError, match=r"holds another audit: model\.name was 'scripted' and is 'other'"):
        VerdictLedger(path, {**IDENTITY, "model": {"name": "other"}})


@pytest.mark.parametrize(
    "line", ["{", '{"item": "a"}', '{"item": 3, "layer": 5}', '{"item": "a", "index": 0, "verdict": "maybe"}']
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "audit.jsonl"
    VerdictLedger(path, IDENTITY).close()
    with path.open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(StoreError, match=r"audit\.jsonl:2 is damaged"):
        VerdictLedger(path, IDENTITY)


def test_another_file_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("my notes\n")
    with pytest.raises(InputError, match="not a file of audit results"):
        VerdictLedger(path, IDENTITY)
    assert path.read_text() == "my notes\n"
    with pytest.raises(InputError, match="cannot write the results"):
        VerdictLedger(path / "below", IDENTITY)
    assert json.dumps(IDENTITY)
