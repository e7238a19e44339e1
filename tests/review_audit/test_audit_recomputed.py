"""Recomputation in an audit: a scripted programmer, the real sandbox, a real file; and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evoenv.cli import main
from evoenv.config import ReviewConfig
from evoenv.corpus import Author, solving_program
from evoenv.engines.scripted import Fault, ScriptedPolicy
from evoenv.errors import PolicyError
from evoenv.evaluation.subject import Subject
from evoenv.prompts.texts import fenced
from evoenv.records import Request
from evoenv.review_audit.journal import VerdictLedger
from evoenv.review_audit.labels import Labelled, LabelledSet
from evoenv.review_audit.recomputing import recompute_all
from evoenv.sandbox.host import Sandbox

pytestmark = pytest.mark.sandbox

PROGRAM = Author(0, "basic").compose_family("spread", 0)
BUGGY = PROGRAM.source.replace("max(", "sum(", 1)
"""Computes something else than its words ask for."""
SET = LabelledSet("three", (Labelled("sound", PROGRAM.source, False), Labelled("buggy", BUGGY, True, "other"),
                            Labelled("broken", "import random", True, "no class")))  # fmt: skip
CONFIG = ReviewConfig(kind="recomputing", programs=2, program_instances=4)
IDENTITY = {"set": "three", "model": {"name": "scripted"}}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


def programmer(**options: Any) -> ScriptedPolicy:
    """A reviewer that writes the program of the words, whatever the code computes."""

    def write(request: Request, index: int) -> str:
        assert "class " not in request.messages[0].content
        return fenced(solving_program(PROGRAM), "python")

    return ScriptedPolicy({"reviewer": write}, **options)


def test_every_environment_is_recomputed_once_and_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    assert PROGRAM.source != BUGGY
    path, seen = tmp_path / "audit.jsonl", list[tuple[int, int]]()
    with VerdictLedger(path, IDENTITY) as kept:
        recompute_all(SET, sandbox, programmer(), CONFIG, kept, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)
    policy = programmer()
    with VerdictLedger(path, IDENTITY) as kept:
        recompute_all(SET, sandbox, policy, CONFIG, kept, lambda done, total: None)
        verdicts = {name: item.verdict for name, item in kept.recomputations.items()}
        assert kept.recomputation_cost.prompt > 0
    assert verdicts == {"sound": "confirmed", "buggy": "contradicted", "broken": "unconfirmed"}
    assert kept.recomputations["buggy"].witness is not None
    assert policy.requests == [], "what is kept is not asked again"


def test_a_stopped_audit_goes_on_where_it_was(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with VerdictLedger(path, IDENTITY) as kept, pytest.raises(PolicyError):
        recompute_all(SET, sandbox, programmer(faults=[Fault(at=3)]), CONFIG, kept, lambda done, total: None)
    policy = programmer()
    with VerdictLedger(path, IDENTITY) as kept:
        assert len(kept.recomputations) < 3
        recompute_all(SET, sandbox, policy, CONFIG, kept, lambda done, total: None)
        assert len(kept.recomputations) == 3
    assert 1 <= len(policy.requests) <= 2


def test_a_prompt_that_is_too_long_stays_unconfirmed(sandbox: Sandbox) -> None:
    policy = programmer()
    short = ReviewConfig(kind="recomputing", programs=2, program_instances=4, max_prompt_tokens=10)
    with VerdictLedger(None, IDENTITY) as kept:
        recompute_all(SET, sandbox, policy, short, kept, lambda done, total: None)
    assert {item.verdict for item in kept.recomputations.values()} == {"unconfirmed"}
    assert policy.requests == []


def test_the_command_prints_recomputation_with_its_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "set"
    folder.mkdir()
    labels = []
    for item in SET.items[:2]:
        (folder / f"{item.name}.py").write_text(item.source)
        labels.append({"file": f"{item.name}.py", "label": "buggy" if item.buggy else "sound", "kind": item.kind})
    (folder / "labels.json").write_text(json.dumps(labels))
    subject = Subject(lambda: (programmer(), {"name": "scripted"}), "scripted", tmp_path / "evaluations")
    monkeypatch.setattr("evoenv.cli.audit_review.model_subject", lambda *arguments: subject)
    command = ["audit-review", str(folder), "--model", "nano", "--kind", "recomputing"]
    command += ["--set", "review.programs=2", "--set", "review.program_instances=4"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "2 programs each by" in shown
    assert "recomputing: " in shown
    assert "tokens sampled" in shown
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["reviews"] == 0
    table = {(row["checks"], row["rule"]): row for row in document["table"]}
    assert table["mechanical and recomputation", "confirmed"]["f1"] == 1.0
    assert [item["recomputation"]["verdict"] for item in document["items"]] == ["confirmed", "contradicted"]
    assert main(["audit-review", str(folder), "--mechanical-only", "--kind", "both"]) == 2
