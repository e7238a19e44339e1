"""Repair: a candidate that failed validation goes back to its author, with what was found in it.

Synthesis only (`synth.repairs`). A repaired candidate is a candidate of its own, the only one of a new group of the
step; the request that it answers has the purpose `repair` and the failed candidate as its subject. Nothing is
overwritten, so that a run shows every attempt with its findings.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evoenv.config import GeneratorConfig
from evoenv.ids import CandidateId, GeneratorRequestId
from evoenv.prompts.generator import generator_messages
from evoenv.prompts.repair import repair_messages
from evoenv.records import Candidate, Message, Request, ValidationReport, derive_seed
from evoenv.stages.context import Run
from evoenv.stages.sampling import prompt_tokens
from evoenv.store.store import RequestRecord


def repair_requests(
    run: Run, failed: Sequence[tuple[Candidate, ValidationReport]], cut_off: Collection[str]
) -> tuple[list[RequestRecord], dict[str, tuple[str, ...]]]:
    """Ask the author of each failed candidate to mend it; return with the requests the parents of their candidates.

    `cut_off`: ids of the candidates that ended at the token limit. What does not fit the prompt's limit even without
    examples is not asked for.
    """
    config = run.config.generator
    asked: list[RequestRecord] = []
    parents: dict[str, tuple[str, ...]] = {}
    for candidate, report in failed:
        messages = _fitting_messages(run, candidate, report, cut_off=candidate.id in cut_off)
        if messages is None:
            continue
        request = Request(
            id=str(GeneratorRequestId(candidate.step, repair_group(config, candidate))),
            role="generator",
            messages=messages,
            temperature=config.temperature,
            top_p=config.top_p,
            max_tokens=config.max_tokens,
            seed=derive_seed(run.seed, "repair", candidate.id),
        )
        asked.append(RequestRecord(request, "repair", subject=candidate.id))
        parents[request.id] = candidate.parents
    return asked, parents


def repair_group(config: GeneratorConfig, candidate: Candidate) -> int:
    """Number the group of a candidate's repair: after those of the prompts, a block for each attempt.

    It depends on nothing but the candidate, so that a resumed run finds it again even if its step has become longer or
    shorter by then.
    """
    if candidate.group < config.prompts:
        return config.prompts + candidate.group * config.candidates_per_prompt + candidate.index
    return candidate.group + config.prompts * config.candidates_per_prompt


def _fitting_messages(
    run: Run, candidate: Candidate, report: ValidationReport, *, cut_off: bool
) -> tuple[Message, ...] | None:
    """Build the conversation on the candidate's own prompt, or without examples if that is too long; None if both are.

    An earlier repair of the same candidate is left out: its code is superseded.
    """
    config = run.config.generator
    own = run.store.request_messages(str(CandidateId.parse(candidate.id).request))[:1]
    bare, _ = generator_messages([], config.prompt, config.max_prompt_tokens)
    for prompt in (own, bare):
        messages = repair_messages(prompt, candidate, report.findings, cut_off=cut_off)
        if prompt_tokens(run, messages) <= config.max_prompt_tokens:
            return messages
    return None
