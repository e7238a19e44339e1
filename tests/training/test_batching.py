import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training_support import VOCABULARY, alike_groups, random_groups, with_rollout

from evoenv.config import TrainingConfig
from evoenv.errors import PolicyError
from evoenv.objective import build_rows
from evoenv.records import Rollout
from evoenv.training.batching import Piece, Span, bundle_rows, check_vocabulary, lay_out, pack_bundles, pad_batches


def test_layout_by_hand() -> None:
    group = random_groups(0, roles=["solver"], size=2)[0]
    first, second = (
        with_rollout(sample, prompt_ids=(7, 8), token_ids=ids, logprobs=(0.0,) * len(ids))
        for sample, ids in zip(group.samples, [(1, 2, 3), (4,)], strict=True)
    )
    rows = build_rows([dataclasses.replace(group, samples=(first, second))], TrainingConfig())
    (bundle,) = bundle_rows(rows, 100, share_prompts=True)
    layout = lay_out([bundle, bundle])
    # The last token of a response is never fed; a response of one token is predicted by the prompt alone.
    assert layout.ids == [7, 8, 1, 2] * 2
    assert layout.positions == [0, 1, 2, 3] * 2
    assert layout.predicts == [1, 2, 3, 1, 5, 6, 7, 5]
    assert layout.spans == tuple(Span(start, (Piece(2, None), Piece(2, 0))) for start in (0, 4))


def test_what_responses_begin_with_in_common_is_laid_out_once() -> None:
    group = random_groups(0, roles=["solver"], size=6)[0]
    texts = [(1, 2, 3, 4), (1, 2, 5), (1, 2, 3, 4), (1, 2, 6, 6, 6), (1, 2, 3, 9), (1, 2, 6, 7, 8, 8)]
    samples = tuple(
        with_rollout(sample, prompt_ids=(7, 8), token_ids=ids, logprobs=(0.0,) * len(ids))
        for sample, ids in zip(group.samples, texts, strict=True)
    )
    rows = build_rows([dataclasses.replace(group, samples=samples)], TrainingConfig())
    (bundle,) = bundle_rows(rows, 100, share_prompts=True)
    layout = lay_out([bundle])
    assert [tuple(row.response_ids) for row in layout.rows] == texts
    # 7 8 1 2 is where all part: to 3 (twice before a 4, once before a 9), and to 6, where 6 and 7 8 part
    assert layout.ids == [7, 8, 1, 2, 3, 6, 6, 7, 8]
    assert layout.positions == [0, 1, 2, 3, 4, 4, 5, 5, 6]
    assert layout.spans == (Span(0, (Piece(4, None), Piece(1, 0), Piece(1, 0), Piece(1, 2), Piece(2, 2))),)
    ways = [[1, 2, 3, 4], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 5, 6], [1, 2, 3, 4], [1, 2, 3, 5, 7, 8]]
    assert layout.predicts == [place for way in ways for place in way]
    assert bundle.tokens == len(layout.ids)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1000), budget=st.integers(1, 300), share=st.booleans())
def test_packs_hold_every_row_once_within_the_budget(seed: int, budget: int, share: bool) -> None:
    rows = build_rows([*random_groups(seed), *alike_groups(seed)], TrainingConfig())
    packs = pack_bundles(bundle_rows(rows, budget, share_prompts=share, checkpointing=False), budget)
    packed = [row for pack in packs for bundle in pack for row in bundle.rows]
    assert sorted(map(id, packed)) == sorted(map(id, rows))
    longest = max(len(row.prompt_ids) + row.fed_tokens for row in rows)
    for pack in packs:
        assert sum(bundle.tokens for bundle in pack) <= max(budget, longest)
        assert sum(bundle.tokens for bundle in pack) == len(lay_out(pack).ids)
        assert all(row.prompt_ids == bundle.prompt_ids for bundle in pack for row in bundle.rows)


def test_a_group_under_a_large_budget_has_its_prompt_once() -> None:
    rows = build_rows(random_groups(1), TrainingConfig())
    bundles = bundle_rows(rows, 10_000, share_prompts=True)
    assert len(bundles) == 3
    assert len(pack_bundles(bundles, 10_000)) == 1


def test_a_group_behind_a_long_prompt_is_checkpointed_whole_rather_than_repeated() -> None:
    group = random_groups(0, roles=["solver"], size=8)[0]
    samples = tuple(
        with_rollout(sample, prompt_ids=(1,) * 300, token_ids=(sample.index, *(2,) * 100), logprobs=(0.0,) * 101)
        for sample in group.samples
    )
    rows = build_rows([dataclasses.replace(group, samples=samples)], TrainingConfig())
    # Within 500 tokens: four bundles of 300 + 2 · 100, 2000 in all; at once: 300 + 8 · 100, and a third more.
    assert [bundle.tokens for bundle in bundle_rows(rows, 500, share_prompts=True)] == [1100]
    assert [bundle.tokens for bundle in bundle_rows(rows, 500, share_prompts=True, checkpointing=False)] == [500] * 4
    # Within 700 there are two bundles of 300 + 4 · 100, 1400 in all: cheaper than 1100 · 4/3.
    assert [bundle.tokens for bundle in bundle_rows(rows, 700, share_prompts=True)] == [700, 700]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1000), budget=st.integers(1, 300))
def test_padded_rectangles_hold_every_row_once_within_the_budget(seed: int, budget: int) -> None:
    rows = build_rows(random_groups(seed), TrainingConfig())
    batches = pad_batches(rows, budget)
    assert sorted(id(row) for batch in batches for row in batch) == sorted(map(id, rows))
    for batch in batches:
        width = max(len(row.prompt_ids) + row.fed_tokens for row in batch)
        assert len(batch) == 1 or len(batch) * width <= budget


def test_a_token_outside_the_vocabulary_is_refused() -> None:
    rows = build_rows(random_groups(3), TrainingConfig())
    check_vocabulary(rows, VOCABULARY)
    strange = dataclasses.replace(rows[1], rollout=Rollout.of((1, 2), (VOCABULARY,), (-1.0,)))
    with pytest.raises(PolicyError, match="a solver response has a token outside the vocabulary of 61"):
        check_vocabulary([*rows, strange], VOCABULARY)
