"""Continuous batching inside a token budget.

    pending units ─► prefill: each prompt once ─► cohorts ─► one forward per step over all live rows ─► finished drafts
         ▲                                           │
         └────────── preempted, if memory runs out ──┘

A *unit* is a context with the drafts that continue it. Rows are refilled when a quarter of them is free, so that
cohorts stay large. Drafts of a prompt that have written the same so far are one row. Memory is bounded by `budget`
cache tokens: rows are admitted with room for an answer of usual length, grow when theirs is longer, and if that does
not fit, the youngest cohort goes back to the queue with what it has written, to be computed again later. Drafts may be
added while others are decoded; they queue behind them. The result does not depend on any of this.
"""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import DynamicCache

from evoenv.engines.local.draft import Draft
from evoenv.engines.local.draw import draw
from evoenv.engines.local.kv import Cohort, CohortCache, decoding, join, joined_tokens
from evoenv.engines.local.lean import SMALL_WEIGHTS, LeanStep

log = logging.getLogger(__name__)

MAX_ROWS = 128
"""Rows of a large model that keep a CPU busy: a product with 128 rows does a tenth more a second than one with 64."""
GPU_ROWS = 256
SMALL_ROWS = 512
"""Rows of a small model, whose calls cost more than its arithmetic: a fifth more answers a second than with 256."""
PREFILL_TOKENS = 4096
"""Padded tokens of one prefill: bounds its activations."""
PADDING_SHARE = 0.125
"""Prompts that differ by more than this do not share a prefill."""
JOINED_SHARE = 1.5
"""Cohorts that begin together become one if its cache is at most so many times as large."""
FIRST_GUESS = 256
"""Room for an answer before any answer has shown its length."""
LEAST_ROOM = 64
LEAST_SHARED = 16
"""Tokens that contexts must begin with in common to be worth a forward of their own."""


@dataclass(slots=True)
class Unit:
    context: Sequence[int]
    drafts: list[Draft]

    @property
    def most(self) -> int:
        return max(draft.remaining for draft in self.drafts)


@dataclass(slots=True)
class DecodeStats:
    """What one run cost; for benchmarks and tests."""

    prefill_tokens: int = 0
    decode_rows: int = 0
    steps: int = 0
    preemptions: int = 0
    peak_tokens: int = 0


class Decoding(Protocol):
    """Drafts on their way: those of one sampling session."""

    @property
    def busy(self) -> bool:
        """Whether a draft is unfinished."""

    def add(self, groups: Sequence[Sequence[Draft]]) -> None:
        """Queue drafts, the drafts of one prompt as one group, behind those that wait already."""

    def advance(self) -> list[Draft]:
        """Decode one token for all rows that there is room for; the drafts that are finished now."""


class Decoder(Protocol):
    stats: DecodeStats

    def begin(self) -> Decoding:
        """Start with nothing to decode."""


def rows_at_once(weights: int, *, on_cpu: bool) -> int:
    """Return how many rows are decoded side by side: 128 of a large model keep a CPU busy, a small one wants more."""
    if not on_cpu:
        return GPU_ROWS
    return MAX_ROWS if weights > SMALL_WEIGHTS else SMALL_ROWS


def plan_units(drafts: Sequence[Sequence[Draft]], max_rows: int) -> deque[Unit]:
    """Order drafts that come together: longest first, so that no straggler starts last; equal prompts side by side."""
    units = [
        Unit(group[0].prompt_ids, list(group[begin : begin + max_rows]))
        for group in drafts
        for begin in range(0, len(group), max_rows)
    ]
    units.sort(key=lambda unit: (-unit.most, -len(unit.context)))
    return deque(units)


class CohortDecoder:
    """Decodes drafts with a transformers model, in evaluation mode, as it is when drafts are added to an idle loop."""

    def __init__(self, model: Any, *, budget: int, max_rows: int = MAX_ROWS, lean: LeanStep | None = None) -> None:
        self.model = model
        self.budget = budget
        self.max_rows = max_rows
        self.shares = True
        """Drafts with the same tokens so far are one row. False is for measuring what that saves."""
        self.lean = lean
        """The short way of a step, if this model has one."""
        self.stats = DecodeStats()
        self._finished = self._finished_tokens = 0
        self._config = model.config.get_text_config()
        self._device = next(model.parameters()).device
        self._keeps_logits = "logits_to_keep" in inspect.signature(_innermost(model).forward).parameters

    # ------------------------------------------------------------------ the loop

    def begin(self) -> CohortDecoding:
        return CohortDecoding(self)

    def count(self, finished: Sequence[Draft]) -> None:
        """Remember how long answers get: `room` guesses from it."""
        self._finished += len(finished)
        self._finished_tokens += sum(len(draft.tokens) for draft in finished)

    def admissions(self, pending: deque[Unit], cohorts: Sequence[Cohort]) -> Iterator[list[Unit]]:
        """Yield sets of units to prefill together now, taken off `pending`."""
        free = self.max_rows - self._drafts(cohorts)  # those that share a row may part at the next token
        waiting = sum(len(unit.drafts) for unit in pending)
        if cohorts and free < min(self.max_rows // 4, waiting):
            return
        used = sum(cohort.tokens for cohort in cohorts)
        idle = not cohorts
        while pending:
            chosen: list[Unit] = []
            cost = 0
            while pending:
                unit = pending[0]
                trial = [*chosen, unit]
                rows = sum(len(member.drafts) for member in trial)
                longest = max(len(member.context) for member in trial)
                shortest = min(len(member.context) for member in trial)
                trial_cost = longest * len(trial) + rows * self.room(trial)
                must_take = idle and not chosen
                fits = rows <= free and used + trial_cost <= self.budget
                alike = longest * len(trial) <= PREFILL_TOKENS and longest - shortest <= PADDING_SHARE * longest + 8
                if not must_take and not (fits and (alike or not chosen)):
                    break
                chosen, cost, idle = trial, trial_cost, False
                pending.popleft()
                if not fits:
                    self._shrink_to_budget(chosen[0], pending)
                    break
            if not chosen:
                return
            free -= sum(len(unit.drafts) for unit in chosen)
            used += cost
            yield chosen

    def _shrink_to_budget(self, unit: Unit, pending: deque[Unit]) -> None:
        """Cut a group too large for an empty cache; one row always fits, `prompts.check_fits` saw to that."""
        rows = max(1, (self.budget - len(unit.context)) // max(1, self.room([unit])))
        if rows < len(unit.drafts):
            pending.appendleft(Unit(unit.context, unit.drafts[rows:]))
            unit.drafts = unit.drafts[:rows]

    def room(self, units: Sequence[Unit]) -> int:
        """Return the columns a row gets first: a quarter more than answers took so far, at most all they may take."""
        usual = int(1.25 * self._finished_tokens / self._finished) + 16 if self._finished else FIRST_GUESS
        return min(max(unit.most for unit in units), max(usual, LEAST_ROOM))

    @torch.inference_mode()
    def join(self, begun: list[Cohort], others: Sequence[Cohort]) -> list[Cohort]:
        """Make one of the cohorts that begin together, if the padding between their prompts is little and fits."""
        if len(begun) < 2:
            return begun
        apart, together = sum(cohort.tokens for cohort in begun), joined_tokens(begun)
        fits = sum(cohort.tokens for cohort in others) + together <= self.budget
        return [join(begun)] if fits and together <= JOINED_SHARE * apart else begun

    @torch.inference_mode()
    def make_room(self, pending: deque[Unit], cohorts: list[Cohort]) -> bool:
        """Let every cohort hold one more token, sending the youngest rows back to the queue if memory ends.

        True if any had to go.
        """
        before = self.stats.preemptions
        position = 0
        while position < len(cohorts):
            cohort = cohorts[position]
            while sum(other.tokens for other in cohorts) + cohort.growth() > self.budget and self._drafts(cohorts) > 1:
                self._preempt(pending, cohorts)
                if position >= len(cohorts):
                    break
            else:
                cohort.grow()
                position += 1
        self.stats.peak_tokens = max(self.stats.peak_tokens, sum(cohort.tokens for cohort in cohorts))
        return self.stats.preemptions > before

    @staticmethod
    def _drafts(cohorts: Sequence[Cohort]) -> int:
        return sum(cohort.drafts for cohort in cohorts)

    def _preempt(self, pending: deque[Unit], cohorts: list[Cohort]) -> None:
        """Send the youngest cohort back to the queue, or half of the only one: of its rows, or its one row's drafts."""
        youngest = cohorts[-1]
        kept: list[list[Draft]] = []
        if len(cohorts) == 1:
            only = youngest.members[0]
            kept = youngest.members[: youngest.rows // 2] or [only[: len(only) // 2]]
        staying = {id(draft) for drafts in kept for draft in drafts}
        for drafts in youngest.members:
            if leaving := [draft for draft in drafts if id(draft) not in staying]:
                pending.appendleft(Unit(leaving[0].context, leaving))
                self.stats.preemptions += len(leaving)
        if kept:
            youngest.regroup([kept[row : row + 1] for row in range(youngest.rows)])
        else:
            cohorts.pop()

    # ------------------------------------------------------------------ forward passes

    @torch.inference_mode()
    def prefill(self, units: Sequence[Unit], room: int) -> tuple[Cohort | None, list[Draft]]:
        """Compute each context once, draw the first token of every draft, and open a cohort for them."""
        lengths = [len(unit.context) for unit in units]
        longest = max(lengths)
        cache: Any = DynamicCache()
        shared = self._prefill_shared(units, cache)
        # Padding stands on the right, where a causal model cannot see it: no mask is needed.
        ids = torch.tensor(
            [[*unit.context[shared:], *[0] * (longest - len(unit.context))] for unit in units], device=self._device
        )
        at = [length - 1 - shared for length in lengths]
        ends = sorted(set(at))
        logits = self._forward(
            input_ids=ids,
            past_key_values=cache,
            position_ids=torch.arange(shared, longest, device=self._device)[None].expand(len(units), -1),
            **({"logits_to_keep": torch.tensor(ends, device=self._device)} if self._keeps_logits else {}),
        )
        columns = [ends.index(column) for column in at] if self._keeps_logits else at
        last = logits[torch.arange(len(units), device=self._device), torch.tensor(columns, device=self._device)]
        self.stats.prefill_tokens += ids.numel()

        done, parts = draw_tokens(last, [unit.drafts for unit in units], share=self.shares)
        members = [drafts for own in parts for drafts in own]
        if not members:
            return None, done
        owners = [number for number, own in enumerate(parts) for _ in own]
        prefix = [(layer.keys, layer.values) for layer in cache.layers]
        return Cohort(prefix, lengths, members, owners, room), done

    def _prefill_shared(self, units: Sequence[Unit], cache: Any) -> int:
        """Compute what all contexts begin with only once; return its length, 0 if that would save little."""
        shared = common_start([unit.context for unit in units])
        if len(units) < 2 or shared < LEAST_SHARED:
            return 0
        ids = torch.tensor([list(units[0].context[:shared])], device=self._device)
        self._forward(
            input_ids=ids,
            past_key_values=cache,
            position_ids=torch.arange(shared, device=self._device)[None],
            **({"logits_to_keep": 1} if self._keeps_logits else {}),
        )
        cache.batch_repeat_interleave(len(units))
        self.stats.prefill_tokens += shared
        return shared

    @torch.inference_mode()
    def step(self, cohorts: Sequence[Cohort]) -> list[Draft]:
        """Sample one token for every live row; return the drafts that are finished."""
        members = [drafts for cohort in cohorts for drafts in cohort.members]
        ids = torch.tensor([drafts[0].tokens[-1] for drafts in members], device=self._device)
        positions = torch.tensor([place for cohort in cohorts for place in cohort.positions()], device=self._device)
        if self.lean is not None:
            logits = self.lean(cohorts, ids, positions)
        else:
            cache = CohortCache(cohorts)
            with decoding(self._config, cache):
                logits = self._forward(input_ids=ids[:, None], past_key_values=cache, position_ids=positions[:, None])[
                    :, -1
                ]
        self.stats.steps += 1
        self.stats.decode_rows += len(members)
        done, parts = draw_tokens(logits, members, share=self.shares)
        begin = 0
        for cohort in cohorts:
            own = parts[begin : begin + cohort.rows]
            begin += cohort.rows
            cohort.length += 1
            if any(len(row) != 1 for row in own):
                cohort.regroup(own)
            else:
                cohort.members = [row[0] for row in own]
        return done

    def _forward(self, **inputs: Any) -> Tensor:
        if self.model.training:
            self.model.eval()
        output: Tensor = self.model(use_cache=True, return_dict=True, **inputs).logits
        return output


def draw_tokens(
    logits: Tensor, members: Sequence[Sequence[Draft]], *, share: bool = True
) -> tuple[list[Draft], list[list[list[Draft]]]]:
    """Sample one token for each draft of each row.

    Return the drafts that are finished, and for each row those that go on, together if they drew the same token and
    are to share what follows.
    """
    drafts = [draft for row in members for draft in row]
    owners = [number for number, row in enumerate(members) for _ in row]
    tokens, logprobs = draw(
        logits,
        torch.tensor([row[0].request.temperature for row in members], dtype=torch.float64),
        torch.tensor([row[0].request.top_p for row in members], dtype=torch.float64),
        torch.tensor([draft.uniform() for draft in drafts], dtype=torch.float64),
        torch.tensor(owners),
    )
    finished: list[Draft] = []
    going: list[dict[int, list[Draft]]] = [{} for _ in members]
    for draft, owner, token, logprob in zip(drafts, owners, tokens.tolist(), logprobs.tolist(), strict=True):
        if draft.accept(token, logprob):
            finished.append(draft)
        else:
            going[owner].setdefault(token if share else len(going[owner]), []).append(draft)
    return finished, [list(row.values()) for row in going]


class CohortDecoding:
    """The loop over one session's drafts."""

    def __init__(self, decoder: CohortDecoder) -> None:
        self._decoder = decoder
        self._pending: deque[Unit] = deque()
        self._cohorts: list[Cohort] = []
        self._crowded = False
        """Rows had to leave for want of memory, and none has finished since."""

    @property
    def busy(self) -> bool:
        return bool(self._pending or self._cohorts)

    def add(self, groups: Sequence[Sequence[Draft]]) -> None:
        if not self.busy and self._decoder.lean is not None:
            self._decoder.lean.refresh()  # the weights may have been trained since something was last decoded
        self._pending.extend(plan_units(groups, self._decoder.max_rows))

    def advance(self) -> list[Draft]:
        decoder, finished = self._decoder, list[Draft]()
        # After a preemption nobody enters until somebody has left: rows would only push each other out.
        if not (self._crowded and self._cohorts):
            begun: list[Cohort] = []
            for units in decoder.admissions(self._pending, self._cohorts):
                cohort, done = decoder.prefill(units, decoder.room(units))
                finished += done
                if cohort is not None:
                    begun.append(cohort)
            self._cohorts += decoder.join(begun, self._cohorts)
        if self._cohorts:
            self._crowded |= decoder.make_room(self._pending, self._cohorts)
            finished += decoder.step(self._cohorts)
            self._cohorts = [cohort for cohort in self._cohorts if cohort.rows]
        if finished:
            self._crowded = False
            decoder.count(finished)
        return finished


def common_start(contexts: Sequence[Sequence[int]]) -> int:
    """Return how many tokens all contexts begin with; each keeps one more of its own, to be continued from."""
    most = min(map(len, contexts)) - 1
    first, last = min(contexts, key=list), max(contexts, key=list)
    return next((place for place in range(most) if first[place] != last[place]), most)


def _innermost(model: Any) -> Any:
    """Return the transformers model inside a PEFT wrapper, or the model itself."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model
