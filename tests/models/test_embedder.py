"""Unit vectors for novelty: the hashing fake always, the real encoder where weights are at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evoenv.models.embedder import HashingEmbedder, MiniLMEmbedder

TEXTS = [
    "Sort the numbers in increasing order.",
    "Arrange these numbers from small to large.",
    "",
    "def _generate(seed, difficulty):\n    return sorted(range(difficulty))",
    "x " * 1000,
    "数字を並べ替える \ud800",
]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=6))
def test_hashing_gives_one_unit_vector_per_text_and_equal_ones_for_equal_texts(texts: list[str]) -> None:
    vectors = HashingEmbedder().embed(texts)
    assert vectors.shape == (len(texts), 256)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert np.array_equal(vectors, HashingEmbedder().embed(texts))


def test_hashing_puts_similar_texts_closer_than_different_ones() -> None:
    near, same, far = HashingEmbedder().embed(["sort the numbers", "sort these numbers", "count islands in a grid"])
    assert near @ same > 0.5 > near @ far


@pytest.fixture(scope="module")
def encoder() -> MiniLMEmbedder:
    return MiniLMEmbedder(device="cpu", progress=False)


@pytest.mark.slow
@pytest.mark.model
def test_minilm_gives_unit_vectors_that_know_meaning(encoder: MiniLMEmbedder) -> None:
    vectors = encoder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.6 > vectors[0] @ vectors[3]
    assert encoder.embed([]).shape == (0, 384)


@pytest.mark.slow
@pytest.mark.model
def test_minilm_vectors_do_not_depend_on_the_batch_and_come_from_the_cache(
    encoder: MiniLMEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = encoder.embed([*TEXTS, *TEXTS])
    assert np.array_equal(together[: len(TEXTS)], together[len(TEXTS) :])
    fresh = MiniLMEmbedder(device="cpu", progress=False)
    alone = np.concatenate([fresh.embed([text]) for text in TEXTS])
    assert np.allclose(alone, together[: len(TEXTS)], atol=1e-5)
    calls: list[Any] = []
    monkeypatch.setattr(fresh, "_forward", calls.append)
    assert np.array_equal(fresh.embed(TEXTS), alone)
    assert calls == []


@pytest.mark.slow
@pytest.mark.model
def test_minilm_agrees_with_sentence_transformers(encoder: MiniLMEmbedder) -> None:
    library = pytest.importorskip(
        "sentence_transformers", reason="sentence_transformers is not installed: pip install sentence-transformers"
    )
    texts = [text for text in TEXTS if text.isprintable() or "\n" in text]
    reference = library.SentenceTransformer(str(encoder.path), device="cpu")
    expected = reference.encode(texts, normalize_embeddings=True)
    assert np.allclose(encoder.embed(texts), expected, atol=1e-5)
