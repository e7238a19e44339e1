"""What a client sends and gets: a response to a prompt, and the prompt, then the reward."""

from openenv.core.env_server.types import Action, Observation
from pydantic import Field


class EvoEnvAction(Action):
    response: str = Field(..., description="The whole response; its last <answer>…</answer> or \\boxed{…} is scored")


class EvoEnvObservation(Observation):
    """After `reset` the task; after `step` the verdict. Never the answer."""

    prompt: str = Field(default="", description="What the solver sees: the task and how to mark the final answer")
    environment: str = Field(default="", description="Name of the environment")
    environment_id: str = Field(default="", description="Hash of its source")
    difficulty: int = Field(default=0, description="Level of the instance")
    format_ok: bool | None = Field(default=None, description="After a step: whether the response had a final answer")
