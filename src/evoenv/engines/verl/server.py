"""What runs in verl's vLLM server actors: draw one sample, say whether all is well, end cleanly."""

from __future__ import annotations

import inspect
import os
import time
from array import array
from dataclasses import dataclass
from typing import Any

import ray
from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer, vLLMReplica
from vllm import SamplingParams
from vllm.inputs import TokensPrompt
from vllm.sampling_params import RequestOutputKind


@dataclass(frozen=True, slots=True)
class Drawn:
    """One response as it comes from a server: arrays, because a step of the paper has millions of tokens."""

    token_ids: array[int]
    logprobs: array[float]
    """Empty unless they were asked for."""
    finish_reason: str
    """`stop`, `length` or `abort`."""
    version: int
    finished: float
    """By the server's clock: calls that are ready at the same time are put in order by it."""


class EvoServer(vLLMHttpServer):  # type: ignore[misc]  # verl has no types
    """verl's server with a call that tells "stop" from "length" and asks for the output once, at the end.

    `ray.cancel` of a call gives the request up inside vLLM.
    """

    async def draw(self, prompt_ids: list[int], params: dict[str, Any], request_id: str, logprobs: bool) -> Drawn:
        wanted = SamplingParams(
            **params,
            logprobs=0 if logprobs else None,  # 0: of the sampled token alone
            output_kind=RequestOutputKind.FINAL_ONLY,
            detokenize=bool(params.get("stop")),  # texts are made from the ids on the driver
        )
        final = None
        async for output in self.engine.generate(TokensPrompt(prompt_token_ids=prompt_ids), wanted, request_id):
            final = output
        version = int(self.global_steps or 0)
        if final is None or not final.outputs:
            return Drawn(array("i"), array("d"), "abort", version, time.time())
        answer = final.outputs[0]
        token_ids = array("i", answer.token_ids)
        steps = answer.logprobs or []
        return Drawn(
            token_ids,
            array("d", (step[token].logprob for token, step in zip(token_ids, steps, strict=False))),
            str(answer.finish_reason),
            version,
            time.time(),
        )

    async def check(self) -> int:
        """Raise if the engine is dead; else the number of this process."""
        await self.engine.check_health()
        return os.getpid()

    async def stop(self) -> None:
        """End vLLM's own processes before the actor is killed: they would outlive it."""
        takes_time = "timeout" in inspect.signature(self.engine.shutdown).parameters  # not in every version of vLLM
        self.engine.shutdown(**({"timeout": 10} if takes_time else {}))


class EvoReplica(vLLMReplica):  # type: ignore[misc]
    """One server, made of `EvoServer` instead of verl's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.server_class = ray.remote(EvoServer)
