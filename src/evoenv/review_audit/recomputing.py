"""Recompute every environment of a set, by programs written from the prompts alone; what is kept is not asked again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from evoenv.admission.recomputation import recomputation_of
from evoenv.asking import ask_for_missing
from evoenv.config import ReviewConfig
from evoenv.evaluation.programs import ProgramGrader
from evoenv.ports import Policy
from evoenv.records import Request, Sample, derive_seed, environment_id
from evoenv.review_audit.journal import VerdictLedger
from evoenv.review_audit.labels import Labelled, LabelledSet
from evoenv.sandbox.host import Sandbox
from evoenv.stages.recomputing import Recomputing, prepare_recomputing, program_of, recompute
from evoenv.stages.sampling import tokens_for

Progress = Callable[[int, int], None]


def recompute_all(
    labelled: LabelledSet,
    sandbox: Sandbox,
    policy: Policy,
    config: ReviewConfig,
    kept: VerdictLedger,
    progress: Progress,
    *,
    level: int = 0,
    seed: int = 0,
) -> None:
    """Have `config.programs` programs written for every environment, also for those that the mechanical checks refuse.

    An environment that makes no instances, or whose prompt is too long, stays unconfirmed. Programs are run on all
    cores while others are written.
    """
    total = len(labelled.items)
    missing = [item for item in labelled.items if item.name not in kept.recomputations]
    progress(total - len(missing), total)

    def prepare(item: Labelled) -> tuple[Labelled, Recomputing | None]:
        with sandbox.open(item.source) as worker:
            return item, prepare_recomputing(
                worker, environment_id(item.source), sorted({0, level}), config.program_instances,
                config.program_gets, seed,
            )  # fmt: skip

    def judge(item: Labelled, recomputing: Recomputing, samples: list[Sample], prompt_tokens: int) -> None:
        samples.sort(key=lambda sample: sample.index)
        programs = [program_of(sample.text, sample.finish_reason) for sample in samples]
        with sandbox.open(item.source) as worker:
            found = recompute(recomputing, programs, worker, grader)
        kept.add_recomputation(item.name, found, sum(sample.tokens for sample in samples), prompt_tokens)

    with (
        ProgramGrader(allow_degraded=sandbox.allow_degraded) as grader,
        ThreadPoolExecutor(sandbox.workers, thread_name_prefix="evoenv-audit") as threads,
    ):
        asked: dict[str, tuple[Labelled, Recomputing, Request, int]] = {}
        for item, recomputing in threads.map(prepare, missing):
            if recomputing is not None:
                request = recomputing.request(item.name, config, derive_seed("audit-recompute", seed, item.name))
                tokens = tokens_for(policy, request.messages)
                if tokens <= config.max_prompt_tokens:
                    asked[item.name] = item, recomputing, request, tokens
                    continue
            kept.add_recomputation(item.name, recomputation_of((), ()))
        done = total - len(asked)
        progress(done, total)
        written: dict[str, list[Sample]] = {}
        judged: list[Future[None]] = []
        requests = [request for _, _, request, _ in asked.values()]
        for sample in ask_for_missing(policy.sample, requests, frozenset(), "audit again: what was given is kept"):
            samples = written.setdefault(sample.request_id, [])
            samples.append(sample)
            if len(samples) == config.programs:
                item, recomputing, _, tokens = asked[sample.request_id]
                judged.append(threads.submit(judge, item, recomputing, samples, tokens))
            progress(done + sum(future.done() for future in judged), total)
        for future in as_completed(judged):
            future.result()
            progress(done + sum(future.done() for future in judged), total)
