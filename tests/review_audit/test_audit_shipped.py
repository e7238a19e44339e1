"""The shipped set is what its labels say: sound ones agree with a brute force, buggy ones have a witness."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
from shipped_set import ASKED, BUGGY, ENTRIES, RIGHT, SOUND, as_text, environment, source

from evoenv.review_audit.journal import VerdictLedger
from evoenv.review_audit.labels import read_set, shipped_folder
from evoenv.review_audit.tables import summarise
from evoenv.review_audit.verdicts import check_mechanically
from evoenv.sandbox.host import Sandbox

HINTS = re.compile(r"\b(bug\w*|wrong\w*|broken|incorrect\w*|correct\w*|sound|mistake|todo|fixme)\b", re.IGNORECASE)


def test_there_are_enough_of_both_and_each_buggy_one_has_a_sound_twin() -> None:
    assert len(SOUND) >= 40
    assert len(BUGGY) >= 40
    assert SOUND.keys() == BUGGY.keys()
    assert len(ENTRIES) == len(SOUND) + len(BUGGY), "a task is there twice"
    assert {entry["file"] for entry in ENTRIES} == {path.name for path in shipped_folder().glob("*.py")}
    assert all(entry["file"] == f"{entry['task']}_{entry['label']}.py" for entry in ENTRIES)
    assert len({entry["kind"] for entry in BUGGY.values()}) >= 20
    assert {"graphs", "dp", "strings", "number theory", "geometry", "games", "scheduling", "grids", "probability",
            "bits"} <= {entry["topic"] for entry in ENTRIES}  # fmt: skip
    assert all(len(entry["note"]) > 20 for entry in BUGGY.values())


def test_nothing_on_the_surface_gives_the_label_away() -> None:
    for entry in ENTRIES:
        text = source(entry)
        assert not HINTS.search(text), entry["file"]
    for task in SOUND:
        names = {
            node.name for entry in (SOUND[task], BUGGY[task]) for node in ast.parse(source(entry)).body
            if isinstance(node, ast.ClassDef)
        }  # fmt: skip
        assert len(names) == 1, f"{task}: twins are called {names}"
    # Neither label is longer, and the order of the labels says nothing.
    lengths = [sum(len(source(entry)) for entry in entries.values()) for entries in (SOUND, BUGGY)]
    assert 0.97 < lengths[0] / lengths[1] < 1.03
    first_half = ENTRIES[: len(ENTRIES) // 2]
    assert 0.4 < sum(entry["label"] == "buggy" for entry in first_half) / len(first_half) < 0.6


def test_all_pass_a_naive_l1_to_l4() -> None:
    """Naive: they parse, load, generate, render, and score their own reference as 1."""
    for entry in ENTRIES:
        env = environment(entry)
        for difficulty in range(6):
            for seed in range(4):
                z, a = env._generate(seed, difficulty)
                assert len(env._prompt_generate(z)) > 40
                assert env.scorer(as_text(a), z, a) == 1.0, (entry["file"], seed, difficulty)
                assert env.scorer("I do not know", z, a) == 0.0


@pytest.mark.parametrize("task", sorted(SOUND))
def test_sound_environments_agree_with_a_brute_force(task: str, thorough: bool) -> None:
    env = environment(SOUND[task])
    for difficulty in range(5 if thorough else 4):
        for seed in range(100, 116 if thorough else 104):
            z, a = env._generate(seed, difficulty)
            if task in RIGHT:
                assert RIGHT[task](z, as_text(a)), (seed, difficulty)
            else:
                assert ASKED[task](z) == a, (seed, difficulty)


@pytest.mark.parametrize("task", sorted(BUGGY))
def test_buggy_environments_have_a_witness(task: str) -> None:
    witness = dict(BUGGY[task]["witness"])
    CHECKS[witness.pop("kind")](task, environment(BUGGY[task]), environment(SOUND[task]), **witness)


def reference(task: str, env: Any, twin: Any, *, seed: int, difficulty: int, reference: str, truth: str) -> None:
    """The reference of this instance is not what the prompt asks for."""
    z, a = env._generate(seed, difficulty)
    found = ASKED[task](z)
    assert (as_text(a), "none" if found is None else as_text(found)) == (reference, truth)
    assert reference != truth


def score(
    task: str, env: Any, twin: Any, *, seed: int, difficulty: int, answer: str, score: float, deserved: float
) -> None:
    """This answer gets another score than it deserves; the twin gives what it deserves."""
    z, a = env._generate(seed, difficulty)
    right = RIGHT[task](z, answer) if task in RIGHT else answer == as_text(ASKED[task](z))
    assert right == (deserved == 1.0)
    assert env.scorer(answer, z, a) == score != deserved
    assert twin.scorer(answer, z, a) == deserved


def hidden(
    task: str, env: Any, twin: Any, *, seed: int, difficulty: int, parameter: str, value: int, reference: str,
    other: int, otherwise: str,
) -> None:  # fmt: skip
    """The answer depends on a value that only the twin's prompt shows."""
    z, a = env._generate(seed, difficulty)
    assert as_text(a) == reference == as_text(ASKED[task](z, value))
    assert as_text(ASKED[task](z, other)) == otherwise != reference
    shown, twins = (set(re.findall(r"\d+", one._prompt_generate(z))) for one in (env, twin))
    assert str(value) in twins - shown
    if parameter in z:
        assert env._prompt_generate({**z, parameter: other}) == env._prompt_generate(z)


def leak(task: str, env: Any, twin: Any, *, pattern: str) -> None:
    """The answer can be read off the prompt, always; off the twin's hardly ever."""

    def told(one: Any) -> int:
        count = 0
        for seed in range(40):
            z, a = one._generate(seed, 2)
            found = re.search(pattern, one._prompt_generate(z))
            assert found is not None
            count += found[1] == as_text(a)
        return count

    assert told(env) == 40
    assert told(twin) < 15


def level(task: str, env: Any, twin: Any, *, low: int, high: int) -> None:
    """The same seed gives the same instance at both levels."""
    assert all(env._generate(seed, low) == env._generate(seed, high) for seed in range(20))
    assert not any(twin._generate(seed, low) == twin._generate(seed, high) for seed in range(20))


def saturation(task: str, env: Any, twin: Any, *, difficulty: int, answer: str, share: float) -> None:
    """One answer is nearly always right at this level."""

    def rate(one: Any) -> float:
        return sum(as_text(one._generate(seed, difficulty)[1]) == answer for seed in range(100)) / 100

    assert rate(env) >= share
    assert rate(twin) < 0.5


CHECKS = {"reference": reference, "score": score, "hidden": hidden, "leak": leak, "level": level,
          "saturation": saturation}  # fmt: skip


@pytest.mark.long
@pytest.mark.sandbox
def test_mechanical_checks_refuse_no_sound_one_and_find_what_the_documents_say() -> None:
    labelled = read_set("shipped")
    with Sandbox() as sandbox, VerdictLedger(None, {}) as kept:
        check_mechanically(labelled, sandbox, kept)
    (row,) = summarise(labelled, kept, reviews=0).rows
    found = row.agreement
    assert (found.false_positives, found.true_negatives) == (0, 67)
    assert (found.true_positives, found.false_negatives) == (9, 58)
