"""Judge every set of a suite on all cores, and keep each verdict as soon as it is there.

`verdicts.jsonl` has one line per verdict; an audit that is started again goes on after the last one. A set on which
the machine could not decide, or for which no sandbox started, is not kept: the next start tries it again.
"""

from __future__ import annotations

import json
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evoenv import __version__
from evoenv.errors import InputError, SandboxError, SandboxUnavailable
from evoenv.records import Finding, ValidationReport
from evoenv.sandbox.host import DEFAULT_IMPORTS, Sandbox
from evoenv.suite_audit.suites import Member, Source
from evoenv.validation.validate import validate

VERDICTS = "verdicts.jsonl"
SOURCES = "sources"
LONGEST_ANSWER = 2000
"""Characters of an answer that a command line is written for."""

JUDGE_AGAIN = "Start the audit again with the same command: it judges this set anew and keeps the other verdicts"
NOT_JUDGED = {"L1.import", "L5.no-reference"}

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Verdict:
    """What was found out about one set; plain values only, as they stand in `verdicts.jsonl`."""

    name: str
    key: str
    layer: int | None
    """None: the machine could not decide."""
    family: str | None
    findings: tuple[dict[str, str], ...]
    """code, message, hint, and `replay`: a command line that shows it ("" if there is none)."""
    instance_space: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    play: str
    """The command that shows an instance."""
    cpu_seconds: float
    version: str = __version__

    @property
    def outcome(self) -> str:
        """`passed`, `refused`, `undecided`, or `not judged`.

        Not judged is what needs modules that were not allowed, and what has no answer that is known to score 1.
        """
        if self.layer is None:
            return "undecided"
        if self.layer == 5:
            return "passed"
        codes = {finding["code"] for finding in self.findings}
        return "not judged" if codes and codes <= NOT_JUDGED else "refused"


def audit(
    members: Sequence[Member],
    sandbox: Sandbox,
    directory: Path,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Verdict]:
    """Judge every member, in their order; those that `directory` holds already are not judged again."""
    names = Counter(member.name for member in members)
    if twice := [name for name, count in names.items() if count > 1]:
        raise InputError(f"the suite has {names[twice[0]]} sets called {twice[0]!r}; expected one of each name")
    (directory / SOURCES).mkdir(parents=True, exist_ok=True)
    known = read_verdicts(directory)
    lock = threading.Lock()
    done = 0

    def judge(member: Member) -> Verdict:
        nonlocal done
        kept = known.get(member.name)
        verdict = kept if kept is not None and kept.key == member.key else judge_member(member, sandbox, directory)
        with lock:
            if verdict is not kept and verdict.layer is not None:
                with (directory / VERDICTS).open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(asdict(verdict), ensure_ascii=False) + "\n")
            done += 1
            if progress is not None:
                progress(done, len(members))
        return verdict

    with ThreadPoolExecutor(max(1, workers or sandbox.workers)) as threads:
        return list(threads.map(judge, members))


def read_verdicts(directory: Path) -> dict[str, Verdict]:
    """Read the verdicts of this version of EvoEnv by name, the latest of each; a line that was cut off is left out."""
    verdicts: dict[str, Verdict] = {}
    path = directory / VERDICTS
    if not path.exists():
        return verdicts
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            data = json.loads(line)
            verdict = Verdict(
                **{**data, **{name: tuple(data[name]) for name in ("findings", "instance_space", "notes")}}
            )
        except (ValueError, TypeError, KeyError):
            continue
        if verdict.version == __version__:
            verdicts[verdict.name] = verdict
    return verdicts


def judge_member(member: Member, sandbox: Sandbox, directory: Path) -> Verdict:
    """Read and validate one set; undecided if the sandbox fails under it, for which the set is not to blame."""
    notes: tuple[str, ...] = ()
    play = ""
    try:
        source = member.read(sandbox)
        notes, play = source.notes, play_command(member, source, directory)
        if source.problem is not None:
            return _verdict(member, source, play, ValidationReport(0, (source.problem,)))
        report = validate(
            source.text, sandbox, allowed_imports=(*DEFAULT_IMPORTS, *source.modules), levels=source.levels
        )
    except SandboxUnavailable:  # a wall is missing: no set could be judged
        raise
    except SandboxError as error:
        reason = f"undecided: {str(error).removeprefix('undecided: ')}. {JUDGE_AGAIN}"
        return Verdict(member.name, member.key, None, None, (), (), (*notes, reason), play, 0.0)
    return _verdict(member, source, play, report)


def _verdict(member: Member, source: Source, play: str, report: ValidationReport) -> Verdict:
    return Verdict(
        member.name,
        member.key,
        report.layer,
        report.family,
        tuple(
            {
                "code": finding.code,
                "message": finding.message,
                "hint": finding.hint,
                "replay": replay_command(play, finding),
            }
            for finding in report.findings
        ),
        tuple(asdict(space) for space in report.instance_space),
        source.notes,
        play,
        round(report.cpu_seconds, 2),
    )


def play_command(member: Member, source: Source, directory: Path) -> str:
    """Return `evoenv play FILE` for one set; write the file if the suite has none."""
    path = member.path
    if path is None:
        path = directory / SOURCES / f"{member.name}.py"
        path.write_text(source.text, encoding="utf-8")
    modules = [f"--allow-module {module}" for module in source.modules]
    return " ".join(["evoenv play", shlex.quote(str(path)), *modules])


def replay_command(play: str, finding: Finding) -> str:
    """Return the command line that shows a finding; "" if it cannot be shown by one instance and one answer."""
    replay = finding.replay
    if replay is None:
        return ""
    line = f"{play} --seed {replay.seed} --difficulty {replay.difficulty}"
    if replay.answer is None:
        return line
    if len(replay.answer) > LONGEST_ANSWER or "\x00" in replay.answer:
        return ""
    return f"{line} --answer={shlex.quote(replay.answer)}"
