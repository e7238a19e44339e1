"""Two-view novelty against numbers worked out by hand from its formulas, with vectors of Pythagorean cosines."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evoenv.admission.novelty import (
    NoveltyCache,
    clean_generate_body,
    gamma,
    measure_batch,
    similarities_among,
    unit_rows,
    update_repetition,
)
from evoenv.config import NoveltyConfig
from tests.effort import assert_costs_at_most, calls


def rows(*vectors):
    return np.array(vectors, dtype=np.float32)


@pytest.fixture
def cache():
    cache = NoveltyCache(2)
    cache.add(["a", "b"], rows((1, 0), (0, 1)), rows((0, 1), (0.6, 0.8)))
    return cache


def test_similarity_mixes_the_separate_maxima_of_both_views(cache):
    # u = (.6, .8): cosines .6 and .8. v = (1, 0): cosines 0 and .6. sim = ½·.8 + ½·.6
    found = measure_batch(["x"], rows((0.6, 0.8)), rows((1, 0)), cache, NoveltyConfig())["x"]
    assert found.novelty.similarity == pytest.approx(0.7)
    assert found.novelty.novelty == pytest.approx(0.3)
    assert found.novelty.nearest == "b"
    assert (found.prompt_cosine, found.code_cosine) == pytest.approx((0.8, 0.6))


def test_the_two_maxima_may_belong_to_different_environments(cache):
    # the prompt of a over the code of b is a copy, though neither environment is equal to it
    found = measure_batch(["x"], rows((1, 0)), rows((0.6, 0.8)), cache, NoveltyConfig())["x"]
    assert found.novelty.similarity == pytest.approx(1.0)


def test_mix_weighs_the_prompt_view(cache):
    found = measure_batch(["x"], rows((0.6, 0.8)), rows((1, 0)), cache, NoveltyConfig(mix=0.25))["x"]
    assert found.novelty.similarity == pytest.approx(0.25 * 0.8 + 0.75 * 0.6)


def test_cosines_ignore_length_and_an_empty_text_is_similar_to_nothing(cache):
    found = measure_batch(["x", "y"], rows((6, 8), (0, 0)), rows((10, 0), (0, 0)), cache, NoveltyConfig())
    assert found["x"].novelty.similarity == pytest.approx(0.7)
    assert found["y"].novelty.similarity == 0.0


def test_batch_similarity_is_the_greatest_over_pairs_not_over_views(cache):
    # pairs: x–y cos u 1, cos v 0 -> .5; x–z cos u 0, cos v .8 -> .4; y–z cos u 0, cos v .6 -> .3
    found = measure_batch(
        ["x", "y", "z"], rows((1, 0), (1, 0), (0, 1)), rows((1, 0), (0, 1), (0.8, 0.6)), cache, NoveltyConfig()
    )
    assert [found[name].novelty.batch_similarity for name in "xyz"] == pytest.approx([0.5, 0.5, 0.4])


def test_with_an_empty_cache_everything_is_new():
    found = measure_batch(["x"], rows((1, 0)), rows((1, 0)), NoveltyCache(2), NoveltyConfig())["x"]
    assert (found.novelty.similarity, found.novelty.novelty, found.novelty.nearest) == (0.0, 1.0, None)
    assert measure_batch([], rows().reshape(0, 2), rows().reshape(0, 2), NoveltyCache(2), NoveltyConfig()) == {}


def test_an_environment_enters_the_cache_once(cache):
    with pytest.raises(ValueError, match="twice"):
        cache.add(["a"], rows((1, 0)), rows((1, 0)))
    with pytest.raises(ValueError, match="twice"):
        cache.add(["c", "c"], rows((1, 0), (1, 0)), rows((1, 0), (1, 0)))
    assert len(cache) == 2
    assert "a" in cache
    assert "c" not in cache


def test_the_cache_finds_the_same_however_it_was_filled():
    rng = np.random.default_rng(0)
    prompts, codes = (rng.normal(size=(9000, 8)).astype(np.float32) for _ in range(2))
    names = [str(number) for number in range(9000)]
    whole, grown = NoveltyCache(8, capacity=9000), NoveltyCache(8, capacity=2)
    whole.add(names, prompts, codes)
    for start in range(0, 9000, 700):
        grown.add(names[start : start + 700], prompts[start : start + 700], codes[start : start + 700])
    queries = rng.normal(size=(5, 8)).astype(np.float32)
    assert whole.nearest(queries, queries) == grown.nearest(queries, queries)
    plain = (unit_rows(queries) @ unit_rows(prompts).T).max(axis=1)
    assert [found[0] for found in whole.nearest(queries, queries)] == pytest.approx(plain.tolist(), abs=1e-6)


def test_repetition_is_an_average_that_keeps_sixty_percent():
    assert update_repetition(0.5, [0.9, 0.7], NoveltyConfig()) == pytest.approx(0.6 * 0.5 + 0.4 * 0.8)
    assert update_repetition(0.62, [0.2, 0.4, 0.3], NoveltyConfig()) == pytest.approx(0.372 + 0.12)


def test_similarities_among_a_few_are_each_one_s_greatest_over_the_others(cache):
    # x–y cos u 1, cos v 0 -> .5; x–z 0, .8 -> .4; y–z 0, .6 -> .3
    measured = measure_batch(
        ["x", "y", "z"], rows((1, 0), (1, 0), (0, 1)), rows((1, 0), (0, 1), (0.8, 0.6)), cache, NoveltyConfig()
    )
    assert similarities_among([measured["x"], measured["z"]], 0.5) == pytest.approx([0.4, 0.4])
    assert similarities_among(list(measured.values()), 0.5) == pytest.approx([0.5, 0.5, 0.4])
    assert similarities_among([measured["y"]], 0.5) == [0.0]
    assert similarities_among([], 0.5) == []


def test_a_batch_of_one_says_nothing_about_repetition():
    assert update_repetition(0.5, [0.0], NoveltyConfig()) == 0.5
    assert update_repetition(0.5, [], NoveltyConfig()) == 0.5


@pytest.mark.parametrize(
    ("repetition", "expected"),
    [(0.0, 2.0), (0.45, 2.0), (0.5, 2.75), (0.55, 3.5), (0.62, 4.55), (0.65, 5.0), (0.9, 5.0)],
)
def test_gamma_rises_from_two_to_five_between_the_thresholds(repetition, expected):
    assert gamma(repetition, NoveltyConfig()) == pytest.approx(expected)


FUNCTIONAL = '''
import random

class Doubles(VerifiableEnvironment):
    """Doubles."""
    prompt_template = "Double {n}."

    def _generate(self, seed, difficulty):
        """Draw a number."""
        rng = random.Random(seed)   # seeded
        n = rng.randint( 1, 10 )
        "a remark in the shape of a string"
        def helper(x):
            """Doc."""
        return n, (2
                   * n)

    def _prompt_generate(self, z):
        return self.prompt_template.format(n=z)
'''


def test_clean_body_drops_comments_docstrings_and_formatting_and_keeps_names():
    assert clean_generate_body(FUNCTIONAL) == (
        "rng = random.Random(seed)\nn = rng.randint(1, 10)\n\ndef helper(x):\n    pass\nreturn (n, 2 * n)"
    )


def test_clean_body_is_found_in_the_other_dialects_too():
    stateful = (
        "class E(VerifiableEnvironment):\n  def _generate(self, seed, difficulty):\n    self.ref_answer = 1  # x\n"
    )
    rlve = "class E(VerifiableEnvironment):\n  def _generate(self) -> None:\n    self.parameter['reference_answer']=2\n"
    assert clean_generate_body(stateful) == "self.ref_answer = 1"
    assert clean_generate_body(rlve) == "self.parameter['reference_answer'] = 2"


@pytest.mark.parametrize(
    "source",
    [
        "",
        "class",
        "\x00",
        "x = 1",
        "def _generate(): pass",
        "(" * 5000,
        "-" * 100_000 + "1",
        "x = " + "[" * 150,
        "\ud800",
    ],
)
def test_clean_body_of_bad_source_is_empty(source):
    assert clean_generate_body(source) == ""


@given(st.text(max_size=200))
def test_clean_body_never_raises(text):
    assert isinstance(clean_generate_body(text), str)
    assert isinstance(clean_generate_body(FUNCTIONAL + text), str)


def test_clean_body_survives_nesting_that_parses_but_cannot_be_written_back():
    deep = "class E:\n def _generate(self, s, d):\n  return " + "-" * 2000 + "1"
    assert isinstance(clean_generate_body(deep), str)


@pytest.mark.slow
def test_a_batch_against_all_that_was_admitted_costs_two_products_and_no_copy():
    rng = np.random.default_rng(1)
    admitted = rng.normal(size=(40_000, 384)).astype(np.float32)
    cache = NoveltyCache(384)
    cache.add([str(number) for number in range(len(admitted))], admitted, admitted)
    queries = rng.normal(size=(128, 384)).astype(np.float32)
    names = [f"c{number}" for number in range(128)]

    def measure():
        measure_batch(names, queries, queries, cache, NoveltyConfig())

    def multiply():
        for _ in ("prompts", "codes"):
            for start in range(0, len(admitted), 10_000):
                queries @ admitted[start : start + 10_000].T

    assert calls(measure) < 10 * len(names), "a few for each candidate, none for each of the admitted"
    tracemalloc.start()
    try:
        measure()
        assert tracemalloc.get_traced_memory()[1] < admitted.nbytes / 2, "a block at a time"
    finally:
        tracemalloc.stop()
    assert_costs_at_most(8, measure, multiply)  # usually once
