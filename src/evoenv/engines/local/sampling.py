"""A sampling session on the model of this process: nothing runs but while somebody waits for samples."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evoenv.engines.local.draft import Draft
from evoenv.engines.requests import check_submission, wanted_indices
from evoenv.errors import PolicyError
from evoenv.ports import Sampling, Traffic
from evoenv.records import Request, Sample

if TYPE_CHECKING:
    from evoenv.engines.local.policy import LocalPolicy


class LocalSampling(Sampling):
    """Requests join the batch that is being decoded; every `collect` decodes until something is finished."""

    def __init__(self, policy: LocalPolicy) -> None:
        self._policy = policy
        self._decoding = self._policy.decoder.begin()
        self._ids: set[str] = set()
        self._unfinished: list[Draft] = []
        self._weights = policy.weights
        self._version = policy.version
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def traffic(self) -> Traffic:
        """What is being written; may be asked from another thread."""
        drafts = self._unfinished
        return Traffic(len(drafts), sum(len(draft.tokens) for draft in drafts), 0)

    def submit(self, requests: Sequence[Request]) -> None:
        check_submission(self, self._policy, requests, self._ids)
        if not self._decoding.busy:
            self._weights, self._version = self._policy.weights, self._policy.version
        groups = []
        for request in requests:
            prompt = self._policy.encode(request.messages)
            prompt_ids = array("i", prompt.token_ids)
            groups.append(
                [
                    Draft(request, index, prompt_ids, self._policy.rules, prompt.lead)
                    for index in wanted_indices(request)
                ]
            )
        self._decoding.add(groups)
        self._unfinished = [*self._unfinished, *(draft for group in groups for draft in group)]
        self._ids.update(request.id for request in requests)

    def collect(self, timeout: float | None = None) -> Sequence[Sample]:
        until = None if timeout is None else time.monotonic() + timeout
        while self._decoding.busy:
            if self._weights != self._policy.weights:
                # Half of a group from each of two models would make its log-probabilities lies.
                raise PolicyError("the weights changed while samples were being drawn; finish iterating before update")
            if finished := self._decoding.advance():
                self._unfinished = [draft for draft in self._unfinished if draft.finish_reason is None]
                return [draft.sample(self._version) for draft in finished]
            if until is not None and time.monotonic() >= until:
                break
        return ()

    def close(self) -> None:
        self._closed = True
        self._unfinished = []
        self._decoding = self._policy.decoder.begin()
