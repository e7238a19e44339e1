"""`evoenv audit`: every set judged once, evidence that replays, a page and a document."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from evoenv.cli import main
from evoenv.environment.reasoning_gym import level_count
from evoenv.environment.sets import EnvironmentEntry
from evoenv.errors import MachineTooSlow, SandboxUnavailable
from evoenv.records import Finding, Replay
from evoenv.sandbox import launcher
from evoenv.sandbox.host import Sandbox
from evoenv.suite_audit import verdicts as judging
from evoenv.suite_audit.page import page, summary
from evoenv.suite_audit.suites import _entry, read_suite
from evoenv.suite_audit.verdicts import Verdict, audit, read_verdicts, replay_command

ZOO = Path(__file__).parents[1] / "zoo"
pytestmark = pytest.mark.sandbox


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "suite"
    folder.mkdir()
    for path in ("broken/nan_is_no_difference", "broken/imports_numpy", "sound/finite_numbers_only"):
        shutil.copy(ZOO / f"{path}.py", folder)
    (folder / "torn.py").write_bytes(b"\xff\xfe not text")
    return folder


def test_a_folder_is_judged_and_its_evidence_replays(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "audit"
    assert main(["audit", str(suite), "-o", str(output), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["outcomes"] == {"refused": 2, "not judged": 1, "passed": 1}
    document = json.loads((output / "audit.json").read_text())
    by_name = {one["name"]: one for one in document["verdicts"]}
    assert by_name["finite_numbers_only"]["instance_space"][0]["size"] > 100
    assert by_name["torn"]["findings"][0]["code"] == "L1.not-text"
    (finding,) = [one for one in by_name["nan_is_no_difference"]["findings"] if one["code"] == "L5.not-a-number"]
    command = shlex.split(finding["replay"])
    assert command[:2] == ["evoenv", "play"]
    assert main([*command[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == 1.0
    html = (output / "audit.html").read_text()
    assert "L5.not-a-number" in html
    assert "nan nan" in html


def test_a_second_start_judges_only_what_is_missing_or_changed(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "audit"
    judged: list[str] = []
    original = judging.judge_member

    def counted(member: judging.Member, *rest: object) -> Verdict:
        judged.append(member.name)
        return original(member, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(judging, "judge_member", counted)
    arguments = ["audit", str(suite), "-o", str(output), "--jobs", "1"]
    assert main(arguments) == 0
    assert len(judged) == 4
    # killed while it wrote the last line
    lines = (output / "verdicts.jsonl").read_text().splitlines(keepends=True)
    (output / "verdicts.jsonl").write_text("".join(lines[:3]) + lines[3][:20])
    (suite / "finite_numbers_only.py").write_text((ZOO / "sound" / "gap.py").read_text())
    judged.clear()
    assert main(arguments) == 0
    assert "finite_numbers_only" in judged
    assert len(judged) <= 2
    assert len(read_verdicts(output)) == 4


def test_a_set_on_which_the_machine_cannot_decide_is_tried_again(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def too_slow(*_: object, **__: object) -> None:
        raise MachineTooSlow("undecided: busy")

    monkeypatch.setattr(judging, "validate", too_slow)
    assert main(["audit", str(suite), "-o", str(tmp_path / "audit"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"] == {"refused": 1, "undecided": 3}
    assert list(read_verdicts(tmp_path / "audit")) == ["torn"]


def test_a_set_for_which_no_sandbox_starts_in_time_is_undecided_and_judged_at_the_next_start(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members, _ = read_suite(str(suite))
    output = tmp_path / "audit"
    with Sandbox() as sandbox, monkeypatch.context() as slow:
        slow.setattr(launcher, "START_TIMEOUT_S", 0.0)  # from now on: the second interpreter comes with L3
        verdicts = {verdict.name: verdict for verdict in audit(members, sandbox, output)}
    undecided = verdicts["finite_numbers_only"]
    assert undecided.outcome == "undecided"
    assert "did not start" in undecided.notes[-1]
    assert "judges this set anew" in undecided.notes[-1]
    assert verdicts["torn"].outcome == "refused"
    assert "finite_numbers_only" not in read_verdicts(output)
    assert "did not start" in page(summary("suite", [undecided]), [undecided])
    with Sandbox() as sandbox:
        verdicts = {verdict.name: verdict for verdict in audit(members, sandbox, output)}
    assert verdicts["finite_numbers_only"].outcome == "passed"


def test_a_missing_wall_ends_an_audit(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_wall(*_: object, **__: object) -> None:
        raise SandboxUnavailable("the system call filter (seccomp) is unavailable")

    monkeypatch.setattr(judging, "validate", no_wall)
    members, _ = read_suite(str(suite))
    with Sandbox() as sandbox, pytest.raises(SandboxUnavailable, match="seccomp"):
        audit(members, sandbox, tmp_path / "audit")


def test_names_and_answers_are_text_on_the_page_and_in_the_shell() -> None:
    play = "evoenv play 'a b.py'"
    finding = Finding("L5.permissive", "<b>seen</b>", "mend", Replay(3, 1, "-1; rm -rf '$HOME' <i>"))
    replay = replay_command(play, finding)
    assert shlex.split(replay) == [
        "evoenv", "play", "a b.py", "--seed", "3", "--difficulty", "1", "--answer=-1; rm -rf '$HOME' <i>",
    ]  # fmt: skip
    assert replay_command(play, Finding("L5.permissive", "", "", Replay(3, 1, "9" * 5000))) == ""
    assert replay_command(play, Finding("L3.hash-order", "", "")) == ""
    row = {"code": finding.code, "message": finding.message, "hint": finding.hint, "replay": replay}
    verdict = Verdict("<script>", "key", 4, "exact", (row,), (), ("note & more",), play, 0.1)
    html = page(summary("a & b", [verdict]), [verdict])
    assert "<script>" not in html
    assert "<b>seen" not in html
    assert "note &amp; more" in html


def test_sets_that_cannot_be_judged_are_not_called_refused() -> None:
    def outcome(layer: int | None, *codes: str) -> str:
        rows = tuple({"code": code, "message": "", "hint": "", "replay": ""} for code in codes)
        return Verdict("name", "key", layer, None, rows, (), (), "", 0.1).outcome

    assert outcome(0, "L1.import") == outcome(4, "L5.no-reference") == "not judged"
    assert outcome(0, "L1.import", "L1.dunder") == outcome(4, "L5.permissive") == "refused"
    assert outcome(5) == "passed"
    assert outcome(None) == "undecided"


def test_two_sets_of_one_name_are_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("a", "b"):
        (tmp_path / "suite" / folder).mkdir(parents=True)
    shutil.copy(ZOO / "sound" / "gap.py", tmp_path / "suite" / "a" / "one.py")
    shutil.copy(ZOO / "sound" / "weekday.py", tmp_path / "suite" / "b" / "one.py")
    assert main(["audit", str(tmp_path / "suite"), "-o", str(tmp_path / "out")]) == 2
    assert "2 sets called 'one'" in capsys.readouterr().err


def test_a_verdict_belongs_to_an_environment_with_its_controller() -> None:
    keys = {
        _entry(EnvironmentEntry("E", "class E: pass", controller=f"A = {number}"), None).key for number in (1, 2, 2)
    }
    assert len(keys) == 2


@pytest.mark.parametrize("source", ["x = (", "LEVELS = {[]: 1}", "LEVELS = 5", ""])
def test_a_source_that_names_no_levels_has_none(source: str) -> None:
    assert level_count(source) is None
