"""The frozen records that flow through an iteration.

Everything that thinks takes records and returns records or numbers; nothing here blocks, fails or knows
where it is stored. Records are identified by content (`environment_id`), so that resuming and removing
duplicates follow from equality.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from evoenv.ids import CandidateId

Role: TypeAlias = Literal["generator", "solver", "reviewer"]
FinishReason: TypeAlias = Literal["stop", "length", "error"]
Dialect: TypeAlias = Literal["functional", "stateful", "rlve"]


def environment_id(source: str) -> str:
    """Name an environment by its source, in sixteen hex digits."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def derive_seed(*parts: str | int) -> int:
    """Hash a 63-bit seed from its parts: (run, environment, purpose, index).

    Seeds are never added up: neighbouring seeds of one suite must not share instances.
    """
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


# --------------------------------------------------------------------------- validation


@dataclass(frozen=True, slots=True)
class Replay:
    """An instance, and an answer to it if there was one: enough to see a defect again with `evoenv play`."""

    seed: int
    difficulty: int
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: a stable code (`L3.prompt-unstable`), what was seen and expected, how to mend it."""

    code: str
    message: str
    hint: str
    replay: Replay | None = field(default=None, compare=False)
    """Where it can be seen; not stored with a run."""

    @property
    def layer(self) -> int:
        return int(self.code[1])


@dataclass(frozen=True, slots=True)
class LevelSpace:
    """How many different instances a level has: an estimate, or a number that it has at least."""

    level: int
    size: int
    at_least: bool


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The verdict on one source: ℓ(e), the highest layer passed, and every finding of the layer that failed."""

    layer: int
    findings: tuple[Finding, ...] = ()
    class_name: str | None = None
    dialect: Dialect | None = None
    prompt_template: str = ""
    """What novelty embeds as u: the class attribute, or a rendered prompt if there is none."""
    family: str | None = None
    """The scorer family that L5 told by behaviour: exact, graded or feasibility."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    sandbox: tuple[str, ...] = ()
    instance_space: tuple[LevelSpace, ...] = field(default=(), compare=False)
    """By level, from L4 on; not stored with a run."""

    @property
    def passed(self) -> bool:
        return self.layer == 5


# --------------------------------------------------------------------------- environments at work


@dataclass(frozen=True, slots=True)
class Instance:
    """One sampled task. `latent` and `reference` are in the wire form of `sandbox.guest.codec`."""

    seed: int
    difficulty: int
    prompt: str
    latent: Any
    reference: Any


@dataclass(frozen=True, slots=True)
class Score:
    """What a response earned: `format_ok` is False if no final answer could be cut out of it."""

    value: float
    format_ok: bool = True
    failure: str | None = None
    """Why the scorer died, if it did; the value is 0 then."""


# --------------------------------------------------------------------------- the policy


@dataclass(frozen=True, slots=True)
class Message:
    speaker: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """`count` samples wanted for one chat prompt in one role."""

    id: str
    role: Role
    messages: tuple[Message, ...]
    count: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()
    seed: int = 0
    wanted: tuple[int, ...] = ()
    """Indices still wanted, if the others are kept from before a stop; empty: all `count`. A hint: a policy whose
    samples depend on one another may draw them all again."""
    trains: bool = False
    """Whether the answers may be trained on: their samples carry a rollout then. Reviews, calibrations and evaluations
    never train, whatever their role."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """The tokens of one response as they were really sampled: what an update needs of it, in compact arrays."""

    prompt_ids: array[int] = field(hash=False)
    """Shared by the responses to one prompt, as far as they are in memory together."""
    token_ids: array[int] = field(hash=False)
    """What was drawn, end token included."""
    logprobs: array[float] = field(hash=False)
    """log-softmax(logits / temperature) of each token under the model that drew it, before top-p cuts."""
    temperature: float = 1.0
    """The trainer must divide alike."""

    @classmethod
    def of(
        cls, prompt_ids: Iterable[int], token_ids: Iterable[int], logprobs: Iterable[float], temperature: float = 1.0
    ) -> Self:
        """Make a rollout of any numbers; arrays are taken as they are."""
        return cls(_array("i", prompt_ids), _array("i", token_ids), _array("d", logprobs), temperature)

    @property
    def lengths(self) -> tuple[int, int]:
        """The number of tokens of prompt and response."""
        return len(self.prompt_ids), len(self.token_ids)

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest token id of prompt and response; 0 for both if there are no tokens."""
        parts = [part for part in (self.prompt_ids, self.token_ids) if part]
        return min(map(min, parts), default=0), max(map(max, parts), default=0)

    def release(self) -> None:
        """Let the arrays go if they can be read again, as those from a run's store; here they cannot."""


def _array(kind: Literal["i", "d"], values: Iterable[Any]) -> array[Any]:
    if isinstance(values, array) and values.typecode == kind:
        return values
    return array(kind, iter(values))  # an iterator, because bytes would be taken for an array's memory


@dataclass(frozen=True, slots=True)
class Sample:
    """One response."""

    request_id: str
    index: int
    text: str
    finish_reason: FinishReason = "stop"
    tokens: int = 0
    """Response tokens that were sampled; 0 if the policy cannot say."""
    version: int = 0
    """Of the policy: how many updates it had seen."""
    rollout: Rollout | None = None
    """Only if the request trains, and the policy can."""


@dataclass(frozen=True, slots=True)
class Group:
    """Samples of one prompt with their rewards: the unit of group-relative advantages. Roles never mix."""

    id: str
    role: Role
    samples: tuple[Sample, ...]
    rewards: tuple[float, ...]


# --------------------------------------------------------------------------- admission


@dataclass(frozen=True, slots=True)
class Candidate:
    """A generator's response and where it came from: sample `index` of prompt `group` in `step`."""

    step: int
    group: int
    index: int
    response: str
    source: str | None
    """The longest fenced block, or None if the response has none."""
    parents: tuple[str, ...] = ()
    """Environment ids of the few-shot examples that the generator saw."""

    @property
    def id(self) -> str:
        return str(CandidateId(self.step, self.group, self.index))


@dataclass(frozen=True, slots=True)
class Review:
    verdict: Literal["accept", "reject", "unparseable"]
    text: str


RecomputationVerdict: TypeAlias = Literal["confirmed", "contradicted", "unconfirmed"]


@dataclass(frozen=True, slots=True)
class Witness:
    """An instance on which programs agree with each other against the reference, and what they said."""

    seed: int
    difficulty: int
    prompt: str
    reference: str
    answer: str
    programs: tuple[int, ...]
    """The numbers of the programs that agree."""


@dataclass(frozen=True, slots=True)
class Recomputation:
    """What independent programs say about an environment's answers."""

    verdict: RecomputationVerdict
    instances: int
    shares: tuple[float, ...]
    """For each program, the share of the instances that it gets right."""
    witness: Witness | None = None

    @property
    def right(self) -> float:
        """The share of instances that programs get right; 0 without any program."""
        return sum(self.shares) / len(self.shares) if self.shares else 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Scores of one response to each of m fresh instances, and â, the share that passes."""

    scores: tuple[float, ...]
    pass_rate: float


@dataclass(frozen=True, slots=True)
class Novelty:
    """sim to what was ever admitted, N = 1 − sim, and the greatest sim within the batch."""

    similarity: float
    novelty: float
    batch_similarity: float = 0.0
    nearest: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A candidate's reward and fate. `reason` is `admitted` or the first rule that refused it."""

    candidate_id: str
    layer: int
    q_val: float
    reward: float
    admitted: bool
    reason: str
    similarity_at_admission: float | None = None


# --------------------------------------------------------------------------- questions (r-zero)


@dataclass(frozen=True, slots=True)
class Question:
    """A challenger's response: sample `index` of prompt `group` in `step`. It may hold no question at all."""

    step: int
    group: int
    index: int
    response: str

    @property
    def id(self) -> str:
        return str(CandidateId(self.step, self.group, self.index))


@dataclass(frozen=True, slots=True)
class Vote:
    """The solver's vote on a question: which of its answers agree with the most frequent one, and their share."""

    agreeing: tuple[bool, ...]
    share: float


@dataclass(frozen=True, slots=True)
class QuestionDecision:
    """A question's reward and fate. `reason` is `admitted` (the solver trains on it) or why it does not."""

    question_id: str
    reward: float
    admitted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class StepSummary:
    """One line of a run: counts and means of one iteration, by `area/name` key."""

    step: int
    metrics: dict[str, float] = field(default_factory=dict)
