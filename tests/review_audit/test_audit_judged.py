"""`evoenv audit-review RUN --labels-by MODEL`: a second model labels a run's candidates at L5."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from shipped_set import BUGGY, SOUND, source

from evoenv.cli import main
from evoenv.config import load_config, to_mapping
from evoenv.errors import InputError
from evoenv.ids import GeneratorRequestId
from evoenv.records import Candidate, Message, Request, Review, Sample, ValidationReport
from evoenv.review_audit.journal import Mechanical, VerdictLedger
from evoenv.review_audit.judge import candidates_at_top, labels_from, majority
from evoenv.review_audit.labels import Labelled, LabelledSet
from evoenv.review_audit.tables import summarise
from evoenv.store.store import RequestRecord, Store

Verdict = Literal["accept", "reject", "unparseable"]
SERVER = Path(__file__).parents[1] / "cli" / "synth_server.py"
STARTED = Path.cwd()
GOOD = source(SOUND["vending_change"])
BAD = source(BUGGY["vending_change"]) + "# kind_wrong\n"
WORSE = source(BUGGY["warehouse_code"]) + "# kind_wrong\n"


def votes(*verdicts: Verdict) -> tuple[Review, ...]:
    return tuple(Review(verdict, "") for verdict in verdicts)


def write_run(directory: Path, *, reviewed: bool = True, overrides: Sequence[str] = ()) -> Path:
    """A run with three distinct candidates at L5, a copy, one that stopped at L4 and one without a source."""
    candidates: list[tuple[str | None, int, tuple[Review, ...]]] = [
        (GOOD, 5, votes("accept", "accept")),
        (BAD, 5, votes("reject", "accept")),
        (WORSE, 5, votes("accept", "accept")),
        (GOOD, 5, votes("reject", "reject")),
        (GOOD + "# other\n", 4, ()),
        (None, 0, ()),
    ]
    with Store.create(directory, to_mapping(load_config(overrides=overrides)), {"evoenv": "0.1.0"}) as store:
        request = Request(str(GeneratorRequestId(1, 0)), "generator", (Message("user", "write"),), count=8)
        store.add_requests(1, [RequestRecord(request, "generate")])
        reviews = {}
        for index, (text, layer, given) in enumerate(candidates):
            store.add_sample(1, Sample(request.id, index, ""))
            candidate = Candidate(1, 0, index, "", text)
            store.add_candidates([candidate])
            store.add_report(1, candidate.id, ValidationReport(layer, (), "X", "functional", ""))
            if given and reviewed:
                reviews[candidate.id] = given
        store.add_reviews(1, reviews)
        with store.stage(1, "rotated"):
            pass
    return directory


@pytest.fixture
def server() -> Iterator[str]:
    """A server whose model rejects what holds the words `kind_wrong`."""
    process = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True, cwd=STARTED)
    assert process.stdout is not None
    yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    process.kill()
    process.wait()


def asked(server: str) -> int:
    with urllib.request.urlopen(f"{server}/stats") as reply:
        return int(json.load(reply)["asked"])


# --------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (("reject", "reject", "accept"), True),
        (("accept", "accept", "reject"), False),
        (("reject", "unparseable", "unparseable"), True),
        (("reject", "accept", "unparseable"), None),
        (("unparseable",), None),
        ((), None),
    ],
)
def test_a_label_is_the_majority_of_the_votes_that_can_be_read(given: tuple[Verdict, ...], label: bool | None) -> None:
    assert majority(votes(*given)) is label


def test_candidates_without_a_majority_are_left_out_and_counted() -> None:
    items = [Labelled(name, name, buggy=False) for name in "abc"]
    given = {"a": votes("reject", "reject"), "b": votes("accept", "reject"), "c": votes("accept", "unparseable")}
    labels = labels_from("run", items, given)
    assert labels.labelled.labels == {"a": True, "c": False}
    assert labels.undecided == ("b",)
    assert labels.unparsed == 1


def test_the_constant_baselines_are_those_of_the_papers_table() -> None:
    """35 buggy and 44 sound: always sound is right in 55.7% and finds nothing, always buggy has 44% precision."""
    items = [Labelled(f"{index}", "", buggy=index < 35) for index in range(79)]
    kept = VerdictLedger(None, {})
    kept.mechanical.update({item.name: Mechanical(5) for item in items})
    sound, buggy = summarise(LabelledSet("x", tuple(items)), kept, reviews=0).baselines
    assert (round(100 * sound.agreement.accuracy, 1), sound.agreement.recall) == (55.7, 0.0)
    assert (round(100 * buggy.agreement.precision), buggy.agreement.recall) == (44, 1.0)
    assert sound.agreement.false_negatives == buggy.agreement.true_positives == 35


def test_distinct_candidates_at_the_top_layer_are_labelled_with_what_the_run_said(tmp_path: Path) -> None:
    candidates = candidates_at_top(write_run(tmp_path / "run"))
    assert [candidate.item.source for candidate in candidates] == [GOOD, BAD, WORSE]
    assert [review.verdict for review in candidates[1].recorded] == ["reject", "accept"]
    drawn = candidates_at_top(tmp_path / "run", count=2, seed=1)
    assert len(drawn) == 2
    with Store.create(tmp_path / "empty", to_mapping(load_config()), {}):
        pass
    with pytest.raises(InputError, match=r"no candidate of .* has reached L5"):
        candidates_at_top(tmp_path / "empty")


# --------------------------------------------------------------------------- the command


@pytest.mark.sandbox
def test_a_second_model_labels_and_the_runs_own_verdicts_are_audited(
    tmp_path: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run")
    command = ["audit-review", str(run), "--labels-by", "author-1", "--base-url", f"{server}/v1"]
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["sound"], document["buggy"]) == (1, 2)
    assert document["labels"]["votes_each"] == 3
    assert sorted(map(len, document["labels"]["votes"].values())) == [3, 3, 3]
    rows: dict[Any, Any] = {(row["checks"], row["rule"]): row for row in document["table"]}
    found = rows["review", "any-reject"]
    assert (found["true_positives"], found["false_positives"], found["true_negatives"], found["false_negatives"]) == (
        1, 0, 1, 1,
    )  # fmt: skip
    baselines = {row["checks"]: row for row in document["baselines"]}
    assert baselines["always sound"]["accuracy"] == pytest.approx(1 / 3)
    assert baselines["always buggy"]["precision"] == pytest.approx(2 / 3)
    assert asked(server) == 9
    # Votes are kept with the run: nothing is asked again, and what a kill cut off is asked for alone.
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert re.search(r"review +any-reject +66\.7% +100\.0% +50\.0% +66\.7% +\(1, 0, 1, 1\)", shown)
    assert re.search(r"always +sound +33\.3%", shown)
    assert re.search(r"always +buggy +66\.7%", shown)
    assert asked(server) == 9
    kept = run / "evaluations" / "labels-by-author-1.jsonl"
    lines = kept.read_text().splitlines(keepends=True)
    assert len(lines) == 1 + 9
    kept.write_text("".join(lines[:-4]) + lines[-4][:10])
    assert main(command) == 0
    assert asked(server) == 13
    assert len(kept.read_text().splitlines()) == 1 + 9
    # More votes may be asked for later; another judge's file is another one.
    assert main([*command, "--votes", "5"]) == 0
    assert asked(server) == 19
    assert main([*command, "--set", "review.temperature=1.0"]) == 2
    assert "review.temperature was" in capsys.readouterr().err


@pytest.mark.sandbox
def test_a_run_without_verdicts_of_its_own_gets_the_baselines_and_a_hint(
    tmp_path: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", reviewed=False)
    command = ["audit-review", str(run), "--labels-by", "author-1", "--base-url", f"{server}/v1", "--votes", "1"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "--run DIR asks its policy now" in shown
    assert "3 that were never reviewed" in shown


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_checkpoint_is_asked_instead_and_what_is_known_is_not_asked_again(
    tmp_path: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run", overrides=["model.name=tiny-test", "model.device=cpu"])
    command = [
        "audit-review", str(run), "--labels-by", "author-1", "--base-url", f"{server}/v1", "--votes", "1",
        "--run", str(run), "--checkpoint", "0", "--reviews", "2", "--set", "review.max_tokens=4", "--json",
    ]  # fmt: skip
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    rows = {(row["checks"], row["rule"]): row for row in document["table"]}
    assert rows["review", "any-reject"]["unparsed"] == 2 * 3, "four tokens of random weights are no verdict"
    assert asked(server) == 3
    kept = Path(document["results"])
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join(lines[:-1]) + lines[-1][:10])  # as a kill leaves it
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["table"] == document["table"]
    assert len(kept.read_text().splitlines()) == len(lines)
    assert asked(server) == 3
    assert main(command[:-1]) == 0
    shown = capsys.readouterr().out
    assert f"every review: {kept}" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shipped", "--labels-by", "m"], "'shipped' is none"),
        (["RUN", "--labels-by", "m", "--model", "n"], "leave out --model"),
        (["RUN", "--labels-by", "m", "--mechanical-only"], "leave out --model, --preset, --mechanical-only"),
        (["RUN", "--labels-by", "m", "--votes", "0"], "--votes is 0"),
        (["RUN", "--labels-by", "m", "--reviews", "2"], "name it with --run DIR"),
        (["RUN", "--votes", "3", "--model", "m"], "name it with --labels-by"),
        (["RUN", "--labels-by", "m", "--base-url", "http://127.0.0.1:9/v1", "--set", "endpoint.retries=0"], ":9"),
    ],
)
def test_misuse_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run")
    assert main(["audit-review", *(str(run) if word == "RUN" else word for word in arguments)]) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (run / "evaluations").exists()
