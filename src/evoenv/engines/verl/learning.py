"""One update on the training processes: rows go there part by part, log-probabilities come back."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor
from verl.utils import tensordict_utils as tu

from evoenv.config import Config
from evoenv.engines.verl.cluster import Cluster
from evoenv.engines.verl.columns import REFERENCE, columns_of, of_responses, padded, parts_of, sequence_length
from evoenv.engines.verl.settings import tokens_per_device
from evoenv.objective import Batch, Row
from evoenv.training.loss import weighted_loss
from evoenv.training.tally import OldLogprobs, Tally, TokenColumns

log = logging.getLogger(__name__)

MICRO_BATCHES = 4
TOKENS = 200_000
"""This many micro-batches of each device, and at least this many tokens, are handed over at once."""


class Learner:
    """Takes the optimiser steps of one update, the `number`-th of the run, and counts what they see.

    The driver holds the tokens of one part of a minibatch at a time; gradients add up in the training processes.
    """

    def __init__(self, cluster: Cluster, config: Config, number: int) -> None:
        self._cluster = cluster
        self._config = config
        self._number = number
        self.tally = Tally()
        self.skipped = 0
        """Optimiser steps that were not taken, because loss or gradient were not finite."""

    def learn(self, batch: Batch, rate: float) -> None:
        old = self._score_before(batch)
        for rows in batch.minibatches:
            self._optimise(rows, rate, old)

    def _score_before(self, batch: Batch) -> OldLogprobs | None:
        """Score all rows before the first of several optimiser steps, if truncated importance sampling needs that."""
        if not (self._config.training.truncated_importance > 0 and len(batch.minibatches) > 1):
            return None
        old = OldLogprobs()
        for rows in batch.minibatches:
            for part in self._parts([row for row in rows if row not in old]):
                columns = columns_of(padded(part, self._cluster.world))
                old.add(part, of_responses(self._score("scoring before the update", "compute_log_prob", columns), part))
        return old

    def _parts(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Yield the rows in parts; let the tokens of each go after it."""
        world = self._cluster.world
        for part in parts_of(rows, world, max(TOKENS, MICRO_BATCHES * world * tokens_per_device(self._config))):
            yield part
            for row in part:
                row.rollout.release()

    def _optimise(self, rows: Sequence[Row], rate: float, old: OldLogprobs | None) -> None:
        """Take one optimiser step; if loss or gradient is not finite, the weights are left alone."""
        total = sum(self._add_gradients(part, old) for part in self._parts(rows))
        (stepped, *_) = self._cluster.call("an optimiser step", "step_optimizer", rate)
        norm = float(stepped["grad_norm"])
        self.tally.finish_step(norm, total)
        if not (math.isfinite(total) and math.isfinite(norm)):
            self.skipped += 1
            log.warning(
                "update %d skipped: loss %s, gradient norm %s; weights and optimiser are unchanged",
                self._number, total, norm,
            )  # fmt: skip

    def _add_gradients(self, rows: Sequence[Row], old: OldLogprobs | None) -> float:
        """Take a part of a minibatch forwards and backwards; return its share of the loss."""
        columns = columns_of(padded(rows, self._cluster.world), old)
        reference: Tensor | None = None
        if self._config.training.kl > 0:
            columns[REFERENCE] = self._score_by_reference(columns)
            reference = of_responses(columns[REFERENCE], rows)
        asked = tu.get_tensordict(columns, {"calculate_entropy": False})
        output = self._cluster.call("a training pass", "forward_backward", asked)
        return self._count(rows, of_responses(output["log_probs"], rows), reference, old)

    def _score_by_reference(self, columns: Mapping[str, Tensor]) -> Tensor:
        """Compute the log-probabilities of all tokens under the weights that the run started from."""
        if self._cluster.adapter:
            return self._score("scoring by the reference", "compute_log_prob", columns, no_lora_adapter=True)
        return self._score("scoring by the reference", "compute_ref_log_prob", columns)

    def _score(self, work: str, method: str, columns: Mapping[str, Tensor], **options: bool) -> Tensor:
        """Ask the training processes for log-probabilities without gradients."""
        asked = tu.get_tensordict(
            {name: columns[name] for name in ("input_ids", "position_ids", "loss_mask", "temperature")},
            {"compute_loss": False, "calculate_entropy": False},
        )
        if options:
            tu.assign_non_tensor(asked, **options)
        scores: Tensor = self._cluster.call(work, method, asked)["log_probs"]
        return scores

    def _count(self, rows: Sequence[Row], logp: Tensor, reference: Tensor | None, old: OldLogprobs | None) -> float:
        """Add to the metrics what the forward pass over some rows saw; return their share of the loss."""
        columns = TokenColumns(rows, logp.device, torch.float32, old)
        loss, surrogate, kl = weighted_loss(
            logp,
            columns.sampled,
            columns.advantages,
            reference,
            old=columns.old,
            surrogate_weights=columns.surrogate_weights,
            kl_means=columns.kl_means,
            config=self._config.training,
        )
        self.tally.count(columns, slice(None), logp, surrogate, kl)
        self.tally.fed_tokens += sum(map(sequence_length, rows))
        return float(loss)
