"""A sampling session on the model of this process: nothing runs but while somebody waits for samples."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evoenv.engines.local.draft import Draft
from evoenv.engines.requests import check_submission, wanted_indices
from evoenv.errors import PolicyError
from evoenv.ports import Sampling
from evoenv.records import Request, Sample

if TYPE_CHECKING:
    from evoenv.engines.local.policy import LocalPolicy


class LocalSampling(Sampling):
    """Requests join the batch that is being decoded; every `collect` decodes until something is finished."""

    def __init__(self, policy: LocalPolicy) -> None:
        self._policy = policy
        self._decoding = self._policy.decoder.begin()
        self._ids: set[str] = set()
        self._weights = policy.weights
        self._version = policy.version
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

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
        self._ids.update(request.id for request in requests)

    def collect(self, timeout: float | None = None) -> Sequence[Sample]:
        until = None if timeout is None else time.monotonic() + timeout
        while self._decoding.busy:
            if self._weights != self._policy.weights:
                # Half of a group from each of two models would make its log-probabilities lies.
                raise PolicyError("the weights changed while samples were being drawn; finish iterating before update")
            if finished := self._decoding.advance():
                return [draft.sample(self._version) for draft in finished]
            if until is not None and time.monotonic() >= until:
                break
        return ()

    def close(self) -> None:
        self._closed = True
        self._decoding = self._policy.decoder.begin()
