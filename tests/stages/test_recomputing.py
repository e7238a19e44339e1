"""Review by recomputation in the real sandbox: programs of every kind, the loop, and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loop_support import configuration, environment, open_run, respond

from evoenv.cli import main
from evoenv.config import ReviewConfig
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.exchange.bundle import read_entries, to_metadata
from evoenv.prompts.recompute import arguments_of, named_values, plain_value, recompute_messages, shown_names
from evoenv.records import Instance, Request
from evoenv.run import advance
from evoenv.runs.view import RunView
from evoenv.sandbox.guest import codec
from evoenv.sandbox.host import Sandbox
from evoenv.stages.recomputing import answer_text, recompute_source
from evoenv.watch.candidates import candidate_document
from evoenv.watch.overview import overview_document

pytestmark = pytest.mark.sandbox

SOUND = environment("Sound", "sound", 2)
LIAR = environment("Liar", "liar", 2, answer="sum((i + 3) * x for i, x in enumerate(kind_liar))")
"""Counts from 3 although its prompt says 2."""
RIGHT = "def solve(values):\n    return str(sum((i + 2) * x for i, x in enumerate(values['value_0'])))\n"
BY_TEXT = (
    "import re\ndef solve(text):\n    numbers = re.search(r'Numbers: ([0-9 ]+)', text)[1].split()\n"
    "    return sum((i + 2) * int(x) for i, x in enumerate(numbers))"
)
REVIEW = ReviewConfig(kind="recomputing", program_instances=6)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


def writes(*programs: str) -> ScriptedPolicy:
    """A reviewer that writes these programs in turn."""
    return ScriptedPolicy(lambda request, index: f"So:\n```python\n{programs[index % len(programs)].strip()}\n```")


def test_a_sound_environment_is_confirmed_and_one_that_computes_something_else_is_contradicted(
    sandbox: Sandbox,
) -> None:
    policy = writes(RIGHT)
    sound = recompute_source(SOUND, policy, sandbox, REVIEW)
    assert (sound.recomputation.verdict, sound.recomputation.shares) == ("confirmed", (1.0, 1.0, 1.0))
    assert sound.programs == (RIGHT,) * 3
    (request,) = policy.requests
    assert "scorer" not in request.messages[0].content
    assert "value_0" in request.messages[0].content

    liar = recompute_source(LIAR, policy, sandbox, REVIEW).recomputation
    assert (liar.verdict, liar.right) == ("contradicted", 0.0)
    assert liar.witness is not None
    assert liar.witness.programs == (0, 1, 2)
    numbers = [int(text) for text in liar.witness.prompt.partition("Numbers: ")[2].partition(".")[0].split()]
    assert liar.witness.answer == str(sum((i + 2) * x for i, x in enumerate(numbers)))
    assert liar.witness.reference == str(sum((i + 3) * x for i, x in enumerate(numbers)))


def test_a_program_may_have_to_read_the_text(sandbox: Sandbox) -> None:
    found = recompute_source(
        SOUND, writes(BY_TEXT), sandbox, ReviewConfig(program_gets="text", program_instances=4)
    ).recomputation
    assert (found.verdict, found.instances) == ("confirmed", 4)


@pytest.mark.parametrize(
    "program",
    [
        "def solve(values):\n    while True: pass",
        "def solve(values):\n    print('7' * 10)",
        "def solve(values):\n    return object()",
        "def solve(values):\n    return [values]",
        "def solve(values):\n    return open(__file__).read()",
        "import inspect\ndef solve(values):\n    return inspect.getsource(solve)",
        "import os\ndef solve(values):\n    os._exit(0)",
        "def solve(values):\n    return 'x' * 10 ** 7",
        "import random\ndef solve(values):\n    return random.random()",
        "import os\ndef solve(values):\n    os.kill(os.getppid(), 9)\n    return 7",
        "import socket\ndef solve(values):\n    return socket.create_connection(('127.0.0.1', 80)).recv(9)",
        "def solve(values):\n    open('/tmp/seen', 'w').write('7')\n    return open('/etc/passwd').read()",
        "def other(values):\n    return 1",
        "this is no program",
    ],
    ids=["hangs", "prints", "returns nonsense", "returns what it got", "reads its source", "inspects itself", "leaves",
         "floods", "guesses", "kills its parent", "connects", "reads and writes files", "defines something else",
         "no program"],
)  # fmt: skip
def test_a_bad_program_is_an_unconfirmed_vote(sandbox: Sandbox, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evoenv.stages.recomputing.CALL_LIMIT_S", 0.5)
    config = ReviewConfig(programs=2, program_instances=2)
    assert recompute_source(SOUND, writes(program), sandbox, config).recomputation.verdict == "unconfirmed"
    beside_a_good_one = recompute_source(SOUND, writes(RIGHT, program), sandbox, config).recomputation
    assert (beside_a_good_one.verdict, beside_a_good_one.shares) == ("confirmed", (1.0, 0.0))


def test_two_programs_that_guess_between_two_answers_do_not_agree_by_chance(sandbox: Sandbox) -> None:
    """A program that contradicts itself says nothing; that 40 coins fall twice alike happens once in 10^12 times."""
    coin = "import random\ndef solve(values):\n    return random.choice(['yes', 'no'])"
    found = recompute_source(SOUND, writes(coin), sandbox, ReviewConfig(program_instances=40)).recomputation
    assert (found.verdict, found.shares, found.witness) == ("unconfirmed", (0.0, 0.0, 0.0), None)


def test_a_response_that_was_cut_off_holds_no_program(sandbox: Sandbox) -> None:
    cut = ReviewConfig(programs=1, program_instances=2, program_max_tokens=16)
    assert recompute_source(SOUND, writes(RIGHT), sandbox, cut).programs == (None,)


# --------------------------------------------------------------------------- what a program is given


def instance(latent: Any, prompt: str) -> Instance:
    return Instance(1, 0, prompt, codec.encode(latent), codec.encode(0))


def test_only_what_every_prompt_shows_is_passed() -> None:
    first = instance({"numbers": [3, 4], "modulus": 97, "limit": 5}, "Numbers 3 4, at most 5.")
    second = instance({"numbers": [8, 9], "modulus": 97, "limit": 6}, "Numbers 8 9 of 97, at most 6.")
    names = shown_names([first, second])
    assert names == ("numbers", "limit")
    assert arguments_of(second, "values", names) == {"numbers": [8, 9], "limit": 6, "text": second.prompt}
    assert arguments_of(second, "text", ()) == second.prompt
    text = recompute_messages([first], "values", names)[0].content
    assert "values = {'numbers': [3, 4], 'limit': 5}" in text
    assert "97" not in text


def test_values_become_plain() -> None:
    assert plain_value({(1, 2): {3, 1}, "a": (1, None)}) == {"(1, 2)": [1, 3], "a": [1, None]}
    assert named_values(instance((1, [2]), "")) == {"value_0": 1, "value_1": [2]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("  a b ", "a b"),
        ([1, 2], "1 2"),
        (True, "True"),
        (None, None),
        ({}, None),
        ("", None),
        ([], None),
        ("<answer> 12 </answer>", "12"),
        ("It is <answer>7</answer>.", "7"),
        ("<answer></answer>", "<answer></answer>"),
    ],
)
def test_what_a_program_returns_as_an_answer(value: Any, text: str | None) -> None:
    assert answer_text(value) == text


# --------------------------------------------------------------------------- the loop and the command


def recomputing(request: Request, index: int) -> str:
    """The scripted world, whose reviewer writes programs: right ones, but two alike and wrong about `wrong`."""
    if not request.id.endswith(".recompute"):
        return respond(request, index)
    text = request.messages[-1].content
    if "Kind wrong" in text:
        return "```python\ndef solve(values):\n    return 7\n```"
    if "Kind second" in text:
        return "I cannot."
    first = text.partition("counting from ")[2].partition(",")[0]
    return f"```python\n{RIGHT.replace('i + 2', f'i + {first}')}```"


@pytest.mark.parametrize(("kind", "unconfirmed"), [("recomputing", "review"), ("both", "asymmetry")])
def test_the_loop_admits_what_programs_confirm(kind: str, unconfirmed: str, sandbox: Sandbox, tmp_path: Path) -> None:
    """With `both`, an unconfirmed candidate is left to the gate on the asymmetry, which refuses it here."""
    config = configuration(
        novelty={"repetition_over": "batch"},
        review={"kind": kind, "program_instances": 4},
        admission={"min_asymmetry": 0.0 if kind == "both" else -1.0},
    )
    run, policy = open_run(tmp_path / "run", sandbox, config, policy=ScriptedPolicy(recomputing))
    with run:
        advance(run, 1)
        verdicts = {name[7:]: item.verdict for name, item in run.store.recomputations(1).items()}
        fates = {item.candidate_id[7:]: (item.reason, item.reward) for item in run.store.decisions(1)}
        metrics = run.store.metrics(1)
    with RunView.open(tmp_path / "run") as view:
        history = view.candidate("s00001.g001.c00")
        entries = view.entries(1)
        asymmetries = {candidate_id: value for _, candidate_id, value, _ in view.asymmetries()}
        overview = overview_document(view, "run", tmp_path / "run", view.steps())
        documents = {item.id: candidate_document(view, view.candidate(item.id)) for item in entries[:1]}
    assert history is not None
    # The programs' share minus â, which the scripted solver sets.
    fresh = next(entry for entry in entries if entry.id.endswith("g001.c04"))
    assert fresh.asymmetry == pytest.approx(1.0 - (fresh.pass_rate or 0.0))
    assert asymmetries == {entry.id: entry.asymmetry for entry in entries if entry.asymmetry is not None}
    assert metrics["recompute/asymmetry"] == pytest.approx(sum(asymmetries.values()) / len(asymmetries))
    assert sum(overview["asymmetries"]["candidates"]) == len(asymmetries)
    assert sum(overview["asymmetries"]["admitted"]) == sum(fate == "admitted" for fate, _ in fates.values())
    assert documents[entries[0].id]["asymmetry"] == entries[0].asymmetry
    exported = {entry.name: to_metadata(entry)["asymmetry"] for entry in read_entries(tmp_path / "run")}
    assert exported["Fresh"] == fresh.asymmetry
    verdict, text = history.opinions[-1]
    assert verdict == "contradicted"
    assert "programs 1, 2, 3 say 7." in text
    assert "Program 3, right on 0%" in text
    named = {
        f"g001.c{index:02d}": name for index, name in enumerate(("wrong", "hard", "easy", "copy", "fresh", "twin"))
    }
    assert verdicts["g001.c00"] == "contradicted"
    assert verdicts["g001.c06"] == "unconfirmed"
    assert {verdicts[name] for name in named if named[name] != "wrong"} == {"confirmed"}
    assert metrics["recompute/confirmed"] == 5
    assert metrics["time/recompute"] > 0
    assert fates["g001.c00"][0] == "review"
    assert fates["g001.c04"][0] == "admitted"
    # Unconfirmed: refused if programs decide alone, left to the rules after it if a reader accepts.
    assert fates["g001.c06"][0] == unconfirmed
    reads = sum(request.id.endswith(".review") for request in policy.requests)
    assert (reads > 0) == (kind == "both")


def test_the_command_prints_the_witness(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    path = tmp_path / "liar.py"
    path.write_text(LIAR)
    monkeypatch.setattr("evoenv.cli.validate.open_policy", lambda config: writes(RIGHT))
    command = ["validate", str(path), "--recompute", "--model", "scripted", "--set", "review.program_instances=3"]
    assert main(command) == 1
    printed = capsys.readouterr().out
    assert "contradicted" in printed
    assert "programs 1 and 2 and 3:" in printed
    assert f"evoenv play {path} --seed" in printed
    assert main([*command, "--json"]) == 1
    (document,) = json.loads(capsys.readouterr().out)
    assert document["recomputation"]["witness"]["programs"] == [0, 1, 2]
    assert document["recomputation"]["programs"] == [RIGHT] * 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--recompute"], "--recompute needs --model M"),
        (["--model", "nano"], "go with --recompute"),
        (["--recompute", "--model", "nano", "--parameters", "[{}]"], "leave --controller and --parameters out"),
        (["--recompute", "--model", "nano", "--set", "review.programs=0"], "expected 1 or more of each"),
    ],
)
def test_misuse_is_refused(arguments: list[str], words: str, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "sound.py"
    path.write_text(SOUND)
    assert main(["validate", str(path), *arguments]) == 2
    assert words in capsys.readouterr().err
