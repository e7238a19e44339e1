"""Any OpenAI-compatible server as the policy: it samples, and never trains.

A second server may answer as the solver; concurrency and budgets are shared. Samples have no rollout; their token count
is the server's, or a guess by length if it does not say. Reasoning that a server returns apart from the answer is put
back in front of it as `<think>…</think>`.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from evoenv.config import EndpointConfig, ModelConfig
from evoenv.engines.endpoint.chat_api import FIRST_PAUSE_S, ChatApi, Completion, RequestRefused
from evoenv.engines.endpoint.sampling import EndpointSampling
from evoenv.engines.endpoint.spending import EndpointSpending
from evoenv.engines.endpoint.traffic import EndpointTraffic
from evoenv.engines.requests import check_requests
from evoenv.errors import PolicyError
from evoenv.objective import Batch
from evoenv.ports import Policy, Traffic
from evoenv.ranges import check_ranges
from evoenv.records import Request, Sample

log = logging.getLogger(__name__)

KEY, SOLVER_KEY = "OPENAI_API_KEY", "EVOENV_SOLVER_API_KEY"
"""Where the keys are; the first goes only to the first server, and to a solver at the same address."""


class EndpointPolicy(Policy):
    def __init__(
        self,
        model: ModelConfig,
        endpoint: EndpointConfig | None = None,
        *,
        api_key: str | None = None,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        """Prepare the calls. `api_key` is by default the variable OPENAI_API_KEY; local servers need none."""
        self.config = endpoint or EndpointConfig()
        check_ranges({"endpoint": msgspec.structs.asdict(self.config)})

        def open_api(base_url: str, name: str, key: str | None, key_name: str) -> ChatApi:
            return ChatApi(
                base_url,
                name,
                key=key,
                key_name=key_name,
                timeout_s=self.config.timeout_seconds,
                retries=self.config.retries,
                connections=self.config.concurrency,
                first_pause_s=first_pause_s,
            )

        key = api_key or os.environ.get(KEY) or None
        self._api = open_api(model.base_url, model.name, key, KEY)
        self._solver: ChatApi | None = None
        if self.config.solver_model:
            place = self.config.solver_base_url or model.base_url
            # one server's key is never shown to another
            own = key if urlsplit(place)[:2] == urlsplit(model.base_url)[:2] else None
            self._solver = open_api(place, self.config.solver_model, os.environ.get(SOLVER_KEY) or own, SOLVER_KEY)
        self.spending = EndpointSpending(self.config)
        self._traffic = EndpointTraffic()
        self._refusals = {True: 0, False: 0}
        """Requests that were refused in this process: of the solver's server, and of the author's."""
        self._refusing = threading.Lock()

    @property
    def traffic(self) -> Traffic:
        """What is under way at this moment."""
        return self._traffic.now()

    @property
    def trainable(self) -> bool:
        return False

    @property
    def exact_replay(self) -> bool:
        return True  # there is nothing to replay

    @property
    def version(self) -> int:
        return 0

    def contact(self) -> None:
        """Ask the servers for their models; EndpointError if one is dead, refuses the key or does not know its own."""
        for api in self._apis():
            names = api.models()
            if names and api.model not in names:
                raise api.unknown_model("not in its list")

    def _apis(self) -> list[ChatApi]:
        return [self._api, *([self._solver] if self._solver else [])]

    # ------------------------------------------------------------------ sampling

    def check(self, requests: Sequence[Request]) -> None:
        check_requests(requests)

    def sampling(self) -> EndpointSampling:
        return EndpointSampling(self)

    def ask(self, request: Request, index: int, stop: threading.Event) -> Sample:
        """Get one answer, paid for; called from several threads."""
        solver = self._solver if request.role == "solver" else None
        try:
            with self._traffic.asking() as answer:
                completion = (solver or self._api).complete(request, index, stop, answer.heard, answer.retrying)
        except RequestRefused as error:
            if self._is_hopeless(by_solver=solver is not None):
                raise
            log.warning("%s; recorded as a failed sample", error)
            completion = Completion("", "error", 0, 0)
        self.spending.add(completion, by_solver=solver is not None)
        return Sample(request.id, index, completion.text, completion.finish_reason, tokens=completion.completion_tokens)

    def _is_hopeless(self, *, by_solver: bool) -> bool:
        """Count a refusal; say whether it is more likely the settings that are refused than this one prompt.

        They are if a server refuses a second time before it has answered at all, or has nothing else to answer.
        """
        with self._refusing:
            earlier = self._refusals[by_solver]
            self._refusals[by_solver] += 1
            used = self.spending.solver_requests
            answered = (used if by_solver else self.spending.requests - used) > earlier
            return not answered and (earlier > 0 or not self._traffic.now().waiting)

    # ------------------------------------------------------------------ the rest of the port

    def update(self, batch: Batch) -> Mapping[str, float]:
        raise self._cannot("be trained")

    def save(self) -> str:
        raise self._cannot("be saved")

    def load(self, reference: str) -> None:
        raise self._cannot("load a checkpoint")

    def drop(self, reference: str) -> None:
        """Do nothing: there are no checkpoints."""

    def saved(self) -> list[str]:
        return []

    def close(self) -> None:
        for api in self._apis():
            api.close()

    def _cannot(self, action: str) -> PolicyError:
        return PolicyError(
            f"the policy at {self._api.base_url} is a server and cannot {action}; "
            "use `evoenv synth` with it, or a local model with `evoenv train`"
        )
