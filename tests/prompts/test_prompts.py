from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evoenv.admission.novelty import clean_generate_body
from evoenv.environment.answers import extract_source
from evoenv.environment.seeds import seed_sources
from evoenv.errors import InputError
from evoenv.models.embedder import MiniLMEmbedder
from evoenv.pool.tags import RULES
from evoenv.prompts.generator import (
    GENERATOR_PROMPTS,
    Example,
    choose_distinct_examples,
    choose_examples,
    choose_topics,
    generator_messages,
)
from evoenv.prompts.solver import solver_messages
from evoenv.prompts.texts import fenced, fill, load_prompt
from evoenv.records import derive_seed
from tests.effort import assert_linear


def test_a_slot_inside_a_value_stays_text():
    assert fill("{{a}} {{b}}", {"a": "{{b}}", "b": "x"}) == "{{b}} x"


def test_a_missing_prompt_text_names_the_ones_there_are():
    with pytest.raises(InputError, match="generator_v1"):
        load_prompt("generator_v99")


def test_a_fence_outgrows_its_content():
    assert fenced("````\nx") == "`````\n````\nx\n`````"


def test_the_solver_is_told_to_mark_its_answer():
    (message,) = solver_messages("Add 1 and 2.")
    assert message.content.startswith("Add 1 and 2.\n")
    assert "<answer> and </answer>" in message.content


# --------------------------------------------------------------------------- the generator's prompt

EXAMPLES = [Example("id-a", "class A: pass"), Example("id-b", "class B: pass"), Example("id-c", "x = 1\n" * 3000)]


@pytest.mark.parametrize("version", GENERATOR_PROMPTS)
def test_the_prompt_shows_examples_and_records_them_as_parents(version):
    (message,), parents = generator_messages(EXAMPLES[:2], version)
    assert parents == ("id-a", "id-b")
    assert "```python\nclass A: pass\n```" in message.content
    for module in ("random", "math", "collections", "itertools", "heapq", "bisect", "functools", "re", "typing"):
        assert module in message.content
    for method in ("_generate", "_prompt_generate", "_process", "scorer"):
        assert method in message.content
    assert "{{" not in message.content


@pytest.mark.parametrize("version", GENERATOR_PROMPTS)
def test_topics_are_named_last_and_change_nothing_else(version):
    (plain,), parents = generator_messages(EXAMPLES[:2], version)
    (named,), same = generator_messages(EXAMPLES[:2], version, topics=("dynamic-programming", "string"))
    assert same == parents
    assert named.content.startswith(plain.content)
    assert "about dynamic programming and string." in named.content[len(plain.content) :]
    assert "{{" not in named.content


def test_topics_are_drawn_by_what_the_pool_has_little_of():
    everything = [rule.tag for rule in RULES]
    pool = [frozenset(everything) - {"string"}] * 999
    drawn = [choose_topics(pool, 2, seed) for seed in range(100)]
    assert all(len(set(pair)) == 2 for pair in drawn)
    assert drawn[:10] == [choose_topics(pool, 2, seed) for seed in range(10)]
    # "string" weighs 1 and each of the 39 others 1/1000: it is the first of the two in 96% of the draws
    assert len(everything) == 40
    assert 86 <= sum(pair[0] == "string" for pair in drawn) <= 99
    # nothing known: all alike, 20 of 400 expected with a standard deviation of 4.4
    alike = Counter(tag for seed in range(400) for tag in choose_topics([], 2, seed))
    assert len(alike) == 40
    assert max(alike.values()) < 45
    assert set(choose_topics([], 100, 0)) == set(everything)
    assert choose_topics(pool, 0, 0) == ()


def test_the_short_prompt_is_much_shorter():
    lengths = {version: len(generator_messages([], version)[0][0].content) for version in ("full", "short")}
    assert lengths["short"] < 0.35 * lengths["full"]


def test_examples_that_do_not_fit_are_left_out_and_are_no_parents():
    _, parents = generator_messages(EXAMPLES, "full", max_prompt_tokens=4096)
    assert parents == ("id-a", "id-b")
    _, parents = generator_messages(EXAMPLES[2:], "full", max_prompt_tokens=64)
    assert parents == ("id-c",)


def test_a_further_diverse_example_is_the_farther_of_two_and_so_never_the_nearest_of_all():
    vectors = np.array([(1, 0), (0.8, 0.6), (0, 1), (-0.6, 0.8)], dtype=np.float32)
    nearest = {
        0: 1,
        1: 0,
        2: 3,
        3: 2,
    }  # cosines from 0: .8, 0, −.6; from 1: .8, .6, 0; from 2: 0, .6, .8; from 3: −.6, 0, .8
    pairs = Counter(tuple(choose_examples(vectors, 2, seed)) for seed in range(400))
    assert all(second != nearest[first] for first, second in pairs)
    assert len(pairs) == 8, "both others are drawn, for each first one"


def test_diverse_examples_are_farther_apart_than_random_ones():
    vectors = np.random.default_rng(1).normal(size=(12, 4)).astype(np.float32)
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def similarity(choice):
        pairs = [choose_examples(vectors, 2, seed, choice) for seed in range(1000)]
        cosines = np.array([rows[first] @ rows[second] for first, second in pairs])
        return cosines.mean(), cosines.std() / len(pairs) ** 0.5

    (diverse, error), (random, other) = similarity("diverse"), similarity("random")
    assert diverse < random - 5 * np.hypot(error, other)  # fixed seeds: the same draws on every machine


def test_choices_follow_the_seed_and_never_repeat_an_example():
    vectors = np.ones((5, 3), dtype=np.float32)
    for choice in ("diverse", "random"):
        assert choose_examples(vectors, 3, 4, choice) == choose_examples(vectors, 3, 4, choice)
        assert sorted(choose_examples(vectors, 9, 4, choice)) == [0, 1, 2, 3, 4]
        assert len({tuple(choose_examples(vectors, 2, seed, choice)) for seed in range(20)}) > 1
    assert choose_examples(vectors, 0, 1, "diverse") == []
    assert choose_examples(np.zeros((0, 3), dtype=np.float32), 2, 1) == []


@pytest.mark.parametrize("choice", ["diverse", "random"])
def test_no_two_prompts_of_a_step_show_the_same_examples_while_there_are_others(choice):
    vectors = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    lists = choose_distinct_examples(vectors, 2, range(15), choice)
    assert len({frozenset(rows) for rows in lists}) == 15, "all C(6, 2) = 15 pairs"
    again = choose_distinct_examples(vectors, 2, range(20), choice)
    assert again[:15] == lists, "a list depends on its seed and on those before it alone"
    assert len({frozenset(rows) for rows in again[15:]}) == 5, "then a new round begins"
    assert choose_distinct_examples(vectors, 0, [1, 2], choice) == [[], []]
    assert choose_distinct_examples(vectors[:1], 2, [1, 2], choice) == [[0], [0]]


@pytest.mark.parametrize("choice", ["diverse", "random"])
def test_prompts_that_the_limit_cuts_are_told_apart_by_what_they_show(choice):
    vectors = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    lists = choose_distinct_examples(vectors, 2, range(12), choice, shown=lambda rows: rows[:1])
    assert {len(rows) for rows in lists} == {2}
    assert sorted(rows[0] for rows in lists[:6]) == [0, 1, 2, 3, 4, 5]
    assert sorted(rows[0] for rows in lists[6:]) == [0, 1, 2, 3, 4, 5], "then a new round begins"
    nothing = choose_distinct_examples(vectors, 2, range(3), choice, shown=lambda rows: ())
    assert nothing == [choose_examples(vectors, 2, seed, choice) for seed in range(3)]


@pytest.mark.model
@pytest.mark.slow
def test_sixteen_prompts_from_the_ten_seeds_are_distinct_and_no_example_is_in_most_of_them():
    """The farthest of all would be Bridge or EuclidGame whatever the first example is."""
    sources = list(seed_sources().values())
    embedder = MiniLMEmbedder(progress=False)
    views = [embedder.embed(sources), embedder.embed([clean_generate_body(source) for source in sources])]
    vectors = np.hstack(views)
    second = Counter()
    for step in range(20):
        lists = choose_distinct_examples(vectors, 2, [derive_seed(0, "few-shot", step, group) for group in range(16)])
        assert len({frozenset(rows) for rows in lists}) == 16
        second.update(rows[1] for rows in lists)
    assert len(second) == 10, f"every seed is the second example at times: {second}"
    assert max(second.values()) < 320 / 3


# --------------------------------------------------------------------------- reading the response


@pytest.mark.parametrize(
    ("response", "source"),
    [
        ("no code at all", None),
        ("", None),
        ("```python\nx = 1\n```", "x = 1"),
        ("text\n```\nx = 1\n```\ntext", "x = 1"),
        ("```py\nx = 1\n```", "x = 1"),
        ("```Python title=a\nx = 1\n```", "x = 1"),
        ("  ```python\nx = 1\n  ```", "x = 1"),
        ("```python\r\nx = 1\r\n```\r\n", "x = 1\r"),
        ("```python\nx = 1\n", "x = 1\n"),
        ("```python\nshort\n```\n```python\nlonger one\n```\n```python\nmid\n```", "longer one"),
        ("```python\naa\n```\n```python\nbb\n```", "bb"),
        ('```json\n{"much": "longer than the code"}\n```\n```python\nx\n```', "x"),
        ("```json\n{}\n```", None),
        ("```python\n```", None),
        ("````python\nx = '''\n```\n'''\n````", "x = '''\n```\n'''"),
        ("<think>\n```python\na long draft of the class\n```\n</think>\n```python\nx\n```", "x"),
        ("draft\n```python\nlong long long\n```\n</think>\n```python\nx\n```", "x"),
        ("<think>\n```python\nx\n```\nstill thinking", None),
        ("inline ``` is no fence\n```python\nx\n```", "x"),
    ],
)
def test_the_longest_fenced_python_block_is_the_source(response, source):
    assert extract_source(response) == source


@pytest.mark.parametrize(
    "text",
    [
        "```\n" * 100_000,
        "`" * 500_000,
        "```python " * 50_000,
        "```python\n" + "x\n" * 20_000,
        "<think>" * 100_000,
    ],
    ids=["fences", "one fence", "one line", "one block", "thinking"],
)
def test_hostile_responses_are_read_in_linear_time(text):
    assert_linear(extract_source, text)
