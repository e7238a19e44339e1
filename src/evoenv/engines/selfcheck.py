"""Try an engine out on this machine, in a few minutes: start, sample, learn, publish, save, load, close.

Meant for machines that our tests never see, GPUs above all: what it prints is what to report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evoenv.config import Config
from evoenv.errors import EvoEnvError
from evoenv.objective import Batch, build_batch
from evoenv.ports import Policy
from evoenv.records import Group, Message, Request, Sample

PROMPTS = ("Add 3 and 4.", "Sort 5 2 9.", "What is the largest of 4, 8, 1?", "Reverse 1 2 3.")
COUNT = 4
MAX_TOKENS = 64


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """One thing that was tried."""

    name: str
    ok: bool
    seconds: float
    detail: str


class Failed(Exception):
    """What was tried did not come out right."""


@dataclass
class SelfCheck:
    """Tries an engine out step by step; what fails ends it, and the engine is closed in any case."""

    config: Config
    open: Callable[[Path], Policy]
    """Opens the policy, ready to learn, with its checkpoints in a directory."""
    directory: Path
    _policy: Policy | None = field(default=None, init=False)
    _samples: list[Sample] = field(default_factory=list, init=False)
    _reference: str = field(default="", init=False)

    def run(self) -> Iterator[StepOutcome]:
        steps: list[tuple[str, Callable[[], str]]] = [
            ("start", self._start),
            ("sample", self._sample),
            ("sample again", self._sample_again),
            ("update", self._update),
            ("new weights", self._new_weights),
            ("save", self._save),
            ("load", self._load),
        ]
        for name, step in steps:
            finding = _attempt(name, step)
            yield finding
            if not finding.ok:
                break
        yield _attempt("close", self._close)

    @property
    def policy(self) -> Policy:
        assert self._policy is not None
        return self._policy

    def _start(self) -> str:
        self._policy = self.open(self.directory)
        return f"{self.config.engine.name} engine with {self.config.model.name}"

    def _draw(self) -> list[Sample]:
        samples = list(self.policy.sample(_requests()))
        if len(samples) != len(PROMPTS) * COUNT:
            raise Failed(f"{len(samples)} samples came, expected {len(PROMPTS) * COUNT}")
        if wrong := {sample.version for sample in samples} - {self.policy.version}:
            raise Failed(f"samples of version {wrong} came, expected {self.policy.version}")
        return sorted(samples, key=lambda sample: (sample.request_id, sample.index))

    def _sample(self) -> str:
        began = time.perf_counter()
        self._samples = self._draw()
        tokens = sum(sample.tokens for sample in self._samples)
        return f"{tokens} tokens, {tokens / (time.perf_counter() - began):.0f} a second"

    def _sample_again(self) -> str:
        """Sample with the same seeds. Equal samples are promised on a CPU only, so this is told and not judged."""
        same = sum(one.text == other.text for one, other in zip(self._samples, self._draw(), strict=True))
        return f"{same} of {len(self._samples)} samples are the same with the same seeds"

    def _learn(self) -> str:
        metrics = self.policy.update(_batch(self._samples, self.config, self.policy.version))
        if metrics["update/skipped"]:
            raise Failed("the update was skipped: its loss or gradient is not finite")
        gap = metrics["logprob/gap_mean"]
        limit = self.config.engine.mismatch_limit or float("inf")
        text = (
            f"loss {metrics['loss/total']:.6g}, gradient norm {metrics['grad/norm']:.6g}, log-probabilities of sampler "
            f"and trainer differ by {gap:.3g} on average, {metrics['logprob/gap_max']:.3g} at most"
        )
        if gap > limit:
            raise Failed(f"{text}; expected at most {limit:g} on average (engine.mismatch_limit)")
        return text

    def _update(self) -> str:
        return self._learn()

    def _new_weights(self) -> str:
        """Check that samples of the updated weights have the trainer's log-probabilities: then they have arrived."""
        self._samples = self._draw()
        return self._learn()

    def _save(self) -> str:
        self._reference = self.policy.save()
        return self._reference

    def _load(self) -> str:
        version = self.policy.version
        self.policy.load(self._reference)
        if self.policy.version != version:
            raise Failed(f"the loaded policy is of version {self.policy.version}, expected {version}")
        self._samples = self._draw()
        return f"version {version}; {self._learn()}"

    def _close(self) -> str:
        if self._policy is not None:
            self._policy.close()
        return ""


def _attempt(name: str, step: Callable[[], str]) -> StepOutcome:
    began = time.perf_counter()
    try:
        ok, detail = True, step()
    except (EvoEnvError, Failed) as error:
        ok, detail = False, str(error)
    except Exception as error:  # an engine on an unknown machine may raise anything, and that is the finding
        ok, detail = False, f"{type(error).__name__}: {error}"
    return StepOutcome(name, ok, time.perf_counter() - began, detail)


def _requests() -> list[Request]:
    return [
        Request(
            id=f"check {number}",
            role="solver" if number % 2 else "generator",
            messages=(Message("user", text),),
            count=COUNT,
            max_tokens=MAX_TOKENS,
            seed=number,
            trains=True,
        )
        for number, text in enumerate(PROMPTS)
    ]


def _batch(samples: list[Sample], config: Config, update: int) -> Batch:
    """Make a batch in which half of each group is rewarded: what is learnt does not matter here."""
    groups = []
    for request in _requests():
        own = tuple(sample for sample in samples if sample.request_id == request.id)
        groups.append(Group(request.id, request.role, own, tuple(float(sample.index % 2) for sample in own)))
    return build_batch(groups, config.training, update=update)
