"""Any OpenAI-compatible server as the policy: it samples, and never trains.

Each sample is a request of its own, several in flight at a time, delivered as they come. When a budget is used up or
the server gives a final no, nothing new is sent, what is in flight is still delivered, and only then the error is
raised: no paid answer is lost. A second server may answer as the solver; concurrency and budgets are shared.

`token_ids` and `logprobs` are empty (servers need not know them). Reasoning that a server returns apart from the
answer is put back in front of it as `<think>…</think>`.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from evoenv.config import EndpointConfig, ModelConfig
from evoenv.durable import replace_file
from evoenv.engines.endpoint.chat_api import FIRST_PAUSE_S, ChatApi, Completion, RequestRefused
from evoenv.engines.requests import check_requests, wanted_indices
from evoenv.errors import BudgetExhausted, PolicyError
from evoenv.objective import Batch
from evoenv.records import Request, Sample

log = logging.getLogger(__name__)

STATE_FILE = "endpoint.json"
KEY, SOLVER_KEY = "OPENAI_API_KEY", "EVOENV_SOLVER_API_KEY"
"""Where the keys are; the first goes only to the first server, and to a solver at the same address."""


@dataclass(slots=True)
class Spending:
    """What a policy has used so far, and the part of it that a solver of its own has."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    solver_requests: int = 0
    solver_prompt_tokens: int = 0
    solver_completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def add(self, completion: Completion, *, by_solver: bool) -> None:
        self.requests += 1
        self.prompt_tokens += completion.prompt_tokens
        self.completion_tokens += completion.completion_tokens
        if by_solver:
            self.solver_requests += 1
            self.solver_prompt_tokens += completion.prompt_tokens
            self.solver_completion_tokens += completion.completion_tokens

    def cost(self, config: EndpointConfig) -> float:
        author = (self.prompt_tokens - self.solver_prompt_tokens) * config.input_price
        author += (self.completion_tokens - self.solver_completion_tokens) * config.output_price
        solver = self.solver_prompt_tokens * config.solver_input_price
        solver += self.solver_completion_tokens * config.solver_output_price
        return (author + solver) / 1e6


class EndpointPolicy:
    def __init__(
        self,
        model: ModelConfig,
        endpoint: EndpointConfig | None = None,
        *,
        api_key: str | None = None,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        """`api_key`: else the environment's OPENAI_API_KEY, else none (local servers)."""
        self.config = endpoint or EndpointConfig()

        def open_api(base_url: str, name: str, key: str | None, key_name: str) -> ChatApi:
            return ChatApi(
                base_url,
                name,
                key=key,
                key_name=key_name,
                timeout_s=self.config.timeout_seconds,
                retries=self.config.retries,
                connections=max(1, self.config.concurrency),
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
        self.spending = Spending()
        self._lock = threading.Lock()

    @property
    def trainable(self) -> bool:
        return False

    def check(self) -> None:
        """Contact the servers: raises EndpointError where one is dead, refuses the key or does not know its model."""
        for api in self._apis():
            names = api.models()
            if names and api.model not in names:
                raise api.unknown_model("not in its list")

    def _apis(self) -> list[ChatApi]:
        return [self._api, *([self._solver] if self._solver else [])]

    # ------------------------------------------------------------------ sampling

    def sample(self, requests: Sequence[Request]) -> Iterator[Sample]:
        check_requests(requests)
        return self._samples([(request, index) for request in requests for index in wanted_indices(request)])

    def _samples(self, tasks: list[tuple[Request, int]]) -> Iterator[Sample]:
        pending = deque(tasks)
        results: queue.Queue[Sample | Exception | None] = queue.Queue()
        stop = threading.Event()
        flying = 0

        def next_task() -> tuple[Request, int] | None:
            nonlocal flying
            with self._lock:
                if stop.is_set() or not pending or self._exhausted(flying):
                    return None
                flying += 1
                return pending.popleft()

        def work() -> None:
            nonlocal flying
            try:
                while task := next_task():
                    try:
                        results.put(self._ask(*task, stop))
                    finally:
                        with self._lock:
                            flying -= 1
            except Exception as error:  # handed to the caller's thread, which raises it
                stop.set()
                results.put(error)
            finally:
                results.put(None)

        count = min(self.config.concurrency, len(tasks))
        workers = [threading.Thread(target=work, name=f"endpoint-{number}", daemon=True) for number in range(count)]
        for worker in workers:
            worker.start()
        failure: Exception | None = None
        try:
            running = len(workers)
            while running:
                result = results.get()
                if result is None:
                    running -= 1
                elif isinstance(result, Exception):
                    failure = failure or result
                else:
                    yield result
        finally:
            stop.set()  # also where the caller stops iterating
        if failure is not None:
            raise failure
        if pending:
            raise BudgetExhausted(self._budget_message(len(tasks) - len(pending), len(tasks)))

    def _ask(self, request: Request, index: int, stop: threading.Event) -> Sample:
        solver = self._solver if request.role == "solver" else None
        try:
            completion = (solver or self._api).complete(request, index, stop)
        except RequestRefused as error:
            used = self.spending.solver_requests
            if not (used if solver else self.spending.requests - used):
                raise  # the very first answer: more likely the settings than this one prompt
            log.warning("%s; recorded as a failed sample", error)
            completion = Completion("", "error", 0, 0)
        with self._lock:
            self.spending.add(completion, by_solver=solver is not None)
        return Sample(
            request_id=request.id,
            index=index,
            text=completion.text,
            finish_reason=completion.finish_reason,
            temperature=request.temperature or 1.0,
        )

    # ------------------------------------------------------------------ budgets

    def _exhausted(self, flying: int) -> bool:
        """True once what was spent, and what is in flight at the usual price, reaches a budget."""
        share = 1 + flying / self.spending.requests if self.spending.requests else 1.0
        return bool(
            (self.config.token_budget and self.spending.tokens * share >= self.config.token_budget)
            or (self.config.money_budget and self.spending.cost(self.config) * share >= self.config.money_budget)
        )

    def _budget_message(self, delivered: int, wanted: int) -> str:
        spent = f"{self.spending.tokens} tokens"
        if self.config.money_budget:
            spent += f", {self.spending.cost(self.config):.4f} of endpoint.money_budget = {self.config.money_budget:g}"
        if self.config.token_budget:
            spent += f" of endpoint.token_budget = {self.config.token_budget}"
        return f"budget used up: {spent}; {delivered} of {wanted} samples were delivered; raise it to go on from here"

    # ------------------------------------------------------------------ the rest of the port

    def update(self, batch: Batch) -> Mapping[str, float]:
        raise PolicyError(
            f"the policy at {self._api.base_url} is a server and cannot be trained; "
            "use `evoenv synth` with it, or a local model with `evoenv train`"
        )

    def save(self, directory: Path) -> None:
        """What was spent, so that a resumed run does not start its budget anew."""
        with self._lock:
            spent = asdict(self.spending)
        replace_file(directory / STATE_FILE, [json.dumps(spent).encode()])

    def load(self, directory: Path) -> None:
        path = directory / STATE_FILE
        try:
            self.spending = Spending(**{name: int(value) for name, value in json.loads(path.read_text()).items()})
        except OSError as error:
            raise PolicyError(f"cannot load {path}: {error.strerror or error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise PolicyError(f"{path} is not an endpoint policy's state: {error}") from error

    def close(self) -> None:
        for api in self._apis():
            api.close()
