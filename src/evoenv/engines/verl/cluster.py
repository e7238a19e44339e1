"""Ray, the training processes, the vLLM servers beside them, and the weights that go from one to the other.

| of verl                      | what it does here                                                          |
|------------------------------|----------------------------------------------------------------------------|
| `RayResourcePool`            | says where processes may run                                               |
| `RayWorkerGroup` (EvoWorker) | FSDP2 actor and frozen reference; one method call is one call on every rank |
| `vLLMReplica` (EvoReplica)   | one vLLM server, a Ray actor, for every `tensor_parallel` devices          |
| `CheckpointEngineManager`    | brings the trainer's weights to the servers; puts them to sleep            |
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import ray
from ray.util import remove_placement_group
from verl.checkpoint_engine import CheckpointEngineManager
from verl.protocol import DataProtoFuture
from verl.single_controller.ray import RayClassWithInitArgs, RayResourcePool, RayWorkerGroup
from verl.utils.config import omega_conf_to_dataclass

from evoenv.config import Config
from evoenv.engines.verl.joining import COLOCATED, check_offer, join_ray
from evoenv.engines.verl.limits import EngineLost, last_line, within
from evoenv.engines.verl.server import EvoReplica
from evoenv.engines.verl.settings import verl_config
from evoenv.engines.verl.worker import EvoWorker, role_loss

log = logging.getLogger(__name__)
T = TypeVar("T")

ANSWER_SECONDS = 30.0
"""For calls that need no work: asking whether somebody is there."""
MEETING_PORTS = range(20_000, 32_000)
"""Where training processes meet: below the ports that a system hands to whoever asks, since verl looks for a free one
some time before it is used. Engines of one machine begin to look at different ones."""
NAME_SECONDS = 60.0
"""Until Ray gives the name of a killed actor free."""


class Cluster:
    """The processes of one engine. After an error of a training call it is lost, and only `close` is of use."""

    def __init__(self, config: Config, model_path: str, context: int) -> None:
        self._patience = config.engine.patience_seconds
        self.world = config.engine.world
        self.adapter = config.training.lora_rank > 0
        """With LoRA the reference is the model with the adapter switched off: no second copy."""
        self.replicas: list[EvoReplica] = []
        self.workers: Any = None
        self._pool: Any = None
        self._awake = False
        self._closed = False
        self._whereabouts: list[tuple[str, int]] = []
        self.tree = verl_config(config, model_path, context)
        self._joined = join_ray(config)
        try:
            check_offer(config)
            self._start(config)
        except BaseException:
            self.close()
            raise

    def _start(self, config: Config) -> None:
        rollout = self.tree.actor_rollout_ref.rollout
        self._pool = RayResourcePool(
            process_on_nodes=[config.engine.devices_per_node] * config.engine.nodes,
            use_gpu=True,
            max_colocate_count=COLOCATED,
        )
        frozen = config.training.kl > 0 and not self.adapter
        actor = RayClassWithInitArgs(
            cls=ray.remote(EvoWorker),
            config=self.tree.actor_rollout_ref,
            role="actor_rollout_ref" if frozen else "actor_rollout",
        )
        self.workers = self._wait(
            "placing the training processes",
            partial(
                RayWorkerGroup,
                resource_pool=self._pool,
                ray_cls_with_init=actor,
                device_name=self.tree.trainer.device,
                master_port_range=[MEETING_PORTS.start + os.getpid() % 10_000, MEETING_PORTS.stop],
            ),
        )
        self._whereabouts = self.call("starting the training processes", "whereabouts")
        self.call("loading the model", "init_model")
        self.call("handing out the loss", "set_loss_fn", partial(role_loss, config=config.training))
        self.call("grouping weights", "group_weights", config.training.weight_decay, config.training.gain_rate)
        self.replicas = self._launch(range(self.world // rollout.tensor_model_parallel_size))
        self._sync = CheckpointEngineManager(
            config=omega_conf_to_dataclass(rollout.checkpoint_engine), actor_wg=self.workers, replicas=self.replicas
        )
        self._awake = True  # as launched; a resumed run may begin with an update, which needs their memory
        self.sleep()

    def _wait(self, work: str, call: Callable[..., T], *arguments: Any) -> T:
        """Do some work with a limit; whatever goes wrong in it loses the engine."""
        try:
            return within(self._patience, work, call, *arguments, logs=self.logs)
        except EngineLost:
            raise
        except Exception as error:
            raise EngineLost(
                f"{work} failed: {type(error).__name__}: {last_line(error)}. The whole text is in {self.logs}; "
                "continue with --resume"
            ) from error

    @property
    def logs(self) -> str:
        """Where to look, in words: Ray names a process's files by its number."""
        node = getattr(ray._private.worker, "_global_node", None)
        folder = f"{node.get_session_dir_path()}/logs" if node is not None else "Ray's session directory, logs"
        ranks = ", ".join(f"{number} on {host}" for host, number in self._whereabouts)
        return f"{folder} (files end in the process's number; training processes: {ranks or 'none yet'})"

    # ------------------------------------------------------------------ the trainers

    def call(self, work: str, method: str, *arguments: Any) -> Any:
        """Call a method on every rank and wait for all.

        One rank may fail while the others wait in a collective: after an error nothing more can be asked of them.
        """

        def ask() -> Any:
            answer = getattr(self.workers, method)(*arguments)
            return answer.get() if isinstance(answer, DataProtoFuture) else answer

        return self._wait(work, ask)

    # ------------------------------------------------------------------ the servers

    def _launch(self, ranks: Iterable[int]) -> list[EvoReplica]:
        rollout = self.tree.actor_rollout_ref.rollout
        replicas = [
            EvoReplica(
                replica_rank=rank,
                config=rollout,
                model_config=self.tree.actor_rollout_ref.model,
                gpus_per_node=rollout.n_gpus_per_node,
            )
            for rank in ranks
        ]

        async def launch() -> None:
            await asyncio.gather(*(replica.init_hybrid(self.workers) for replica in replicas))

        self._wait("starting the vLLM servers", lambda: asyncio.run(launch()))
        return replicas

    def publish(self, version: int) -> None:
        """Send the trainer's weights to every server. Nothing may be sampling."""
        self._wait("sending weights to the servers", partial(self._sync.update_weights, global_steps=version))
        self._awake = True

    def sleep(self) -> None:
        """Give the devices to the trainer; only new weights wake the servers again."""
        if self._awake:
            self._wait("putting the servers to sleep", self._sync.sleep_replicas)
            self._awake = not self.tree.actor_rollout_ref.rollout.free_cache_engine

    def revive(self, *, if_silent: bool = True) -> list[int]:
        """Start new servers in the place of dead ones and return their ranks; they have no weights yet.

        `if_silent`: one that says nothing within `ANSWER_SECONDS` counts as dead, too.
        """
        dead = _dead_ones(self.replicas, if_silent=if_silent)
        for rank in dead:
            for server in self.replicas[rank].servers:
                with contextlib.suppress(Exception):  # it is dead, after all
                    ray.kill(server)
        if dead:
            self._wait("ending the dead servers", _wait_for_names, dead)
            for rank, replica in zip(dead, self._launch(dead), strict=True):
                self.replicas[rank] = replica
            self.call("looking up the new servers", "forget_server")
            self._sync.replicas = self.replicas
            self._awake = True  # the new ones are
        return dead

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """End every process; servers first, because their children outlive them otherwise."""
        if self._closed:
            return
        self._closed = True
        servers = [server for replica in self.replicas for server in replica.servers]
        with contextlib.suppress(Exception):  # already dead: nothing to ask
            ray.wait([server.stop.remote() for server in servers], num_returns=len(servers), timeout=ANSWER_SECONDS)
        for actor in (*servers, *(self.workers.workers if self.workers is not None else ())):
            with contextlib.suppress(Exception):
                ray.kill(actor)
        for group in getattr(self._pool, "pgs", None) or []:
            with contextlib.suppress(Exception):
                remove_placement_group(group)
        if self._joined:
            ray.shutdown()


def _dead_ones(replicas: Sequence[EvoReplica], *, if_silent: bool) -> list[int]:
    """Ask all servers at once whether they live; return the ranks of those that do not."""
    asked = [replica.server_handle.check.remote() for replica in replicas]
    answered, _ = ray.wait(asked, num_returns=len(asked), timeout=ANSWER_SECONDS)

    def lives(answer: Any) -> bool:
        if answer not in answered:
            return not if_silent
        try:
            return bool(ray.get(answer))
        except Exception:  # whatever a dead actor or a dead engine raises
            return False

    return [rank for rank, answer in enumerate(asked) if not lives(answer)]


def _wait_for_names(ranks: Iterable[int]) -> None:
    """Wait until no actor has the name of one of these servers any more."""
    until = time.monotonic() + NAME_SECONDS
    for rank in ranks:
        with contextlib.suppress(ValueError):  # raised if nobody has the name
            while time.monotonic() < until:
                ray.get_actor(f"vllm_server_{rank}_0")
                time.sleep(0.2)
