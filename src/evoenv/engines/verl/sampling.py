"""A sampling session on the vLLM servers: one call per sample, collected in the order in which they finish."""

from __future__ import annotations

import contextlib
import time
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import ray

from evoenv.engines.requests import check_submission, wanted_indices
from evoenv.engines.verl.limits import EngineLost
from evoenv.engines.verl.server import Drawn
from evoenv.errors import PolicyError
from evoenv.ports import Sampling
from evoenv.records import FinishReason, Request, Rollout, Sample, derive_seed

if TYPE_CHECKING:
    from evoenv.engines.verl.policy import VerlPolicy

SLICE_SECONDS = 0.5
"""Waits are cut into these, so that a signal is heard."""
FINISH_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length"}

Task = tuple[Request, int, int]
"""A request, the sample's index, and the server that draws it."""


class VerlSampling(Sampling):
    """Calls in flight. A group stays on one server: its prompt is computed once and then in the prefix cache."""

    def __init__(self, policy: VerlPolicy) -> None:
        self._policy = policy
        self._ids: set[str] = set()
        self._flying: dict[Any, Task] = {}
        self._suspended: list[Task] = []
        self._prompts: dict[str, array[int]] = {}
        """By request: its rollouts share one."""
        self._loads: list[int] = []
        """Tokens that each server may still have to draw."""
        self._interrupted = False
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def submit(self, requests: Sequence[Request]) -> None:
        check_submission(self, self._policy, requests, self._ids)
        if not requests:
            return
        self._policy.publish()
        self._loads = self._loads or [0] * len(self._policy.cluster.replicas)
        for request in requests:
            server = self._loads.index(min(self._loads))
            self._prompts[request.id] = array("i", self._policy.encode(request.messages).token_ids)
            for index in wanted_indices(request):
                self._loads[server] += request.max_tokens
                self._draw((request, index, server))
        self._ids.update(request.id for request in requests)

    def _draw(self, task: Task) -> None:
        request, index, server = task
        params: dict[str, Any] = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "max_tokens": request.max_tokens,
            "seed": derive_seed("verl", request.seed, index) % 2**31,
            # As the local engine: also special tokens that a stop string names, which no text shows.
            "stop_token_ids": sorted(self._policy.rules.ends_for(request.stop)),
        }
        if request.stop:
            params["stop"] = list(request.stop)
        handle = self._policy.cluster.replicas[server].server_handle
        name = f"{request.id}-{index}-{uuid4().hex[:8]}"
        call = handle.draw.remote(self._prompts[request.id].tolist(), params, name, request.trains)
        self._flying[call] = task
        self._policy.meter.begin(server)

    def collect(self, timeout: float | None = None) -> Sequence[Sample]:
        patience = self._policy.patience
        until = time.monotonic() + (patience if timeout is None else min(timeout, patience))
        while True:
            if self._interrupted:
                raise PolicyError("the weights changed while samples were being drawn; finish iterating before update")
            if not self._flying:
                return ()
            left = until - time.monotonic()
            ray.wait(list(self._flying), num_returns=1, timeout=max(0.0, min(left, SLICE_SECONDS)))
            ready, _ = ray.wait(list(self._flying), num_returns=len(self._flying), timeout=0)
            if samples := self._finish(ready):
                return samples
            if ready or left > 0:
                continue
            if timeout is not None and timeout < patience:
                return ()
            raise EngineLost(
                f"no sample finished within {patience:g} s, and {len(self._flying)} are open: a server hangs. Look "
                f"into {self._policy.cluster.logs}; raise engine.patience_seconds, or continue with --resume"
            )

    def _finish(self, calls: Sequence[Any]) -> list[Sample]:
        """Turn finished calls into samples, in the order of finishing; those of a dead server are drawn again."""
        answers: list[tuple[Task, Drawn]] = []
        failed: tuple[Task, Exception] | None = None
        for call in calls:
            task = self._flying.pop(call)
            try:
                answers.append((task, ray.get(call)))
            except Exception as error:  # the actor's death, the engine's, or what it raised
                self._suspended.append(task)
                self._policy.meter.end(task[2])
                failed = task, error
        for (request, _, server), drawn in answers:
            self._loads[server] -= request.max_tokens
            self._policy.meter.end(server, len(drawn.token_ids))
        if failed is not None:
            self._policy.revive(*failed)
        answers.sort(key=lambda answer: answer[1].finished)
        return [self._sample(*task, drawn) for task, drawn in answers]

    def _sample(self, request: Request, index: int, server: int, drawn: Drawn) -> Sample:
        policy = self._policy
        if drawn.finish_reason not in FINISH_REASONS or not drawn.token_ids:
            raise PolicyError(
                f"vLLM server {server} gave request {request.id!r} up ({drawn.finish_reason}); look into "
                f"{policy.cluster.logs}, or continue with --resume"
            )
        finish_reason = FINISH_REASONS[drawn.finish_reason]
        ended = drawn.token_ids[-1] in policy.rules.ends_for(request.stop)
        text = policy.rules.decode(drawn.token_ids[:-1] if ended else drawn.token_ids)
        cuts = [position for stop in request.stop if (position := text.find(stop)) >= 0]
        rollout = None
        if request.trains and policy.trainable:
            prompt_ids = self._prompts[request.id]
            rollout = Rollout.of(prompt_ids, drawn.token_ids, drawn.logprobs, request.temperature or 1.0)
        return Sample(
            request_id=request.id,
            index=index,
            text=policy.encode(request.messages).lead + text[: min(cuts, default=None)],
            finish_reason="stop" if cuts else finish_reason,
            tokens=len(drawn.token_ids),
            version=drawn.version,
            rollout=rollout,
        )

    # ------------------------------------------------------------------ what the policy asks of its sessions

    def suspend(self) -> None:
        """Give up all calls and remember what they were for."""
        self._suspended += self._flying.values()
        self._give_up()

    def resume(self) -> None:
        """Draw anew what was given up; the same seeds give the same samples."""
        tasks, self._suspended = self._suspended, []
        for task in tasks:
            self._draw(task)

    def interrupt(self) -> None:
        """Give up all calls for good: the weights are about to change."""
        self._interrupted = self._interrupted or bool(self._flying)
        self._give_up()

    def _give_up(self) -> None:
        for call, (_, _, server) in self._flying.items():
            with contextlib.suppress(Exception):  # the server, or Ray itself, may be gone
                ray.cancel(call)
            self._policy.meter.end(server)
        self._flying.clear()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._interrupted = False
            self._give_up()
