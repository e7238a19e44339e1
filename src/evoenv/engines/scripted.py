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
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, TypeAlias, get_args

from evoenv.errors import InputError, PolicyError
from evoenv.objective import Batch
from evoenv.ports import Policy
from evoenv.records import FinishReason, Group, Request, Role, Sample

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


class ScriptedPolicy:
    def __init__(
        self,
        script: Mapping[Role, RoleScript] | Answer,
        *,
        faults: Sequence[Fault] = (),
        trainable: bool = True,
    ) -> None:
        if not callable(script) and (unknown := set(script) - set(get_args(Role))):
            raise InputError(f"scripted policy: unknown roles {sorted(unknown)}; expected {', '.join(get_args(Role))}")
        self._script = script
        self._faults = {(fault.on, fault.at): fault.kind for fault in faults}
        self._trainable = trainable
        self.requests: list[Request] = []
        """Every request of every sample call, in order."""
        self.groups: list[tuple[Group, ...]] = []
        """What each update was given."""
        self._calls: dict[str, int] = {"sample": 0, "update": 0, "save": 0}
        self._cursors: dict[str, int] = {}
        self.step = 0
        self.digest = hashlib.sha256(b"start").hexdigest()
        """Depends on every reward of every update in order: two runs with equal digests learnt the same."""

    @classmethod
    def from_transcript(cls, path: Path, *, faults: Sequence[Fault] = ()) -> ScriptedPolicy:
        """Answers by (request id, index) from a JSONL file; asking for anything else is an error."""
        texts: dict[tuple[str, int], str] = {}
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
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

        return cls(replay, faults=faults)

    @property
    def trainable(self) -> bool:
        return self._trainable

    def sample(self, requests: Sequence[Request]) -> Iterator[Sample]:
        self.requests += requests
        return self._samples(tuple(requests))

    def _samples(self, requests: tuple[Request, ...]) -> Iterator[Sample]:
        for request in requests:
            for index in range(request.count):
                self._count("sample")
                yield _sample(request, index, self._text(request, index))

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
        self.groups.append(groups)
        rewards = [reward for group in groups for reward in group.rewards]
        content = json.dumps([[group.id, group.role, list(group.rewards)] for group in groups])
        self.digest = hashlib.sha256(f"{self.digest}\n{content}".encode()).hexdigest()
        self.step += 1
        return {
            "update/step": float(self.step),
            "update/groups": float(len(groups)),
            "update/mean_reward": sum(rewards) / len(rewards) if rewards else 0.0,
        }

    def save(self, directory: Path) -> None:
        """One JSON file, written aside and renamed; a kill fault strikes between the two."""
        directory.mkdir(parents=True, exist_ok=True)
        state = {"step": self.step, "digest": self.digest, "cursors": self._cursors}
        aside = directory / f"{STATE_FILE}.partial"
        with aside.open("w", encoding="utf-8") as stream:
            json.dump(state, stream)
            stream.flush()
            os.fsync(stream.fileno())
        self._count("save")
        aside.rename(directory / STATE_FILE)

    def load(self, directory: Path) -> None:
        path = directory / STATE_FILE
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
            self.step, self.digest = int(state["step"]), str(state["digest"])
            self._cursors = {str(role): int(cursor) for role, cursor in state["cursors"].items()}
        except OSError as error:
            raise PolicyError(f"cannot load {path}: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PolicyError(f"{path} is not a scripted policy's state: {error}") from error

    def close(self) -> None:
        """Nothing is held open."""

    def _count(self, on: Literal["sample", "update", "save"]) -> None:
        call = self._calls[on]
        self._calls[on] = call + 1
        fault = self._faults.get((on, call))
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "error":
            raise PolicyError(f"scripted fault at {on} call {call}")


def _sample(request: Request, index: int, text: str) -> Sample:
    """As if from a byte-level model that finds all bytes equally likely; cut at `max_tokens` and stop strings."""
    finish_reason: FinishReason = "stop"
    cuts = [at for stop in request.stop if (at := text.find(stop)) >= 0]
    text = text[: min(cuts)] if cuts else text
    tokens = text.encode("utf-8", "surrogatepass")
    if len(tokens) > request.max_tokens:
        tokens = tokens[: request.max_tokens]
        text, finish_reason = tokens.decode("utf-8", "ignore"), "length"
    prompt = "\n".join(message.content for message in request.messages).encode("utf-8", "surrogatepass")
    return Sample(
        request_id=request.id,
        index=index,
        text=text,
        prompt_ids=tuple(prompt),
        token_ids=tuple(tokens),
        logprobs=(_BYTE_LOGPROB,) * len(tokens),
        finish_reason=finish_reason,
        temperature=request.temperature,
    )


class RecordingPolicy:
    """Passes everything through to `policy` and appends each sample to a JSONL transcript as it arrives."""

    def __init__(self, policy: Policy, path: Path) -> None:
        self._policy = policy
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream: IO[str] = path.open("a", encoding="utf-8")

    @property
    def trainable(self) -> bool:
        return self._policy.trainable

    def sample(self, requests: Sequence[Request]) -> Iterator[Sample]:
        roles = {request.id: request.role for request in requests}
        for sample in self._policy.sample(requests):
            entry = {
                "request_id": sample.request_id,
                "role": roles[sample.request_id],
                "index": sample.index,
                "text": sample.text,
                "finish_reason": sample.finish_reason,
            }
            self._stream.write(json.dumps(entry, ensure_ascii=False) + "\n")
            self._stream.flush()
            yield sample

    def update(self, batch: Batch) -> Mapping[str, float]:
        return self._policy.update(batch)

    def save(self, directory: Path) -> None:
        self._policy.save(directory)

    def load(self, directory: Path) -> None:
        self._policy.load(directory)

    def close(self) -> None:
        self._stream.close()
        self._policy.close()
