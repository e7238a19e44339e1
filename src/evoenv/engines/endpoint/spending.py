"""What a served policy has used, and what it may use."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from evoenv.config import EndpointConfig
from evoenv.engines.endpoint.chat_api import Completion
from evoenv.errors import PolicyError


class EndpointSpending:
    """Count requests and tokens, and the part of them that a solver of its own has. Thread-safe."""

    def __init__(self, config: EndpointConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self.requests = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.solver_requests = 0
        self.solver_prompt_tokens = 0
        self.solver_completion_tokens = 0

    def add(self, completion: Completion, *, by_solver: bool) -> None:
        with self._lock:
            self.requests += 1
            self.prompt_tokens += completion.prompt_tokens
            self.completion_tokens += completion.completion_tokens
            if by_solver:
                self.solver_requests += 1
                self.solver_prompt_tokens += completion.prompt_tokens
                self.solver_completion_tokens += completion.completion_tokens

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def cost(self) -> float:
        prices = self._config
        author = (self.prompt_tokens - self.solver_prompt_tokens) * prices.input_price
        author += (self.completion_tokens - self.solver_completion_tokens) * prices.output_price
        solver = self.solver_prompt_tokens * prices.solver_input_price
        solver += self.solver_completion_tokens * prices.solver_output_price
        return (author + solver) / 1e6

    @property
    def exhausted(self) -> bool:
        return self.exhausted_by(0)

    def exhausted_by(self, flying: int) -> bool:
        """Say whether what was spent, and `flying` more requests at the usual price, reaches a budget."""
        share = 1 + flying / self.requests if self.requests else 1.0
        budgets = self._config
        return bool(
            (budgets.token_budget and self.tokens * share >= budgets.token_budget)
            or (budgets.money_budget and self.cost * share >= budgets.money_budget)
        )

    def describe(self) -> str:
        """Say what was spent of which budget."""
        spent = f"{self.tokens} tokens"
        if self._config.token_budget:
            spent += f" of endpoint.token_budget = {self._config.token_budget}"
        if self._config.money_budget:
            spent += f", {self.cost:.4f} of endpoint.money_budget = {self._config.money_budget:g}"
        return spent

    # ------------------------------------------------------------------ keeping

    def snapshot(self) -> dict[str, int]:
        with self._lock:
            return {name: getattr(self, name) for name in COUNTS}

    def restore(self, counts: Mapping[str, int]) -> None:
        """Take the counts over; raise PolicyError if they are no snapshot. Those that an older version lacks are 0."""
        try:
            numbers = {name: int(value) for name, value in counts.items()}
        except (TypeError, ValueError, AttributeError) as error:
            raise PolicyError(
                f"what the run has spent cannot be read: {error}; expected {', '.join(COUNTS)}"
            ) from error
        if unknown := sorted(set(numbers) - set(COUNTS)):
            raise PolicyError(f"what the run has spent has {', '.join(unknown)}; expected {', '.join(COUNTS)}")
        with self._lock:
            for name in COUNTS:
                setattr(self, name, numbers.get(name, 0))


COUNTS = (
    "requests",
    "prompt_tokens",
    "completion_tokens",
    "solver_requests",
    "solver_prompt_tokens",
    "solver_completion_tokens",
)
