"""The client: `reset` for a task, one `step` with the response, and the reward is there."""

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.types import State

from .models import EvoEnvAction, EvoEnvObservation


class EvoEnvClient(EnvClient[EvoEnvAction, EvoEnvObservation, State]):
    """Over one WebSocket, with a session of its own on the server.

    >>> with EvoEnvClient(base_url="http://localhost:8000").sync() as client:
    ...     task = client.reset(split="test", index=0)
    ...     result = client.step(EvoEnvAction(response="<answer>42</answer>"))
    ...     print(result.reward)
    """

    def _step_payload(self, action: EvoEnvAction) -> dict[str, Any]:
        return {"response": action.response}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[EvoEnvObservation]:
        found = payload.get("observation", {})
        common = {"done": payload.get("done", False), "reward": payload.get("reward")}
        fields = {name: value for name, value in found.items() if name in EvoEnvObservation.model_fields}
        return StepResult(observation=EvoEnvObservation(**{**fields, **common}), **common)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(**payload)
