"""What every seed promises alike: pure, complete, varied, growing with difficulty, and deaf to garbage."""

import ast
import functools
import itertools
import json
import random
import re
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.environment.base import VerifiableEnvironment
from evoenv.environment.seeds import SEED_NAMES, seed_source, seed_sources
from evoenv.errors import InputError
from evoenv.records import derive_seed

ALLOWED_IMPORTS = {"random", "math", "collections", "itertools", "heapq", "bisect", "functools", "re", "typing"}
LEVELS = range(13)

each_seed = pytest.mark.parametrize("name", SEED_NAMES)


def fresh(name: str) -> Any:
    scope: dict[str, Any] = {"VerifiableEnvironment": VerifiableEnvironment}
    exec(compile(seed_source(name), f"{name}.py", "exec"), scope)
    return scope[name]()


load = functools.cache(fresh)


def sample(name: str, level: int, count: int) -> list[tuple[str, Any, Any]]:
    """(prompt, latent instance, reference) of many seeds at one level."""
    drawn = (load(name)._generate(derive_seed("contract", name, index), level) for index in range(count))
    return [(load(name)._prompt_generate(z), z, a) for z, a in drawn]


def answer_text(reference: Any) -> str:
    """Write the reference as every seed's prompt asks for it."""
    return " ".join(map(str, reference)) if isinstance(reference, list) else str(reference)


def integers_in(value: Any) -> list[int]:
    if isinstance(value, int):
        return [value]
    return [number for part in (value.values() if isinstance(value, dict) else value) for number in integers_in(part)]


def test_sources_come_in_the_papers_order() -> None:
    assert tuple(seed_sources()) == SEED_NAMES
    assert len(set(SEED_NAMES)) == 10


def test_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'Quicksort'.*Sorting, SlidingWindow"):
        seed_source("Quicksort")


@each_seed
def test_source_is_one_short_class_with_allowed_imports_only(name: str) -> None:
    source = seed_source(name)
    *imports, definition = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    assert definition.name == name
    assert ast.get_docstring(definition)
    for statement in imports:
        assert isinstance(statement, ast.Import | ast.ImportFrom)
        modules = [statement.module] if isinstance(statement, ast.ImportFrom) else [n.name for n in statement.names]
        assert ALLOWED_IMPORTS.issuperset(modules)
    assert len(source.splitlines()) <= 75


@each_seed
def test_instances_depend_on_seed_and_level_alone(name: str) -> None:
    """Another object, another order, another state of the global generator: the same instances."""
    calls = [(derive_seed("pure", index), level) for level in LEVELS for index in range(4)]
    first = {call: load(name)._generate(*call) for call in calls}
    other = fresh(name)
    random.seed(1)
    state = random.getstate()
    for call in reversed(calls):
        z, a = other._generate(*call)
        assert (z, a) == first[call]
        assert other._prompt_generate(z) == other._prompt_generate(first[call][0])
    assert random.getstate() == state


@each_seed
def test_reference_scores_one_as_the_prompt_asks_for_it(name: str) -> None:
    for level in [*LEVELS, 30]:
        for _, z, a in sample(name, level, 20):
            before = repr((z, a))
            assert load(name).scorer(answer_text(a), z, a) == 1.0
            assert load(name).scorer(f"\n {answer_text(a)} \n", z, a) == 1.0
            assert repr((z, a)) == before


@each_seed
def test_instance_survives_json(name: str) -> None:
    for prompt, z, a in sample(name, 3, 20):
        z_again, a_again = json.loads(json.dumps([z, a]))
        assert load(name)._prompt_generate(z_again) == prompt
        assert load(name).scorer(answer_text(a), z_again, a_again) == 1.0


@each_seed
def test_prompt_is_rendered_whole_and_leaves_markers_to_the_framework(name: str) -> None:
    for level in LEVELS:
        for prompt, _, _ in sample(name, level, 5):
            assert not re.search(r"\{\w*\}|<answer>|boxed", prompt)
            assert re.search(r"(Give|Answer) .*\.$", prompt)


@each_seed
def test_equal_prompts_have_equal_answers(name: str) -> None:
    answers: dict[str, Any] = {}
    for level in range(3):
        for prompt, _, a in sample(name, level, 1500):
            assert answers.setdefault(prompt, a) == a


@each_seed
def test_prompts_and_answers_vary_at_every_level(name: str) -> None:
    for level in LEVELS:
        drawn = sample(name, level, 100)
        assert len({prompt for prompt, _, _ in drawn}) >= 50
        answers = [answer_text(a) for _, _, a in drawn]
        assert max(map(answers.count, set(answers))) <= 63  # 0.5 and 2.6 standard deviations, for two outcomes


@each_seed
def test_instances_grow_with_difficulty(name: str) -> None:
    sizes = [statistics.mean(sum(integers_in(z)) for _, z, _ in sample(name, level, 60)) for level in range(0, 13, 2)]
    assert all(small < large for small, large in itertools.pairwise(sizes))


@each_seed
def test_shortcuts_do_not_solve_it(name: str) -> None:
    shortcuts = {
        "first": lambda numbers: numbers[0],
        "last": lambda numbers: numbers[-1],
        "largest": max,
        "smallest": min,
        "count": len,
        "sum": sum,
    }
    for level in range(1, 11, 3):
        drawn = sample(name, level, 60)
        for shortcut, guess in shortcuts.items():
            guesses = [(str(guess([int(n) for n in re.findall(r"[0-9]+", prompt)])), z, a) for prompt, z, a in drawn]
            solved = sum(load(name).scorer(*attempt) == 1.0 for attempt in guesses)
            assert solved <= len(drawn) // 4, shortcut


@each_seed
def test_the_prompts_own_lists_are_no_answer(name: str) -> None:
    """Echoing all the prompt's numbers, or naming every option, earns nothing."""
    for level in range(6):
        for prompt, z, a in sample(name, level, 20):
            floods = [" ".join(re.findall(r"[0-9]+", prompt)), " ".join(map(str, range(len(prompt)))), prompt]
            if isinstance(z, dict) and "edges" in z:
                floods.append(" ".join(f"{u}-{v}" for u, v in z["edges"]))
            if isinstance(z, dict) and ({"weights", "numbers"} & set(z)):
                floods.append(" ".join(map(str, range(len(z.get("weights") or z["numbers"])))))
            if isinstance(a, str):
                floods += ["Alice Bob", "Alice or Bob", "Alice\nBob", "AliceBob"]
            assert [load(name).scorer(flood, z, a) for flood in floods] == [0.0] * len(floods)


GARBAGE = [
    "",
    " \n\t",
    "nan",
    "inf",
    "None",
    "1e5",
    "1.5",
    "0x10",
    "1_000",
    "-1",
    "+3",
    "--1",
    "٣",
    "１２",
    "²",
    "1 ²",
    "7" * 5000,
    "1 " + "7" * 5000,
    f"1-{'7' * 5000}",
    "The answer is 5",
    "5 5 x",
    "[1, 2]",
    '{"answer": 5}',
    "1-2-3",
    "-",
    ",",
    "0-",
    "Carol",
    "Ａlice",
    "\x00",
    "1\x002",
    "\ud800",
]


@each_seed
def test_garbage_is_malformed_and_scores_zero(name: str) -> None:
    assert [garbage for garbage in GARBAGE if load(name)._process(garbage) is not None] == []
    for _, z, a in sample(name, 2, 3):
        assert [garbage for garbage in GARBAGE if load(name).scorer(garbage, z, a) != 0.0] == []


@each_seed
def test_huge_answers_score_zero(name: str) -> None:
    ((_, z, a),) = sample(name, 2, 1)
    for unit in ("1", " ", "1 ", "1-2 ", "Alice", "-", ",", "1" * 18 + " ", "\n1"):
        huge = unit * (3_000_000 // len(unit))
        assert load(name).scorer(huge, z, a) == load(name).scorer(huge + "x", z, a) == 0.0, unit


plausible = st.text() | st.text(alphabet="0123456789 ,-\n") | st.sampled_from(["Alice", "Bob", "bob", "alice bob"])


@each_seed
@given(answer=plausible, seed=st.integers(min_value=0), level=st.integers(0, 12))
def test_any_text_scores_between_zero_and_one(name: str, answer: str, seed: int, level: int) -> None:
    environment = load(name)
    z, a = environment._generate(seed, level)
    score = environment.scorer(answer, z, a)
    assert type(score) is float
    assert 0.0 <= score <= 1.0
    if environment._process(answer) is None:
        assert score == 0.0
    assert environment.scorer(answer_text(a), z, a) == 1.0
