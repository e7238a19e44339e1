"""VerlPolicy: the policy port on Ray, FSDP2 and vLLM."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from weakref import WeakSet

from evoenv.config import Config
from evoenv.durable import whole_directory
from evoenv.engines.checkpoints import CheckpointFolder
from evoenv.engines.local.draft import TextRules
from evoenv.engines.local.prompts import EncodedPrompt, check_fits, encode_prompt
from evoenv.engines.requests import check_requests
from evoenv.engines.verl.cluster import Cluster
from evoenv.engines.verl.columns import sequence_length
from evoenv.engines.verl.learning import Learner
from evoenv.engines.verl.limits import EngineLost, last_line
from evoenv.engines.verl.meter import Meter
from evoenv.engines.verl.sampling import VerlSampling
from evoenv.engines.verl.settings import check_settings, longest_request, tokens_per_device
from evoenv.engines.verl.shards import EXPORT, Saved, cannot_write, read_state, write_state
from evoenv.errors import ModelError, PolicyError
from evoenv.models.loading import describe_model
from evoenv.models.resolve import load_tokenizer, resolve_model
from evoenv.objective import Batch, Row, check_objective
from evoenv.ports import Policy
from evoenv.records import Message, Request
from evoenv.training.batching import check_vocabulary
from evoenv.training.loss import check_loss_config
from evoenv.training.optimizer import check_optimizer_config, learning_rate

log = logging.getLogger(__name__)

REMEMBERED_PROMPTS = 512
MAX_REVIVALS = 3
"""Of servers, between two updates: what dies so often is not bad luck."""


class VerlPolicy(Policy):
    """One model on several devices: sampled by vLLM servers, trained by FSDP2 processes on the same devices.

    Weights go to the servers lazily, before the first sample after an update. Whatever fails in a training call ends
    the engine, with an error that says so: the run resumes from its last checkpoint.
    """

    def __init__(
        self, config: Config, *, learns: bool = True, checkpoints: Path | None = None, progress: bool = True
    ) -> None:
        check_settings(config)
        check_objective(config.training)
        check_loss_config(config.training)
        check_optimizer_config(config.training)
        self.config = config
        self.patience = config.engine.patience_seconds
        path = resolve_model(config.model.name, progress=progress)
        self.tokenizer = load_tokenizer(path)
        model = describe_model(path, self.tokenizer)
        self.rules = TextRules(self.tokenizer, model.end_ids)
        self._vocabulary = model.vocabulary
        self.context = model.context
        longest = sum(longest_request(config))
        self._context = min(longest, model.context or longest)
        """The longest prompt and response that servers are made for."""
        self._checkpoints = CheckpointFolder(checkpoints)
        self._learns = learns
        self._weights = 0
        """Changes whenever the trainer's weights do."""
        self._published: int | None = None
        """Which of them the servers have; None: none."""
        self._version = 0
        self._revivals = 0
        self._lost: str | None = None
        self._sessions: WeakSet[VerlSampling] = WeakSet()
        self.encode: Callable[[tuple[Message, ...]], EncodedPrompt] = lru_cache(maxsize=REMEMBERED_PROMPTS)(
            partial(encode_prompt, self.tokenizer)
        )
        self.cluster = Cluster(config, str(path), self._context)
        self.meter = Meter(len(self.cluster.replicas))

    # ------------------------------------------------------------------ what it is

    @property
    def trainable(self) -> bool:
        return self._learns

    @property
    def exact_replay(self) -> bool:
        """No: sums over devices come in whatever order suits them. Every step is saved."""
        return False

    @property
    def version(self) -> int:
        return self._version

    def prompt_tokens(self, messages: Sequence[Message]) -> int:
        return len(self.encode(tuple(messages)).token_ids)

    # ------------------------------------------------------------------ sampling

    def check(self, requests: Sequence[Request]) -> None:
        check_requests(requests)
        for request in requests:
            check_fits(request, len(self.encode(request.messages).token_ids), self._context, self._context)
            if request.trains and request.top_p < 1:
                raise PolicyError(
                    f"request {request.id!r} ({request.role}) has top_p = {request.top_p:g} and is to be trained on: "
                    "vLLM's log-probabilities are then those of a cut distribution; expected 1"
                )

    def sampling(self) -> VerlSampling:
        session = VerlSampling(self)
        self._sessions.add(session)
        return session

    def publish(self) -> None:
        """Send the trainer's weights to the servers, if they have others."""
        self._check_usable()
        if self._published != self._weights:
            began = time.perf_counter()
            self._revive_idle()
            with self._losing():
                self.cluster.publish(self._version)
            self._published = self._weights
            self.meter.publishing += time.perf_counter() - began

    def revive(self, task: tuple[Request, int, int], error: Exception) -> None:
        """Start dead servers again and draw anew what was in flight; raise if no server is dead.

        Weights go to all servers at once, and nothing may be sampling then.
        """
        request, _, _ = task
        self._check_usable()
        with self._losing():
            self._count_revival(last_line(error))
            dead = self.cluster.revive()
        if not dead:
            raise PolicyError(
                f"a vLLM server refused request {request.id!r} ({request.role}): {type(error).__name__}: "
                f"{last_line(error)}"
            ) from error
        log.warning(
            "vLLM server %s died (%s); it was started again, and its samples are drawn anew",
            ", ".join(map(str, dead)), last_line(error, 200),
        )  # fmt: skip
        self._published = None
        for session in self._sessions:
            session.suspend()
        self.publish()
        for session in self._sessions:
            session.resume()

    def _revive_idle(self) -> None:
        """Start servers again that died while nothing was drawn: they could neither sleep nor take weights."""
        with self._losing():
            dead = self.cluster.revive(if_silent=False)
            if dead:
                self._count_revival("a kill or an error while nothing was drawn")
                self._published = None
                log.warning("vLLM server %s died while it was idle; it was started again", ", ".join(map(str, dead)))

    def _count_revival(self, reason: str) -> None:
        self._revivals += 1
        if self._revivals > MAX_REVIVALS:
            raise EngineLost(
                f"servers died {self._revivals} times since the last update, now by {reason}. Look into "
                f"{self.cluster.logs}; continue with --resume"
            )

    # ------------------------------------------------------------------ learning

    def update(self, batch: Batch) -> Mapping[str, float]:
        self._check_learns("update")
        for rows in batch.minibatches:
            self._check_rows(rows)
        began = time.perf_counter()
        sampling = self.meter.read()
        self._change_weights()
        rate = learning_rate(self.config.training, self._version)
        learner = Learner(self.cluster, self.config, self._version + 1)
        self._revive_idle()
        with self._losing():
            self.cluster.sleep()
            learner.learn(batch, rate)
        self._version += 1
        self._revivals = 0
        seconds = time.perf_counter() - began
        metrics = {name: value for name, value in learner.tally.metrics().items() if math.isfinite(value)}
        self._warn_of_mismatch(metrics)
        return {
            **metrics,
            **sampling,
            "engine/trained_tokens_per_second": learner.tally.fed_tokens / seconds,
            "update/skipped": float(learner.skipped),
            "update/learning_rate": rate,
            "update/seconds": seconds,
        }

    def _check_rows(self, rows: Sequence[Row]) -> None:
        """Refuse on the driver what one rank would refuse alone, leaving the others in a collective for ever."""
        limit = tokens_per_device(self.config)
        check_vocabulary(rows, self._vocabulary)
        for row in rows:
            if sequence_length(row) > limit:
                raise PolicyError(
                    f"a {row.role} prompt and response of {sequence_length(row)} tokens are to be trained on; expected "
                    f"at most {limit} (engine.tokens_per_device)"
                )

    def _warn_of_mismatch(self, metrics: Mapping[str, float]) -> None:
        gap, limit = metrics.get("logprob/gap_mean", 0.0), self.config.engine.mismatch_limit
        if limit and gap > limit and self.config.training.epochs * self.config.training.minibatches == 1:
            log.warning(
                "sampler and trainer disagree: log-probabilities differ by %.3g on average, more than "
                "engine.mismatch_limit = %g; compare engine.sampler_dtype and engine.trainer_dtype", gap, limit,
            )  # fmt: skip

    def _change_weights(self) -> None:
        """End open sessions: a group from two models would have log-probabilities of neither."""
        self._weights += 1
        for session in self._sessions:
            session.interrupt()

    # ------------------------------------------------------------------ checkpoints

    def save(self) -> str:
        """Write shards, optimiser, random state and an export that transformers loads; whole or not there.

        On several nodes the run directory must be on a file system that all of them share.
        """
        self._check_learns("save")
        reference = self._checkpoints.reference(self._version)
        with whole_directory(self._checkpoints.path(reference), explain=cannot_write) as aside:
            with self._losing():
                self.cluster.call("saving a checkpoint", "save_checkpoint", str(aside), None, self._version)
            write_state(aside, Saved(self._version, self.cluster.world), self.config.model.name)
        return reference

    def load(self, reference: str) -> None:
        self._check_usable()
        path = self._checkpoints.path(reference)
        saved = read_state(path)
        whole = saved.world == self.cluster.world
        if not whole and (self.cluster.adapter or not self.config.engine.take_weights):
            raise ModelError(
                f"the checkpoint {path} was written by {saved.world} devices and its shards cannot be read by "
                f"{self.cluster.world}; set engine.nodes and engine.devices_per_node back, or take its weights over "
                "without the optimiser's state by --set engine.take_weights=true (not with LoRA)"
            )
        self._change_weights()
        self._revive_idle()
        with self._losing():
            self.cluster.sleep()
            if whole:
                self.cluster.call("loading a checkpoint", "load_checkpoint", str(path.absolute()))
            else:
                log.warning(
                    "the checkpoint was written by %d devices: its weights are taken over, the optimiser's state is "
                    "lost", saved.world,
                )  # fmt: skip
                self.cluster.call("loading a checkpoint's weights", "load_export", str((path / EXPORT).absolute()))
        self._version = saved.version

    def drop(self, reference: str) -> None:
        self._checkpoints.drop(reference)

    def saved(self) -> list[str]:
        return self._checkpoints.saved()

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        self._lost = self._lost or "it was closed"
        for session in self._sessions:
            session.interrupt()
        self.cluster.close()

    @contextmanager
    def _losing(self) -> Iterator[None]:
        """Remember what the engine was lost by: nothing more can be asked of it."""
        try:
            yield
        except EngineLost as error:
            self._lost = self._lost or str(error)
            raise

    def _check_usable(self) -> None:
        if self._lost is not None:
            raise PolicyError(f"the engine cannot go on: {self._lost}")

    def _check_learns(self, action: str) -> None:
        self._check_usable()
        if not self._learns:
            raise PolicyError(f"cannot {action}: this policy was opened for sampling only")
