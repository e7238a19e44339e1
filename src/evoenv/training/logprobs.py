"""Log-probabilities of response tokens, at the smallest cost that gives the plain model's numbers.

Two savings, each used only if a probe on the model at hand shows that it changes nothing:

- *packing*: prompts shared by a group are computed once, rows have no padding (`attention`);
- *split head*: the decoder runs without the output layer, which is then applied to response positions alone, in
  chunks. A vocabulary of 49,152 makes logits the largest tensor of a step by far.

A model that fails a probe (logit soft-capping, recurrent layers, an attention of its own) takes the plain way: padded
batches, whole logits.

The backward pass is cut at the output layer: each chunk of logits is turned into its share of the loss and
differentiated at once, and the decoder gets one backward pass with the collected gradient. The loss is a sum over
tokens with weights known beforehand, so this is the same gradient without holding or recomputing logits.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from evoenv.objective import ResponseWeight, Row
from evoenv.records import Rollout
from evoenv.training.attention import PackedRow, packed_attention_installed
from evoenv.training.batching import Bundle, Layout, bundle_rows, lay_out, pack_bundles, pad_batches

logger = logging.getLogger(__name__)

LOGIT_CHUNK = 1 << 25
"""Logits held at once (128 MB in float32, times three in the backward pass)."""
PROBE_TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-3}
LOW_PRECISION_TOLERANCE = 0.1
LARGE_LOGIT = 100.0


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One forward pass: rows in order, and how the model sees them."""

    rows: tuple[Row, ...]
    layout: Layout | None
    """None: padded, one row per response."""

    @property
    def fed_tokens(self) -> int:
        if self.layout is not None:
            return len(self.layout.ids)
        return len(self.rows) * max(len(row.prompt_ids) + row.fed_tokens for row in self.rows)


class LogprobScorer:
    """A causal language model as a function from micro-batches to log-probabilities."""

    def __init__(self, model: Any, *, share_prompts: bool = True, like: LogprobScorer | None = None) -> None:
        """Probe what the model allows. `like`: a scorer of the same architecture, whose probes need not be repeated."""
        self.model = model
        self.device: torch.device = next(model.parameters()).device
        causal = model.get_base_model() if hasattr(model, "get_base_model") else model
        self._causal = causal
        self._decoder: Any = causal.get_decoder() if hasattr(causal, "get_decoder") else None
        self._head: Any = causal.get_output_embeddings()
        self.share_prompts = share_prompts
        self.supports_checkpointing = bool(getattr(causal, "supports_gradient_checkpointing", False))
        self.packs = True
        self.splits_head = self._decoder is not None and self._decoder is not causal and self._head is not None
        self.vocabulary = int(causal.get_input_embeddings().weight.shape[0])
        self.chunk_rows = max(1, LOGIT_CHUNK // self.vocabulary)
        if like is None:
            self._probe()
        else:
            self.packs, self.splits_head = like.packs, like.splits_head

    # ------------------------------------------------------------------ planning

    def plan(self, rows: Sequence[Row], budget: int) -> list[MicroBatch]:
        """Plan micro-batches of at most `budget` tokens each; responses without tokens are left out."""
        rows = [row for row in rows if row.response_ids]
        if not self.packs:
            return [MicroBatch(batch, None) for batch in pad_batches(rows, budget)]
        bundles = bundle_rows(rows, budget, share_prompts=self.share_prompts, checkpointing=self.supports_checkpointing)
        return [self._packed(pack) for pack in pack_bundles(bundles, budget)]

    @staticmethod
    def _packed(pack: Sequence[Bundle]) -> MicroBatch:
        layout = lay_out(pack)
        return MicroBatch(layout.rows, layout)

    # ------------------------------------------------------------------ running

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold this around every call of `features`: it switches the attention for the time being."""
        with packed_attention_installed(self._causal) if self.packs else nullcontext():
            yield

    def features(self, batch: MicroBatch) -> Tensor:
        """Compute what predicts each response token, in the order of the rows: hidden states, or else whole logits."""
        if batch.layout is None:
            return self._padded_features(batch.rows)
        layout = batch.layout
        row = PackedRow(layout.spans)
        output = self._run(
            input_ids=self._tensor(layout.ids)[None],
            position_ids=self._tensor(layout.positions)[None],
            evoenv_row=row,
        )
        row.check(self._causal.config.get_text_config())
        return output[0].index_select(0, self._tensor(layout.predicts))

    def head(self, features: Tensor) -> Tensor:
        """Compute the logits of some features, in at least float32."""
        logits: Tensor = self._head(features) if self.splits_head else features
        return logits if logits.dtype == torch.float64 else logits.float()

    @torch.no_grad()
    def logprobs(self, batch: MicroBatch) -> Tensor:
        """Compute log-probabilities of all response tokens, without gradient: for the reference and for checks."""
        features, (targets, temperatures) = self.features(batch), self.targets(batch)
        parts = [slice(begin, begin + self.chunk_rows) for begin in range(0, len(targets), self.chunk_rows)]
        return torch.cat(
            [token_logprobs(self.head(features[part]), targets[part], temperatures[part]) for part in parts]
        )

    def targets(self, batch: MicroBatch) -> tuple[Tensor, Tensor]:
        """Return response tokens and their temperatures, in the order of the rows."""
        ids = [token for row in batch.rows for token in row.response_ids]
        temperatures = [row.temperature for row in batch.rows for _ in row.response_ids]
        return self._tensor(ids), torch.tensor(temperatures, dtype=torch.float64, device=self.device)

    def _run(self, **inputs: Any) -> Tensor:
        if self.splits_head:
            hidden: Tensor = self._decoder(**inputs, use_cache=False, return_dict=True).last_hidden_state
            return hidden
        logits: Tensor = self._causal(**inputs, use_cache=False, return_dict=True).logits
        return logits

    def _padded_features(self, rows: Sequence[Row]) -> Tensor:
        width = max(len(row.prompt_ids) + row.fed_tokens for row in rows)
        ids: list[list[int]] = []
        mask: list[list[int]] = []
        picked: list[int] = []
        for index, row in enumerate(rows):
            real = [*row.prompt_ids, *row.response_ids[:-1]]
            padding = width - len(real)
            # Padding stands on the right, where causal attention cannot see it; any token id will do.
            ids.append(real + [0] * padding)
            mask.append([1] * len(real) + [0] * padding)
            first = index * width + len(row.prompt_ids) - 1
            picked += range(first, first + len(row.response_ids))
        output = self._run(input_ids=self._tensor(ids), attention_mask=self._tensor(mask))
        return output.flatten(0, 1).index_select(0, self._tensor(picked))

    def _tensor(self, values: Any) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self.device)

    # ------------------------------------------------------------------ probing

    def _probe(self) -> None:
        """Switch off whatever does not reproduce the plain model on a small example."""
        rows = self._probe_rows()
        padded = MicroBatch(tuple(rows), None)
        packs, splits_head = self.packs, self.splits_head
        self.packs = self.splits_head = False
        plain = self.logprobs(padded)
        if splits_head:
            # A soft cap bends large logits only, and a fresh model has none: compare on hidden states that give some.
            features = self.features(padded).abs().max().item()
            with _scaled_output(self._decoder, LARGE_LOGIT / max(features, 1e-6)):
                expected = self.logprobs(padded)
                self.splits_head = True
                self.splits_head = self._agrees(expected, padded, "split head")
        if packs:
            self.packs = True
            bundles = [Bundle(rows[0].prompt_ids, tuple(rows[:2])), Bundle(rows[2].prompt_ids, (rows[2],))]
            self.packs = self._agrees(plain, self._packed(bundles), "packed attention")

    def _agrees(self, plain: Tensor, batch: MicroBatch, what: str) -> bool:
        tolerance = PROBE_TOLERANCE.get(next(self.model.parameters()).dtype, LOW_PRECISION_TOLERANCE)
        name = type(self._causal).__name__
        try:
            with self.running():
                gap = (self.logprobs(batch) - plain).abs().max().item()
        # Whatever an unknown architecture raises means the same: take the plain way, which is always right.
        except Exception as error:
            logger.info("%s: %s not used (%s)", name, what, error)
            return False
        if not gap <= tolerance:
            logger.info("%s: %s not used (log-probabilities differ by %.2g)", name, what, gap)
            return False
        return True

    def _probe_rows(self) -> list[Row]:
        def tokens(start: int, count: int) -> tuple[int, ...]:
            return tuple((start + 7 * step) % self.vocabulary for step in range(count))

        weight = ResponseWeight(1.0, 1.0, 0.0)
        shared, other = tokens(3, 6), tokens(5, 4)
        shapes = [(shared, tokens(11, 5)), (shared, tokens(2, 3)), (other, tokens(13, 7))]
        return [Row("solver", Rollout.of(prompt, reply, (0.0,) * len(reply)), 0.0, weight) for prompt, reply in shapes]


@contextmanager
def _scaled_output(decoder: Any, factor: float) -> Iterator[None]:
    """Multiply a decoder's hidden states for the time being."""

    def scale(_module: Any, _inputs: Any, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state * factor
        return output

    hook = decoder.register_forward_hook(scale)
    try:
        yield
    finally:
        hook.remove()


def token_logprobs(logits: Tensor, targets: Tensor, temperatures: Tensor) -> Tensor:
    """Compute log softmax(logits / temperature) at the targets."""
    if bool((temperatures != 1.0).any()):
        logits = logits / temperatures.to(logits.dtype)[:, None]
    return -cross_entropy(logits, targets, reduction="none")
