"""The packaged fake of the Policy port: answers from a script, deterministic, with faults on demand.

    ScriptedPolicy({"generator": [source_a, source_b], "solver": "<answer>4</answer>", "reviewer": lambda r, i: ...})

A role's script is one text for all, a sequence that is cycled through, or a function of (request, index).
Updates move a counter and a digest, and save/load write and read real files, so that loops, resuming and crash
recovery can be tested without a model. `RecordingPolicy` writes any policy's answers to a JSONL transcript, from
which `ScriptedPolicy.from_transcript` plays them again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, TypeAlias, get_args

from evoenv.engines.checkpoints import CheckpointFolder
from evoenv.engines.requests import check_requests, check_submission
from evoenv.errors import InputError, PolicyError
from evoenv.objective import Batch
from evoenv.ports import Policy, Sampling
from evoenv.records import FinishReason, Group, Request, Role, Rollout, Sample

Answer: TypeAlias = Callable[[Request, int], str]
RoleScript: TypeAlias = str | Sequence[str] | Answer

STATE_FILE = "scripted.json"
_BYTE_LOGPROB = -math.log(256)


@dataclass(frozen=True, slots=True)
class Fault:
    """At the `at`-th call of one kind (from 0; a sample call is one response): an error, or a real SIGKILL."""

    at: int
    on: Literal["sample", "update", "save"] = "sample"
    kind: Literal["error", "kill"] = "error"


class ScriptedPolicy(Policy):
    def __init__(
        self,
        script: Mapping[Role, RoleScript] | Answer,
        *,
        faults: Sequence[Fault] = (),
        trainable: bool = True,
        checkpoints: Path | None = None,
        shuffle: int | None = None,
    ) -> None:
        """Check the script; `checkpoints` is the directory for what is saved, without which it is kept in memory.

        With `shuffle`, a seed, samples finish in a random order, and a wait that is limited may find none finished.
        """
        if not callable(script) and (unknown := set(script) - set(get_args(Role))):
            raise InputError(f"scripted policy: unknown roles {sorted(unknown)}; expected {', '.join(get_args(Role))}")
        if not callable(script) and (empty := [role for role, answers in script.items() if answers == []]):
            raise InputError(f"scripted policy: {empty[0]} has no answers; expected one or more")
        self._script = script
        self._faults = {(fault.on, fault.at): fault.kind for fault in faults}
        self._trainable = trainable
        self.lots = None if shuffle is None else random.Random(shuffle)
        self.requests: list[Request] = []
        """Every request of every sample call, in order."""
        self.groups: list[tuple[Group, ...]] = []
        """What each update was given."""
        self._calls: dict[str, int] = {"sample": 0, "update": 0, "save": 0}
        self._cursors: dict[str, int] = {}
        self.checkpoints = checkpoints
        self._in_memory: dict[str, str] = {}
        self.step = 0
        self.weights = 0
        """Changes whenever the model would: samples of two models must not be mixed."""
        self.digest = hashlib.sha256(b"start").hexdigest()
        """Depends on every reward of every update in order: two runs with equal digests learnt the same."""

    @classmethod
    def from_transcript(
        cls, path: Path, *, faults: Sequence[Fault] = (), checkpoints: Path | None = None
    ) -> ScriptedPolicy:
        """Answer by (request id, index) from a JSONL file; asking for anything else is an error."""
        texts: dict[tuple[str, int], str] = {}
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except OSError as error:
            raise InputError(f"cannot read the transcript {path}: {error.strerror or error}") from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
                texts[str(entry["request_id"]), int(entry["index"])] = str(entry["text"])
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f'{path}:{number}: not a transcript line ({error}); expected {{"request_id", "index", "text"}}'
                ) from error

        def replay(request: Request, index: int) -> str:
            try:
                return texts[request.id, index]
            except KeyError:
                raise PolicyError(f"the transcript {path} has no answer {index} to request {request.id!r}") from None

        return cls(replay, faults=faults, checkpoints=checkpoints)

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def exact_replay(self) -> bool:
        return True

    @property
    def version(self) -> int:
        return self.step

    def check(self, requests: Sequence[Request]) -> None:
        check_requests(requests)

    def sampling(self) -> ScriptedSampling:
        return ScriptedSampling(self)

    def answer(self, request: Request, index: int) -> Sample:
        """Say the next thing, or fail as the faults say."""
        self._count("sample")
        return _sample(request, index, self._text(request, index), self.step)

    def _text(self, request: Request, index: int) -> str:
        if callable(self._script):
            return self._script(request, index)
        if request.role not in self._script:
            raise PolicyError(f"scripted policy: nothing scripted for role {request.role!r} (request {request.id!r})")
        answers = self._script[request.role]
        if callable(answers):
            return answers(request, index)
        if isinstance(answers, str):
            return answers
        cursor = self._cursors.get(request.role, 0)
        self._cursors[request.role] = cursor + 1
        return answers[cursor % len(answers)]

    def update(self, batch: Batch) -> Mapping[str, float]:
        if not self._trainable:
            raise PolicyError("this scripted policy was made with trainable=False")
        self._count("update")
        groups = batch.groups
        self.groups.append(tuple(map(_in_memory, groups)))
        rewards = [reward for group in groups for reward in group.rewards]
        content = json.dumps([[group.id, group.role, list(group.rewards)] for group in groups])
        self.digest = hashlib.sha256(f"{self.digest}\n{content}".encode()).hexdigest()
        self.step += 1
        self.weights += 1
        return {
            "update/step": float(self.step),
            "update/groups": float(len(groups)),
            "update/mean_reward": sum(rewards) / len(rewards) if rewards else 0.0,
        }

    def save(self) -> str:
        """Write one JSON file, aside and then renamed; a kill fault strikes between the two."""
        reference = CheckpointFolder.reference(self.step)
        state = json.dumps({"step": self.step, "digest": self.digest, "cursors": self._cursors})
        if self.checkpoints is None:
            self._count("save")
            self._in_memory[reference] = state
            return reference
        directory = self._folder.path(reference)
        directory.mkdir(parents=True, exist_ok=True)
        aside = directory / f"{STATE_FILE}.partial"
        with aside.open("w", encoding="utf-8") as stream:
            stream.write(state)
            stream.flush()
            os.fsync(stream.fileno())
        self._count("save")
        aside.rename(directory / STATE_FILE)
        return reference

    def load(self, reference: str) -> None:
        source = reference
        try:
            if self.checkpoints is None:
                text = self._in_memory[reference]
            else:
                path = self._folder.path(reference) / STATE_FILE
                source, text = str(path), path.read_text(encoding="utf-8")
        except KeyError:
            raise PolicyError(f"cannot load {reference!r}: nothing was saved under this reference") from None
        except OSError as error:
            raise PolicyError(f"cannot load {source}: {error.strerror or error}") from error
        try:
            state = json.loads(text)
            self.step, self.digest = int(state["step"]), str(state["digest"])
            self._cursors = {str(role): int(cursor) for role, cursor in state["cursors"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PolicyError(f"{source} is not a scripted policy's state: {error}") from error
        self.weights += 1

    def drop(self, reference: str) -> None:
        self._in_memory.pop(reference, None)
        if self.checkpoints is not None:
            self._folder.drop(reference)

    def saved(self) -> list[str]:
        return list(self._in_memory) if self.checkpoints is None else self._folder.saved()

    @property
    def _folder(self) -> CheckpointFolder:
        return CheckpointFolder(self.checkpoints)

    def close(self) -> None:
        """Do nothing: nothing is held open."""

    def _count(self, on: Literal["sample", "update", "save"]) -> None:
        call = self._calls[on]
        self._calls[on] = call + 1
        fault = self._faults.get((on, call))
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "error":
            raise PolicyError(f"scripted fault at {on} call {call}")


class ScriptedSampling(Sampling):
    """Answers one by one, in the order of the requests unless the policy shuffles."""

    def __init__(self, policy: ScriptedPolicy) -> None:
        self._policy = policy
        self._ids: set[str] = set()
        self._pending: deque[tuple[Request, int]] = deque()
        self._weights = policy.weights
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def submit(self, requests: Sequence[Request]) -> None:
        check_submission(self, self._policy, requests, self._ids)
        if not self._pending:
            self._weights = self._policy.weights
        self._ids.update(request.id for request in requests)
        self._policy.requests += requests
        self._pending.extend((request, index) for request in requests for index in range(request.count))

    def collect(self, timeout: float | None = None) -> Sequence[Sample]:
        if not self._pending:
            return ()
        if self._weights != self._policy.weights:
            raise PolicyError("the policy changed while samples were being drawn; finish iterating before update")
        if (lots := self._policy.lots) is not None:
            if timeout is not None and lots.random() < 0.5:
                return ()
            self._pending.rotate(lots.randrange(len(self._pending)))
        return (self._policy.answer(*self._pending.popleft()),)

    def close(self) -> None:
        self._closed = True
        self._pending.clear()


def _sample(request: Request, index: int, text: str, version: int) -> Sample:
    """Make the sample of a byte-level model that finds all bytes equally likely; limit and stop strings cut it."""
    finish_reason: FinishReason = "stop"
    cuts = [at for stop in request.stop if (at := text.find(stop)) >= 0]
    text = text[: min(cuts)] if cuts else text
    tokens = text.encode("utf-8", "surrogatepass")
    if len(tokens) > request.max_tokens:
        tokens = tokens[: request.max_tokens]
        text, finish_reason = tokens.decode("utf-8", "ignore"), "length"
    rollout = None
    if request.trains:
        prompt = "\n".join(message.content for message in request.messages).encode("utf-8", "surrogatepass")
        rollout = Rollout.of(prompt, tokens, [_BYTE_LOGPROB] * len(tokens), request.temperature or 1.0)
    return Sample(request.id, index, text, finish_reason, len(tokens), version, rollout)


class RecordingPolicy(Policy):
    """Passes everything through to `policy` and appends each sample to a JSONL transcript as it arrives."""

    def __init__(self, policy: Policy, path: Path) -> None:
        self._policy = policy
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream: IO[str] = path.open("a", encoding="utf-8")

    @property
    def trainable(self) -> bool:
        return self._policy.trainable

    @property
    def exact_replay(self) -> bool:
        return self._policy.exact_replay

    @property
    def version(self) -> int:
        return self._policy.version

    def check(self, requests: Sequence[Request]) -> None:
        self._policy.check(requests)

    def sampling(self) -> RecordingSampling:
        return RecordingSampling(self._policy.sampling(), self._stream)

    def update(self, batch: Batch) -> Mapping[str, float]:
        return self._policy.update(batch)

    def save(self) -> str:
        return self._policy.save()

    def load(self, reference: str) -> None:
        self._policy.load(reference)

    def drop(self, reference: str) -> None:
        self._policy.drop(reference)

    def saved(self) -> Sequence[str]:
        return self._policy.saved()

    def close(self) -> None:
        self._stream.close()
        self._policy.close()


class RecordingSampling(Sampling):
    def __init__(self, session: Sampling, stream: IO[str]) -> None:
        self._session = session
        self._stream = stream
        self._roles: dict[str, Role] = {}

    @property
    def closed(self) -> bool:
        return self._session.closed

    def submit(self, requests: Sequence[Request]) -> None:
        self._session.submit(requests)
        self._roles.update((request.id, request.role) for request in requests)

    def collect(self, timeout: float | None = None) -> Sequence[Sample]:
        samples = self._session.collect(timeout)
        for sample in samples:
            entry = {
                "request_id": sample.request_id,
                "role": self._roles[sample.request_id],
                "index": sample.index,
                "text": sample.text,
                "finish_reason": sample.finish_reason,
            }
            self._stream.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._stream.flush()
        return samples

    def close(self) -> None:
        self._session.close()


def _in_memory(group: Group) -> Group:
    """Read rollouts and texts, as a real policy would the rollouts: the store drops those when the step is done."""
    samples = []
    for sample in group.samples:
        kept = sample.rollout
        rollout = kept and Rollout(kept.prompt_ids, kept.token_ids, kept.logprobs, kept.temperature)
        samples.append(
            Sample(
                sample.request_id,
                sample.index,
                sample.text,
                sample.finish_reason,
                sample.tokens,
                sample.version,
                rollout,
            )
        )
    return replace(group, samples=tuple(samples))
