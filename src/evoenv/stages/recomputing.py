"""Recompute an environment's answers: draw instances, run the programs in the sandbox, and score what they return.

In a run, for `evoenv validate --recompute` and in an audit the same. Whatever a program does, it only casts a vote: one
that hangs, prints, returns nonsense or reaches for the walls says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evoenv.admission.calibration import FULLY_RIGHT
from evoenv.admission.recomputation import FreshInstance, Recomputed, recomputation_of
from evoenv.config import ReviewConfig
from evoenv.environment.answers import extract_answer
from evoenv.evaluation.programs import ProgramGrader, extract_program
from evoenv.ports import Policy
from evoenv.prompts.recompute import (
    EXAMPLES,
    Form,
    arguments_of,
    plain_value,
    recompute_messages,
    shown_names,
)
from evoenv.prompts.review import decoded
from evoenv.records import FinishReason, Instance, Recomputation, Request, derive_seed, environment_id
from evoenv.sandbox.host import EnvironmentWorker, Sandbox

CALL_LIMIT_S = 5.0
"""CPU time that a program has for one instance, as an environment's own calls have."""
MAX_ANSWER = 10_000
"""Characters of a program's answer that are scored."""
MAX_WITNESS = 4_000
"""Characters of a prompt or reference that a witness keeps."""


@dataclass(frozen=True, slots=True)
class Recomputing:
    """What programs are asked for and run on: the examples that are shown, and the fresh instances."""

    examples: tuple[Instance, ...]
    instances: tuple[Instance, ...]
    form: Form
    names: tuple[str, ...]

    def request(self, request_id: str, config: ReviewConfig, seed: int) -> Request:
        """Ask for the programs of one environment."""
        return Request(
            id=request_id,
            role="reviewer",
            messages=recompute_messages(self.examples, self.form, self.names, config.program_prompt),
            count=config.programs,
            temperature=config.temperature,
            max_tokens=config.program_max_tokens,
            seed=seed,
        )


def prepare_recomputing(
    worker: EnvironmentWorker, source_id: str, levels: Sequence[int], count: int, form: Form, *parts: int
) -> Recomputing | None:
    """Draw the examples and the fresh instances, spread over the levels; None if an example cannot be drawn.

    `parts` (run, step) make the seeds. If no value is shown by name, the programs have to read the text.
    """

    def draw(purpose: str, numbers: Sequence[int]) -> list[Instance | None]:
        drawn: dict[int, Instance | None] = {}
        for position, level in enumerate(levels):
            own = numbers[position :: len(levels)]
            seeds = [derive_seed("recompute", source_id, purpose, *parts, number) for number in own]
            drawn.update(zip(own, worker.instances(seeds, level), strict=True))
        return [drawn[number] for number in numbers]

    examples = tuple(instance for instance in draw("example", range(EXAMPLES)) if instance is not None)
    instances = tuple(instance for instance in draw("instance", range(count)) if instance is not None)
    if not examples or not instances:
        return None
    names = shown_names([*examples, *instances]) if form == "values" else ()
    return Recomputing(examples, instances, form if names else "text", names)


def program_of(response: str, finish_reason: FinishReason) -> str | None:
    """Cut the program out of a response; None for one that was cut off, lost, or holds none."""
    return extract_program(response) if finish_reason == "stop" else None


def recompute(
    recomputing: Recomputing, programs: Sequence[str | None], worker: EnvironmentWorker, grader: ProgramGrader
) -> Recomputation:
    """Run the programs on the fresh instances and judge the environment by what they say."""
    rows = recompute_rows(recomputing, programs, worker, grader)
    return recomputation_of([_asked(instance) for instance in recomputing.instances], rows)


def recompute_rows(
    recomputing: Recomputing, programs: Sequence[str | None], worker: EnvironmentWorker, grader: ProgramGrader
) -> list[list[Recomputed]]:
    """Run the programs on the fresh instances; return a row of scored answers for each."""
    calls = [[arguments_of(instance, recomputing.form, recomputing.names)] for instance in recomputing.instances]
    answers = [[None] * len(calls) if program is None else _answers(program, calls, grader) for program in programs]
    asked = [
        (instance.seed, instance.difficulty, answer)
        for row in answers
        for instance, answer in zip(recomputing.instances, row, strict=True)
        if answer is not None
    ]
    scores = iter(worker.score(asked) if asked else ())
    return [
        [Recomputed(answer, answer is not None and next(scores).value >= FULLY_RIGHT) for answer in row]
        for row in answers
    ]


def _answers(program: str, calls: Sequence[Sequence[Any]], grader: ProgramGrader) -> list[str | None]:
    """Call a program on every instance, twice; one that contradicts itself guesses, and says nothing at all.

    Two programs that guess between yes and no would soon agree with each other against any reference.
    """
    returned = grader.run_function(program, "solve", [*calls, *calls], CALL_LIMIT_S)
    answers = [answer_text(value) for value in returned]
    first, second = answers[: len(calls)], answers[len(calls) :]
    if any(None not in (one, other) and one != other for one, other in zip(first, second, strict=True)):
        return [None] * len(calls)
    return first


@dataclass(frozen=True, slots=True)
class Recomputations:
    """The recomputation of one environment, with the programs that it rests on."""

    recomputation: Recomputation
    programs: tuple[str | None, ...]


def recompute_source(
    source: str,
    policy: Policy,
    sandbox: Sandbox,
    config: ReviewConfig,
    *,
    levels: Sequence[int] = (0, 1),
    seed: int = 0,
) -> Recomputations:
    """Let a policy write programs for an environment, and run them."""
    source_id = environment_id(source)
    with (
        sandbox.open(source) as worker,
        ProgramGrader(allow_degraded=sandbox.allow_degraded) as grader,
    ):
        recomputing = prepare_recomputing(
            worker, source_id, levels, config.program_instances, config.program_gets, seed
        )
        if recomputing is None:
            return Recomputations(recomputation_of((), ()), ())
        request = recomputing.request("recompute", config, derive_seed("recompute", source_id, seed))
        samples = sorted(policy.sample([request]), key=lambda sample: sample.index)
        programs = [program_of(sample.text, sample.finish_reason) for sample in samples]
        return Recomputations(recompute(recomputing, programs, worker, grader), tuple(programs))


def answer_text(value: Any) -> str | None:
    """Return what a program returned as the text of an answer; None for nothing and for what is no answer.

    Asked for what stands between the tags, small models often return it with them: they are taken off.
    """
    if isinstance(value, list) and value and all(isinstance(item, str | int | float) for item in value):
        value = " ".join(map(str, value))
    if isinstance(value, bool | int | float):
        value = str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_ANSWER:
        return None
    return extract_answer(value) or value.strip()


def _asked(instance: Instance) -> FreshInstance:
    reference = decoded(instance.reference)
    text = reference if isinstance(reference, str) else repr(plain_value(reference))
    return FreshInstance(instance.seed, instance.difficulty, instance.prompt[:MAX_WITNESS], text[:MAX_WITNESS])
