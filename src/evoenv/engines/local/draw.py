"""Logits -> tokens, with the log-probability that the trainer will compute for the same token.

`logprob` is log-softmax(logits / temperature) of the whole vocabulary, *before* top-p cuts it: the importance ratio
of an update compares it with the trainer's log-softmax at the same temperature. At temperature 0 the choice is
greedy, and the log-probability is that of temperature 1.

A draw brings a uniform number and the row that it is from; the token is where the cumulated probability passes it. A
row that is drawn from several times is computed once. Sums are taken by chunk
and then across chunks in double precision, so that rare tokens of large vocabularies keep their share.
"""

from __future__ import annotations

import torch
from torch import Tensor

CHUNK = 256
NUCLEUS_CANDIDATES = (64, 1024)
"""Most probable tokens looked at for top-p, first and if they do not hold enough; a flatter row is sorted whole."""
SORTED_AT_ONCE = 1 << 20
"""Weights of rows that are sorted whole, together."""


def draw(
    logits: Tensor, temperature: Tensor, top_p: Tensor, uniform: Tensor, rows: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Sample a token for every number in `uniform`, from the row that `rows` names, with its log-probability.

    One number for each row if `rows` is not given; `temperature` and `top_p` belong to rows. All float64.
    """
    device = logits.device
    temperature, top_p, uniform = temperature.to(device), top_p.to(device), uniform.to(device)
    rows = torch.arange(len(logits), device=device) if rows is None else rows.to(device)
    greedy = temperature == 0
    scaled = logits.float()
    divisor = torch.where(greedy, 1.0, temperature).float()
    if not bool((divisor == 1).all()):
        scaled = scaled / divisor[:, None]
    peak = scaled.amax(dim=-1, keepdim=True)
    weight = (scaled - peak).exp_()
    sums = _chunk_sums(weight)
    edges = sums.cumsum(-1)
    total = edges[:, -1]  # and not sums.sum(): another order of addition may end beyond the last edge

    tokens = _pick(weight, sums, edges, uniform * total[rows], rows)
    cut = (top_p < 1) & ~greedy
    if bool(cut.any()):
        numbers = torch.nonzero(cut[rows]).flatten()
        tokens[numbers] = _pick_from_nuclei(weight, top_p * total, uniform[numbers], rows[numbers])
    if bool(greedy.any()):
        tokens = torch.where(greedy[rows], scaled.argmax(-1)[rows], tokens)
    chosen = scaled[rows, tokens].double()
    return tokens, chosen - (peak.squeeze(1).double() + total.log())[rows]


def _chunk_sums(weight: Tensor) -> Tensor:
    rows, size = weight.shape
    whole = size - size % CHUNK
    sums = weight[:, :whole].view(rows, whole // CHUNK, CHUNK).sum(-1)
    if whole < size:
        sums = torch.cat([sums, weight[:, whole:].sum(-1, keepdim=True)], dim=1)
    return sums.double()


def _pick(weight: Tensor, sums: Tensor, edges: Tensor, target: Tensor, rows: Tensor) -> Tensor:
    """Find the first index whose cumulated weight exceeds the target, which is less than the last edge."""
    size = weight.shape[1]
    sums, edges = sums[rows], edges[rows]
    chunk = torch.searchsorted(edges, target[:, None], right=True).clamp_(max=sums.shape[1] - 1)
    before = (edges - sums).gather(1, chunk)
    index = chunk * CHUNK + torch.arange(CHUNK, device=weight.device)
    inside = weight[rows[:, None], index.clamp(max=size - 1)].double().masked_fill_(index >= size, 0.0)
    # Chunk sums are single precision: a target at the very edge may fall a rounding error beyond the chunk's tokens.
    # It then belongs to the last token that can be drawn, not to the likeliest.
    passed = inside.cumsum(-1) > target[:, None] - before
    possible = torch.arange(CHUNK, device=weight.device) * (inside > 0)
    first = torch.where(passed.any(-1), passed.int().argmax(-1), possible.argmax(-1))
    return chunk.squeeze(1) * CHUNK + first


def _pick_from_nuclei(weight: Tensor, mass: Tensor, uniform: Tensor, rows: Tensor) -> Tensor:
    """Pick a token for each draw, from the nucleus of its row.

    What a row gives does not depend on the others: how many candidates are looked at is decided row by row.
    """
    size = weight.shape[1]
    tokens = torch.empty_like(rows)
    waiting = torch.arange(len(rows), device=weight.device)
    for count in (*(number for number in NUCLEUS_CANDIDATES if number < size), size):
        # whole rows are sorted few at a time: that takes many times their own memory
        room = len(waiting) if count < size else max(1, SORTED_AT_ONCE // size)
        left = []
        for draws in torch.split(waiting, room):
            found, settled = _pick_from_the_first(count, weight, mass, uniform[draws], rows[draws])
            tokens[draws[settled]] = found[settled]
            left.append(draws[~settled])
        waiting = torch.cat(left)
        if not len(waiting):
            break
    return tokens


def _pick_from_the_first(
    count: int, weight: Tensor, mass: Tensor, uniform: Tensor, rows: Tensor
) -> tuple[Tensor, Tensor]:
    """Pick from the smallest set of most probable tokens that holds the row's `mass`, among its first `count`.

    Return a token for each draw, and whether these first ones hold the mass; all of them do, but for rounding.
    """
    unique, places = torch.unique(rows, return_inverse=True)
    values, indices = weight[unique].topk(count)
    edges = values.double().cumsum(-1)
    last = (edges < mass[unique][:, None]).sum(-1, keepdim=True).clamp_(max=count - 1)
    settled = (edges[:, -1] >= mass[unique]) | (count == weight.shape[1])
    target = uniform[:, None] * edges.gather(1, last)[places]
    position = torch.minimum(torch.searchsorted(edges[places], target, right=True), last[places])
    return indices[places].gather(1, position).squeeze(1), settled[places]
