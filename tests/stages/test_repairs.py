"""Repair: what fails goes back to its author with its findings, as often as `synth.repairs` says, and is recorded."""

from __future__ import annotations

import pytest
from loop_support import SOURCES, TableEmbedder, configuration, open_run, respond

from evoenv.cli.summary import summarise, yield_lines
from evoenv.engines.scripted import Fault, ScriptedPolicy
from evoenv.errors import ConfigError, PolicyError
from evoenv.estimate import estimate
from evoenv.prompts.repair import FINDINGS_SHOWN, repair_messages
from evoenv.records import Candidate, Finding, Message
from evoenv.run import advance, check_trainable, prepare, reopen
from evoenv.runs.candidates import read_history
from evoenv.runs.yields import Yield, read_yields
from evoenv.stages.repairs import repair_group

pytestmark = pytest.mark.sandbox

FIRST = ("syntax", "fresh", "crash", "constant", "none")
MENDED = {"Broken": "second", "Crash": "crash", "Constant": "lenient", "Lenient": "third", "no idea": "import"}
"""What the author writes when its code is shown to it: twice the right thing, once the same, twice another fault."""


def author(request, index):
    if request.role != "generator":
        return respond(request, index)
    if len(request.messages) == 1:
        name = FIRST[index]
    else:
        written = request.messages[1].content
        name = next((to for known, to in MENDED.items() if known in written), "none")
    return "I have no idea." if name == "none" else f"Here it is.\n```python\n{SOURCES[name].strip()}\n```\n"


def settings(repairs, generator=None):
    return configuration(
        run={"steps": 1},
        generator={"prompts": 1, "candidates_per_prompt": len(FIRST), **(generator or {})},
        synth={"repairs": repairs},
    )


def synthesised(directory, sandbox, repairs, *, faults=(), generator=None):
    policy = ScriptedPolicy(author, trainable=False, faults=faults)
    run, _ = open_run(directory, sandbox, settings(repairs, generator), policy=policy, training=False)
    advance(run, steps=1)
    return run, policy


def chains(run):
    return run.store.repaired(1)


def test_a_failed_candidate_is_mended_and_admitted_and_every_attempt_is_kept(tmp_path, sandbox):
    run, _ = synthesised(tmp_path / "run", sandbox, 2)
    with run:
        assert chains(run) == {
            "s00001.g001.c00": "s00001.g000.c00",  # syntax -> second
            "s00001.g003.c00": "s00001.g000.c02",  # crash -> the same again, which is not asked about once more
            "s00001.g004.c00": "s00001.g000.c03",  # constant -> lenient
            "s00001.g005.c00": "s00001.g000.c04",  # no code -> import
            "s00001.g009.c00": "s00001.g004.c00",  # lenient -> third
            "s00001.g010.c00": "s00001.g005.c00",  # import -> no code: it is not among what the author can mend
        }
        reports = run.store.reports(1)
        layers = {candidate: report.layer for candidate, report in reports.items()}
        assert [layers[f"s00001.g000.c{index:02d}"] for index in range(5)] == [0, 5, 1, 3, 0]
        assert [layers[f"s00001.g{group:03d}.c00"] for group in (1, 3, 4, 5, 9, 10)] == [5, 1, 4, 0, 5, 0]
        admitted = {record.name for record in run.store.environments() if not record.original}
        assert admitted == {"Fresh", "Second", "Third"}
        assert run.store.count_candidates() == len(FIRST), "repairs are no candidates of their own account"
        history = read_history(run.store, "s00001.g009.c00")
        assert history is not None
        assert [message.speaker for message in history.prompt] == ["user", "assistant", "user"]
        assert "class Lenient" in history.prompt[1].content
        assert "class Constant" not in "".join(message.content for message in history.prompt), "superseded"
        found = reports["s00001.g004.c00"].findings[0]
        assert f"- {found.code}: {found.message} Hint: {found.hint}" in history.prompt[2].content
        examples = {candidate.id: candidate.parents for candidate in run.store.candidates(1)}
        assert examples["s00001.g009.c00"] == examples["s00001.g000.c03"] != ()


def test_repairs_stop_at_their_number_and_happen_only_when_asked_for(tmp_path, sandbox):
    run, _ = synthesised(tmp_path / "once", sandbox, 1)
    with run:
        assert set(chains(run).values()) == {f"s00001.g000.c{index:02d}" for index in (0, 2, 3, 4)}
    run, policy = synthesised(tmp_path / "never", sandbox, 0)
    with run:
        assert chains(run) == {}
        assert all(len(request.messages) == 1 for request in policy.requests if request.role == "generator")


def test_what_the_server_refused_to_write_is_not_sent_back(tmp_path, sandbox):
    def write(request, index):
        first = request.role == "generator" and len(request.messages) == 1
        return "" if first and index == 0 else author(request, index)  # what a refusal leaves

    policy = ScriptedPolicy(write, trainable=False)
    run, _ = open_run(tmp_path / "run", sandbox, settings(2), policy=policy, training=False)
    advance(run, steps=1)
    with run:
        sent_back = {candidate for candidate in chains(run).values() if ".g000." in candidate}
        assert sent_back == {"s00001.g000.c02", "s00001.g000.c03", "s00001.g000.c04"}


def test_the_group_of_a_repair_follows_from_the_candidate_alone():
    config = configuration(generator={"prompts": 3, "candidates_per_prompt": 4}).generator
    first = Candidate(step=2, group=1, index=2, response="", source=None)
    assert repair_group(config, first) == 3 + 1 * 4 + 2
    again = Candidate(step=2, group=9, index=0, response="", source=None)
    assert repair_group(config, again) == 9 + 12
    groups = {repair_group(config, Candidate(2, group, index, "", None)) for group in range(3) for index in range(4)}
    assert groups == set(range(3, 15)), "no two share a group, and none is a prompt's"


def test_a_run_that_is_cut_short_in_the_middle_of_a_step_repairs_what_it_has(tmp_path, sandbox):
    many = configuration(
        run={"candidates": 10}, generator={"prompts": 2, "candidates_per_prompt": 5}, synth={"repairs": 1}
    )
    policy = ScriptedPolicy(author, trainable=False, faults=[Fault(at=7)])  # in the second prompt
    run, _ = open_run(tmp_path / "run", sandbox, many, policy=policy, training=False)
    with run, pytest.raises(PolicyError):
        advance(run, steps=1)
    store, config = reopen(tmp_path / "run", ["run.candidates=5"])
    policy = ScriptedPolicy(author, trainable=False)
    with prepare(store, config, policy, sandbox, TableEmbedder(), training=False) as run:
        advance(run, steps=1)
        failed = {f"s00001.g000.c{index:02d}" for index in (0, 2, 3, 4)}
        assert set(chains(run).values()) == failed | {"s00001.g001.c00"}, "what was there is judged and mended, too"
        assert {record.name for record in run.store.environments() if not record.original} == {"Fresh", "Second"}


def test_an_interrupted_repair_continues_and_asks_nothing_twice(tmp_path, sandbox):
    whole, _ = synthesised(tmp_path / "whole", sandbox, 2)
    with pytest.raises(PolicyError):
        synthesised(tmp_path / "run", sandbox, 2, faults=[Fault(at=len(FIRST) + 2)])
    run, policy = synthesised(tmp_path / "run", sandbox, 2)
    with whole, run:
        assert run.store.candidates(1) == whole.store.candidates(1)
        assert chains(run) == chains(whole)
        asked = [request.id for request in policy.requests if request.role == "generator"]
        assert asked == [f"s00001.g{group:03d}" for group in (4, 5, 9, 10)]


def test_yield_counts_what_was_proposed_at_once_and_what_was_repaired(tmp_path, sandbox):
    run, _ = synthesised(tmp_path / "run", sandbox, 2)
    with run:
        at_once, repaired = read_yields(run.store, 1)
        tokens = {purpose: run.store.tokens(1)[purpose] for purpose in ("generate", "repair")}
        assert at_once == Yield(candidates=5, validated=1, admitted=1, tokens=tokens["generate"])
        assert repaired == Yield(candidates=6, validated=2, admitted=2, tokens=tokens["repair"])
        summary = summarise(run.store)
        assert summary.yields == (at_once, repaired)
        assert summary.funnel[0] == 11
    lines = yield_lines(Yield(10, 2, 1, 4000), Yield(6, 2, 1, 4000))
    assert lines == [
        "  of them 6 repairs, with 4,000 tokens: 2 reached L5, 1 admitted",
        "  per thousand tokens of candidates: 0.500 at L5, 0.250 admitted (without repairs 0.250)",
    ]
    assert yield_lines(Yield(10, 2, 1, 0), Yield()) == []


def first_prompt_tokens(run):
    """How long the generator's prompt is for a policy that counts no tokens: three bytes each."""
    (message,) = run.store.request_messages("s00001.g000")
    return 1 + len(message.content.encode()) // 3


def test_what_does_not_fit_is_asked_without_examples_or_not_at_all(tmp_path, sandbox):
    with synthesised(tmp_path / "wide", sandbox, 0, generator={"few_shot": 1})[0] as run:
        limit = first_prompt_tokens(run)
    with synthesised(tmp_path / "tight", sandbox, 1, generator={"few_shot": 1, "max_prompt_tokens": limit})[0] as run:
        # code and findings fit if they are shorter than the example that they take the place of
        assert chains(run) == {"s00001.g001.c00": "s00001.g000.c00", "s00001.g005.c00": "s00001.g000.c04"}
        assert "Seed(VerifiableEnvironment)" in run.store.request_messages("s00001.g000")[0].content
        prompt = read_history(run.store, "s00001.g001.c00").prompt
        assert "Seed(VerifiableEnvironment)" not in prompt[0].content
        assert "class Broken" in prompt[1].content


def test_findings_are_cut_to_a_few_and_a_cut_off_answer_is_told_so():
    candidate = Candidate(1, 0, 0, "class A:", None)
    findings = [Finding(f"L2.raises{number}", "It failed.", "Mend it.") for number in range(9)]
    *_, code, text = repair_messages((Message("user", "Write."),), candidate, findings, cut_off=True)
    assert code == Message("assistant", "class A:")
    assert text.content.count("Hint: Mend it.") == FINDINGS_SHOWN
    assert "cut off at the length limit" in text.content
    assert "cut off" not in repair_messages((), candidate, findings)[-1].content


def test_training_refuses_repairs_and_a_dry_run_counts_them():
    with pytest.raises(ConfigError, match=r"synth\.repairs is 2: candidates are repaired by `evoenv synth` alone"):
        check_trainable(configuration(synth={"repairs": 2}))
    with pytest.raises(ConfigError, match=r"synth\.repairs is -1"):
        configuration(synth={"repairs": -1})
    config = configuration(
        run={"candidates": 10}, synth={"repairs": 2}, generator={"max_tokens": 100, "max_prompt_tokens": 1000}
    )
    lines = estimate(config, [Message("user", "x" * 300)])
    assert any("sent back up to 2 times: at most 2,000 prompt tokens and 200 answer tokens" in line for line in lines)
