"""Per-token columns of a micro-batch, and the sums from which a step's metrics are made."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from evoenv.objective import TRAINED_ROLES as ROLES
from evoenv.objective import Row
from evoenv.training.loss import Surrogate

SIDES = ("low", "high", "dual")


def as_tensor(values: array[float]) -> Tensor:
    """View an array of log-probabilities as a tensor: a step may have millions of them."""
    return torch.frombuffer(values, dtype=torch.float64) if values else torch.empty(0, dtype=torch.float64)


class OldLogprobs:
    """The trainer's log-probabilities of responses before an update: several optimiser steps look back to them."""

    def __init__(self) -> None:
        self._by_rollout: dict[int, Tensor] = {}

    def __contains__(self, row: Row) -> bool:
        return id(row.rollout) in self._by_rollout

    def __getitem__(self, row: Row) -> Tensor:
        return self._by_rollout[id(row.rollout)]

    def add(self, rows: Sequence[Row], logp: Tensor) -> None:
        """Take the values of some rows, end to end."""
        parts = torch.split(logp, [len(row.response_ids) for row in rows])
        self._by_rollout.update((id(row.rollout), part) for row, part in zip(rows, parts, strict=True))


class TokenColumns:
    """One value per response token, in the order of the rows."""

    def __init__(
        self, rows: Sequence[Row], device: torch.device, dtype: torch.dtype, old: OldLogprobs | None = None
    ) -> None:
        lengths = torch.tensor([len(row.response_ids) for row in rows], device=device)

        def spread(values: list[float]) -> Tensor:
            return torch.tensor(values, dtype=dtype, device=device).repeat_interleave(lengths)

        self.sampled = torch.cat([as_tensor(row.sampled) for row in rows]).to(device, dtype)
        self.old = None if old is None else torch.cat([old[row] for row in rows]).to(device, dtype)
        """The trainer's log-probabilities before the update, if they were computed."""
        self.advantages = spread([row.advantage for row in rows])
        self.means = spread([row.weight.mean for row in rows])
        self.surrogate_weights = spread([row.weight.surrogate for row in rows])
        self.kl_means = spread([row.weight.kl_mean for row in rows])
        self.solver = spread([float(row.role == "solver") for row in rows]).bool()


class Tally:
    """Sums over tokens; `metrics` turns them into means."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._largest: defaultdict[str, float] = defaultdict(float)
        self.steps = 0
        self.fed_tokens = 0

    def count(self, columns: TokenColumns, part: slice, logp: Tensor, surrogate: Surrogate, kl: Tensor | None) -> None:
        """Add one chunk of tokens."""
        solver = columns.solver[part]
        share = surrogate.loss.detach() * columns.means[part]
        for role, mine in zip(ROLES, (solver, ~solver), strict=True):
            self._add(f"tokens/{role}", mine)
            self._add(f"loss/{role}", share * mine)
            for side in SIDES:
                self._add(f"clip/{role}_{side}", getattr(surrogate, f"clipped_{side}") & mine)
        if kl is not None:
            self._add("loss/kl", kl.detach() * columns.kl_means[part])
        gap = (logp - columns.sampled[part]).abs()
        self._add("ratio/mean", surrogate.ratio)
        if surrogate.importance is not None:
            self._add("importance/mean", surrogate.importance)
        if surrogate.truncated is not None:
            self._add("importance/truncated", surrogate.truncated)
        self._add("logprob/gap_mean", gap)
        for name, values in (("ratio/max", surrogate.ratio), ("logprob/gap_max", gap)):
            self._largest[name] = max(self._largest[name], values.max().item())

    def finish_step(self, gradient_norm: float, total: float) -> None:
        """Count one optimiser step that is over, taken or skipped."""
        self.steps += 1
        self._sums["grad/norm"] += gradient_norm
        self._sums["loss/total"] += total

    def metrics(self) -> dict[str, float]:
        """Average losses and norms over optimiser steps, the rest over tokens; no mean over nothing."""
        sums, steps = self._sums, max(1, self.steps)
        tokens = {role: sums[f"tokens/{role}"] for role in ROLES}
        everything = sum(tokens.values())
        result = {f"tokens/{role}": tokens[role] for role in ROLES}
        result["tokens/computed"] = float(self.fed_tokens)
        for name in ("loss/total", "loss/solver", "loss/generator", "loss/kl", "grad/norm"):
            result[name] = sums[name] / steps
        if everything:
            means = ("ratio/mean", "logprob/gap_mean", "importance/mean", "importance/truncated")
            result |= {name: sums[name] / everything for name in means if name in sums}
            result |= self._largest
        for role in ROLES:
            if tokens[role]:
                result |= {f"clip/{role}_{side}": sums[f"clip/{role}_{side}"] / tokens[role] for side in SIDES}
        return result

    def _add(self, name: str, values: Tensor) -> None:
        self._sums[name] += values.sum().item()
