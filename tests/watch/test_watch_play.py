"""Playing: an instance is drawn and an answer scored in the sandbox, seldom enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from report_support import begin

from evoenv.errors import EvoEnvError
from evoenv.sandbox.guest import codec
from evoenv.watch.playing import Allowance, TooOften, reference_document


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from watch_support import serving

    directory = tmp_path_factory.mktemp("played") / "run"
    with begin(directory) as store:
        store.add_source("while True: pass")
    with serving(directory) as served:
        yield served


@pytest.mark.sandbox
def test_an_instance_is_drawn_and_answers_are_scored(played: Any) -> None:
    row = played.document("environments")["environments"][0]
    status, drawn = played.play(environment=row["id"], seed=3, difficulty=1)
    assert status == 200
    assert drawn["prompt"]
    assert 1 < drawn["distinct"] <= drawn["counted"] == 30
    assert played.play(environment=row["id"], seed="3", difficulty=1)[1] == drawn
    right = drawn["reference"]
    text = " ".join(map(str, right)) if isinstance(right, list) else str(right)
    scores = [
        played.play(environment=row["id"], seed=3, difficulty=1, answer=answer)[1]["score"]
        for answer in (text, f"so <answer>{text}</answer>", "certainly not", "")
    ]
    assert scores == [1.0, 1.0, 0.0, 0.0]


def test_a_reference_is_shown_as_programs_are_given_values() -> None:
    value = {(1, 2): {3, 1}, "a": (1, None, range(2))}
    assert reference_document(codec.encode(value)) == {"(1, 2)": [1, 3], "a": [1, None, "range(0, 2)"]}
    assert reference_document(codec.encode(float("inf"))) == "inf"
    assert reference_document("text") == "text"
    assert reference_document(codec.encode([2**63 + 1, 2**53, float("inf")])) == ["9223372036854775809", 2**53, "inf"]


def test_a_reference_that_would_take_long_to_decode_is_not_shown() -> None:
    colliding = [number * (2**61 - 1) for number in range(2000)]
    assert reference_document({"~": "set", "v": colliding}) == "(too large or damaged to be shown)"
    assert reference_document({"~": "no such tag", "v": []}) == "(too large or damaged to be shown)"


@pytest.mark.sandbox
def test_code_that_does_not_load_is_said_and_ends(played: Any) -> None:
    from evoenv.records import environment_id

    status, answer = played.play(environment=environment_id("while True: pass"), seed=0, difficulty=0)
    assert status == 400
    assert "does not load" in answer["error"]


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"environment": "x"},
        {"environment": "x", "seed": "-1", "difficulty": 1},
        {"environment": "x", "seed": "٣", "difficulty": 1},
        {"environment": "x", "seed": 0, "difficulty": "1"},
        {"environment": "x", "seed": 0.5, "difficulty": 1},
        {"environment": "x", "seed": True, "difficulty": 1},
        {"environment": 3, "seed": 0, "difficulty": 1},
        {"environment": "x", "seed": 0, "difficulty": 1, "answer": 5},
        {"run": 5, "environment": "x", "seed": 0, "difficulty": 1},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(played: Any, wanted: dict[str, Any]) -> None:
    status, answer = played.play(**wanted)
    assert status == 400
    assert "expected" in answer["error"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": str(2**63)}, "seed"),
        ({"difficulty": -1}, "level"),
        ({"difficulty": 10**6}, "level"),
        ({"answer": "a" * 30_000}, "30,000 characters"),
    ],
)
def test_numbers_out_of_range_are_refused(played: Any, change: dict[str, Any], words: str) -> None:
    row = played.document("environments")["environments"][0]
    status, answer = played.play(**{"environment": row["id"], "seed": 0, "difficulty": 1, **change})
    assert status == 400
    assert words in answer["error"]


def test_no_other_source_can_be_played(played: Any) -> None:
    assert played.play(environment="0" * 16, seed=0, difficulty=0)[0] == 404


@pytest.mark.sandbox
def test_too_many_calls_are_told_to_wait(tmp_path: Path, serve: Callable[..., Any]) -> None:
    with begin(tmp_path / "run"):
        pass
    with serve(tmp_path / "run", allowance=Allowance(1, 0.01)) as served:
        row = served.document("environments")["environments"][0]
        assert served.play(environment=row["id"], seed=0, difficulty=0)[0] == 200
        assert served.play(environment=row["id"], seed=0, difficulty=0)[0] == 429


def test_an_allowance_fills_up_again() -> None:
    now = [0.0]
    allowance = Allowance(2, 0.5, clock=lambda: now[0])
    allowance.take()
    allowance.take()
    with pytest.raises(TooOften, match="again in 2 s"):
        allowance.take()
    now[0] = 2.0
    allowance.take()
    with pytest.raises(EvoEnvError):
        allowance.take()
    now[0] = 1000.0
    allowance.take()
    allowance.take()
    with pytest.raises(TooOften):
        allowance.take()
