"""Logits -> tokens, against hand-computed values and an independent double-precision reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evoenv.engines.local.draw import draw

QUARTERS = [math.log(0.5), math.log(0.25), math.log(0.125), math.log(0.125)]


def draw_one(logits: list[float], uniform: float, temperature: float = 1.0, top_p: float = 1.0) -> tuple[int, float]:
    tokens, logprobs = draw(
        torch.tensor([logits]),
        torch.tensor([temperature], dtype=torch.float64),
        torch.tensor([top_p], dtype=torch.float64),
        torch.tensor([uniform], dtype=torch.float64),
    )
    return int(tokens[0]), float(logprobs[0])


@pytest.mark.parametrize(
    ("uniform", "token"), [(0.0, 0), (0.49, 0), (0.51, 1), (0.74, 1), (0.76, 2), (0.87, 2), (0.88, 3), (0.999999, 3)]
)
def test_a_uniform_number_picks_the_token_whose_share_it_falls_into(uniform: float, token: int) -> None:
    got, logprob = draw_one(QUARTERS, uniform)
    assert got == token
    assert logprob == pytest.approx(QUARTERS[token], abs=1e-6)


def test_temperature_flattens_and_the_logprob_follows_it() -> None:
    # At temperature 2 the shares are sqrt(1/2) : sqrt(1/4) : sqrt(1/8) twice = 0.7071 : 0.5 : 0.3536 : 0.3536.
    total = 0.5**0.5 + 0.25**0.5 + 2 * 0.125**0.5
    got, logprob = draw_one(QUARTERS, 0.5, temperature=2.0)
    assert got == 1
    assert logprob == pytest.approx(math.log(0.5 / total), abs=1e-6)


def test_top_p_cuts_the_choice_but_not_the_logprob() -> None:
    # 0.5 + 0.25 is the smallest set with at least 0.6; inside it the shares are 2/3 and 1/3.
    assert draw_one(QUARTERS, 0.66, top_p=0.6)[0] == 0
    got, logprob = draw_one(QUARTERS, 0.68, top_p=0.6)
    assert got == 1
    assert logprob == pytest.approx(math.log(0.25), abs=1e-6)
    assert {draw_one(QUARTERS, u, top_p=0.5)[0] for u in (0.0, 0.5, 0.99)} == {0}


def test_nuclei_of_a_batch_are_those_of_its_rows_alone() -> None:
    """A steep row is settled by its first 64 tokens, a flatter one by 1,024, the flattest is sorted whole."""
    generator = torch.Generator().manual_seed(0)
    scales = torch.tensor([6.0, 1.5, 0.3, 6.0, 0.3])
    logits = torch.randn(5, 3000, generator=generator) * scales[:, None]
    top_p = torch.tensor([0.9, 0.8, 0.95, 1.0, 0.5], dtype=torch.float64)
    rows = torch.tensor([0, 0, 1, 2, 3, 4, 2, 1])
    uniform = torch.rand(8, generator=generator, dtype=torch.float64)
    tokens, _ = draw(logits, torch.ones(5, dtype=torch.float64), top_p, uniform, rows)
    alone = [
        draw_one(logits[row].tolist(), float(u), top_p=float(top_p[row])) for row, u in zip(rows, uniform, strict=True)
    ]
    assert tokens.tolist() == [token for token, _ in alone]
    shares = logits.double().softmax(-1)
    for row, u, token in zip(rows.tolist(), uniform.tolist(), tokens.tolist(), strict=True):
        if top_p[row] == 1:
            continue
        ordered, order = shares[row].sort(descending=True)
        kept = int((ordered.cumsum(0) < top_p[row]).sum()) + 1
        place = int(torch.searchsorted(ordered[:kept].cumsum(0), u * float(ordered[:kept].sum()), right=True))
        assert int(order[place]) == token


def test_temperature_zero_is_greedy_with_the_logprob_of_temperature_one() -> None:
    got, logprob = draw_one([0.0, 3.0, 1.0], 0.999, temperature=0.0)
    assert got == 1
    assert logprob == pytest.approx(3.0 - math.log(1 + math.exp(3) + math.exp(1)), abs=1e-6)


def test_impossible_tokens_are_never_drawn() -> None:
    logits = [-math.inf, 0.0, -math.inf, 0.0, -math.inf]
    assert {draw_one(logits, u)[0] for u in (0.0, 0.25, 0.5, 0.75, 0.9999999)} == {1, 3}


def test_the_last_possible_token_gets_the_uniform_just_below_one() -> None:
    # Single precision rounds these two weights' sum up, beyond their exact sum: that once gave the likeliest token.
    logits = np.random.default_rng(0).normal(0, 3, 2).astype(np.float32)
    highest = math.nextafter(1.0, 0.0)
    assert draw_one(logits.tolist(), highest, temperature=0.3)[0] == 1
    rng = np.random.default_rng(1)
    for size in (3, 255, 256, 257, 700):
        padded = [*rng.normal(0, 3, size).astype(np.float32).tolist(), *[-math.inf] * 300]
        assert draw_one(padded, highest)[0] == size - 1


@settings(max_examples=60, deadline=None)
@example(size=2, seed=0, uniform=math.nextafter(1.0, 0.0), temperature=0.3, top_p=1.0)
@given(
    size=st.integers(1, 1200),
    seed=st.integers(0, 2**32 - 1),
    uniform=st.floats(0, 1, exclude_max=True),
    temperature=st.sampled_from([0.3, 1.0, 1.7]),
    top_p=st.sampled_from([0.2, 0.9, 1.0]),
)
def test_agrees_with_a_plain_double_precision_implementation(
    size: int, seed: int, uniform: float, temperature: float, top_p: float
) -> None:
    logits = np.random.default_rng(seed).normal(0, 3, size).astype(np.float32)
    scaled = logits.astype(np.float64) / temperature
    probabilities = np.exp(scaled - scaled.max())
    probabilities /= probabilities.sum()
    order = np.argsort(-probabilities, kind="stable") if top_p < 1 else np.arange(size)
    edges = np.cumsum(probabilities[order])
    if top_p < 1:
        edges = edges[: int((edges < top_p).sum()) + 1]
    position = uniform * edges[-1]
    got, logprob = draw_one(logits.tolist(), uniform, temperature, top_p)
    assert logprob == pytest.approx(math.log(probabilities[got]), abs=1e-4)
    # Single-precision sums may settle a draw at the very edge between two tokens either way.
    place = int(np.where(order == got)[0][0])
    assert place < len(edges)
    below = edges[place - 1] if place else 0.0
    assert below - 1e-5 <= position <= edges[place] + 1e-5


def test_frequencies_match_the_distribution() -> None:
    rng = np.random.default_rng(0)
    logits = torch.tensor(rng.normal(0, 1, 600), dtype=torch.float32)
    count = 20000
    uniforms = torch.tensor(rng.random(count))
    ones = torch.ones(count, dtype=torch.float64)
    tokens, _ = draw(logits.expand(count, -1), ones, ones, uniforms)
    seen = np.bincount(tokens.numpy(), minlength=600)
    expected = torch.softmax(logits.double(), -1).numpy() * count
    chi_squared = float(((seen - expected) ** 2 / expected).sum())
    assert chi_squared < 599 + 5 * math.sqrt(2 * 599)
