"""What runs in verl's training processes: our loss, and our optimiser's groups. Importable there."""

from __future__ import annotations

import importlib
import os
import socket
from pathlib import Path
from typing import Any

import torch
import zmq
from safetensors.torch import load_file
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from verl.single_controller.base.decorator import Dispatch, register
from verl.workers.engine_workers_tinker import TinkerActorRolloutRefWorker

from evoenv.config import TrainingConfig
from evoenv.engines.verl.columns import ADVANTAGES, KL_MEANS, OLD, REFERENCE, SAMPLED, WEIGHTS
from evoenv.engines.verl.joining import SYNC_TIMEOUT_MS
from evoenv.training.loss import weighted_loss

PLATFORM_MODULES = "VERL_USE_EXTERNAL_MODULES"
"""verl's own: modules that register a platform. One that has `prepare_trainer` is told before a model is built."""


class EvoWorker(TinkerActorRolloutRefWorker):  # type: ignore[misc]  # verl has no types
    """verl's hybrid worker (actor, frozen reference, handle on its server) with split training calls."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def init_model(self) -> None:
        for name in filter(None, os.environ.get(PLATFORM_MODULES, "").split(",")):
            prepare = getattr(importlib.import_module(name), "prepare_trainer", None)
            if prepare is not None:
                prepare()
        # New sockets inherit these: a failed weight sync ends in an error instead of never.
        for option in (zmq.RCVTIMEO, zmq.SNDTIMEO):
            zmq.Context.instance().setsockopt(option, int(os.environ.get(SYNC_TIMEOUT_MS, "300000")))
        super().init_model()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def group_weights(self, weight_decay: float, gain_rate: float) -> None:
        """Give matrices and gains groups of their own: gains and biases are not decayed and may learn faster."""
        optimizer = self.actor.engine.optimizer
        (group,) = optimizer.param_groups
        weights = group["params"]
        common = {key: value for key, value in group.items() if key != "params"}
        matrices = {**common, "params": [w for w in weights if w.ndim >= 2], "weight_decay": weight_decay, "times": 1.0}
        gains = {**common, "params": [w for w in weights if w.ndim < 2], "weight_decay": 0.0, "times": gain_rate}
        optimizer.param_groups[:] = [part for part in (matrices, gains) if part["params"]]

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def step_optimizer(self, rate: float) -> dict[str, float]:
        """Clip, skip the step if the gradient is not finite, else step at `rate`; forget the gradients."""
        engine = self.actor.engine
        with engine.train_mode(zero_grad_on_exit=True):
            for group in engine.optimizer.param_groups:
                group["lr"] = rate * group.get("times", 1.0)
            norm = engine.optimizer_step()
        return {"grad_norm": float(norm)}

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def load_export(self, directory: str) -> None:
        """Take whole weights, written by any number of devices, and forget what the optimiser knew."""
        weights: dict[str, Any] = {}
        for path in sorted(Path(directory).glob("*.safetensors")):
            weights |= load_file(path)
        if not weights:  # torch takes an empty dictionary for nothing to do
            raise ValueError(f"{directory} has no weights (*.safetensors)")
        engine = self.actor.engine
        with engine.train_mode(zero_grad_on_exit=True):
            options = StateDictOptions(full_state_dict=True, strict=False)
            keys = set_model_state_dict(engine.module, weights, options=options)
            # Tied output layers are not in the files.
            if missing := set(keys.missing_keys) - {"lm_head.weight"}:
                raise ValueError(f"{directory} lacks {len(missing)} weights, first {min(missing)}")
            engine.optimizer.state.clear()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def forget_server(self) -> None:
        """Look the server up again: verl keeps the handle of the first one, also after its death."""
        self.rollout.server_handle = None

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def whereabouts(self) -> tuple[str, int]:
        """Return the node and the number of this process."""
        return socket.gethostname(), os.getpid()


def role_loss(
    model_output: dict[str, Any], data: Any, dp_group: Any = None, *, config: TrainingConfig
) -> tuple[torch.Tensor, dict[str, float]]:
    """Compute one micro-batch's share of the loss (`training.loss`), as verl asks for it.

    FSDP averages gradients over the data-parallel ranks, and our weights already sum over the whole batch: hence the
    factor.
    """
    keep = data["loss_mask"].values().bool()
    loss, _, _ = weighted_loss(
        model_output["log_probs"].values()[keep].float(),
        data[SAMPLED].values()[keep],
        data[ADVANTAGES].values()[keep],
        data[REFERENCE].values()[keep].float() if config.kl > 0 else None,
        old=data[OLD].values()[keep] if OLD in data.keys() else None,  # noqa: SIM118 (not a dict)
        surrogate_weights=data[WEIGHTS].values()[keep],
        kl_means=data[KL_MEANS].values()[keep],
        config=config,
    )
    return loss * data["dp_size"], {}
