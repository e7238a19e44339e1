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
    """Pick tokens of each row's nucleus, the smallest set of most probable tokens that holds at least `mass`.

    What a row gives does not depend on the others: how many candidates are looked at is decided row by row.
    """
    size = weight.shape[1]
    tokens = torch.empty_like(rows)
    unique, places = torch.unique(rows, return_inverse=True)
    waiting = torch.arange(len(unique), device=weight.device)
    for count in (*(number for number in NUCLEUS_CANDIDATES if number < size), size):
        values, indices = weight[unique[waiting]].topk(count)
        edges = values.double().cumsum(-1)
        held = edges[:, -1] >= mass[unique[waiting]]
        if count == size:
            held = torch.ones_like(held)  # rounding may leave the last edge a little short of the mass
        place_of = torch.full((len(unique),), -1, device=weight.device)
        place_of[waiting[held]] = torch.arange(int(held.sum()), device=weight.device)
        own = place_of[places]
        draws = own >= 0
        chosen = own[draws]
        edges, indices = edges[held][chosen], indices[held][chosen]
        last = (edges < mass[rows[draws]][:, None]).sum(-1, keepdim=True).clamp_(max=count - 1)
        target = uniform[draws][:, None] * edges.gather(1, last)
        position = torch.minimum(torch.searchsorted(edges, target, right=True), last)
        tokens[draws] = indices.gather(1, position).squeeze(1)
        waiting = waiting[~held]
        if not len(waiting):
            break
    return tokens
