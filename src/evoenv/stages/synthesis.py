"""Candidates out of the generator, each validated while the others are still being sampled."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial

from evoenv.config import Config
from evoenv.environment.answers import extract_source
from evoenv.errors import ConfigError
from evoenv.ids import GeneratorRequestId
from evoenv.pool.state import PoolState
from evoenv.prompts.generator import Example, choose_distinct_examples, choose_topics, generator_messages
from evoenv.records import Candidate, Message, Request, Sample, ValidationReport, derive_seed
from evoenv.stages.context import Run
from evoenv.stages.repairs import repair_requests
from evoenv.stages.sampling import ask, prompt_tokens
from evoenv.store.store import RequestRecord, Stage
from evoenv.validation.codes import finding
from evoenv.validation.validate import validate

LAYERS = 5


@dataclass(frozen=True, slots=True)
class Proposed:
    """The candidates of a step by group and index, and what validation said of each."""

    candidates: list[Candidate]
    reports: dict[str, ValidationReport]

    @property
    def finalists(self) -> list[Candidate]:
        """Those that reached L5."""
        return [item for item in self.candidates if self.reports[item.id].passed]


def synthesise(run: Run, step: int, pool: PoolState) -> Proposed:
    """Sample candidates from prompts built on S, and find ℓ(e) of each."""
    run.begin(step, "generated")
    if not run.store.stage_done(step, "validated"):
        began = time.perf_counter()
        asked, parents = generator_requests(run, step, pool)
        with _Validation(run, step) as validation:
            # a resumed run may ask for fewer than it has: those are judged, too
            for candidate in run.store.candidates(step):
                validation.submit(candidate)
            cut_off = _collect_candidates(run, step, "generated", asked, parents, validation)
            if not run.store.stage_done(step, "generated"):
                with run.store.stage(step, "generated"):
                    run.store.add_metrics(step, {"time/generate": time.perf_counter() - began})
            if run.ahead is not None and run.training:  # without training, repairs may follow
                run.ahead.proposed(run.store.candidates(step))
            run.observer.stage(step, "validated")
            validation.finish()
            if not run.training:
                _repair(run, step, cut_off, validation)
        proposed = Proposed(run.store.candidates(step), run.store.reports(step))
        with run.store.stage(step, "validated"):
            run.store.add_metrics(step, {**funnel(proposed), "time/propose": time.perf_counter() - began})
    return Proposed(run.store.candidates(step), run.store.reports(step))


def _collect_candidates(
    run: Run,
    step: int,
    stage: Stage,
    asked: Sequence[RequestRecord],
    parents: Mapping[str, tuple[str, ...]],
    validation: _Validation,
) -> set[str]:
    """Make candidates of the answers and begin to validate them; return the ids of those that were cut off."""
    cut_off: set[str] = set()
    for sample in ask(run, step, stage, asked):
        candidate = candidate_of(sample, parents[sample.request_id])
        run.store.add_candidates([candidate])
        validation.submit(candidate)
        if sample.finish_reason == "length":
            cut_off.add(candidate.id)
    return cut_off


def _repair(run: Run, step: int, cut_off: set[str], validation: _Validation) -> None:
    """Send what failed back to its author, up to `synth.repairs` times; a repair that changed nothing only once."""
    latest = [item for item in run.store.candidates(step) if item.group < run.config.generator.prompts]
    for _ in range(run.config.synth.repairs):
        reports = run.store.reports(step)
        failed = [
            (candidate, reports[candidate.id])
            for candidate in latest
            if not reports[candidate.id].passed and candidate.response.strip()  # a refused request has nothing to mend
        ]
        asked, parents = repair_requests(run, failed, cut_off)
        if not asked:
            return
        run.begin(step, "validated")
        cut_off |= _collect_candidates(run, step, "validated", asked, parents, validation)
        validation.finish()
        known = {candidate.id: candidate for candidate in run.store.candidates(step)}
        mended = run.store.repaired(step)
        repairs = [known[str(GeneratorRequestId.parse(item.request.id).candidate(0))] for item in asked]
        latest = [item for item in repairs if item.source != known[mended[item.id]].source]


def generator_requests(run: Run, step: int, pool: PoolState) -> tuple[list[RequestRecord], dict[str, tuple[str, ...]]]:
    """Build one request per generator prompt; return with them the parents of their candidates."""
    config = run.config.generator
    examples = pool.few_shot
    vectors = run.cache.joint_vectors(examples)
    asked: list[RequestRecord] = []
    parents: dict[str, tuple[str, ...]] = {}
    sizes = group_sizes(run.config, run.store.count_candidates(before_step=step))
    seeds = [derive_seed(run.seed, "few-shot", step, group) for group in range(len(sizes))]
    topics = _topics(run, step, len(sizes))

    @cache
    def prompt_of(rows: tuple[int, ...], topics: tuple[str, ...] = ()) -> tuple[tuple[Message, ...], tuple[str, ...]]:
        shown = [Example(examples[row], run.store.source(examples[row]) or "") for row in rows]
        return _fitting_prompt(run, shown, topics)

    choices = choose_distinct_examples(
        vectors, config.few_shot, seeds, config.few_shot_choice, shown=lambda rows: prompt_of(tuple(rows))[1]
    )
    for group, (count, rows) in enumerate(zip(sizes, choices, strict=True)):
        messages, example_ids = prompt_of(tuple(rows), topics[group])
        request = Request(
            id=str(GeneratorRequestId(step, group)),
            role="generator",
            messages=messages,
            count=count,
            temperature=config.temperature,
            top_p=config.top_p,
            max_tokens=config.max_tokens,
            seed=derive_seed(run.seed, "generator", step, group),
            trains=run.training,
        )
        asked.append(RequestRecord(request, "generate"))
        parents[request.id] = example_ids
    return asked, parents


def group_sizes(config: Config, proposed: int) -> list[int]:
    """Divide a step's candidates among its prompts: all full, unless `run.candidates` less `proposed` is fewer."""
    size, prompts = config.generator.candidates_per_prompt, config.generator.prompts
    if not config.run.candidates:
        return [size] * prompts
    left = max(0, min(config.run.candidates - proposed, size * prompts))
    return [size] * (left // size) + [left % size] * bool(left % size)


def _topics(run: Run, step: int, prompts: int) -> list[tuple[str, ...]]:
    """Draw the topics of each prompt, mostly such as few of the environments admitted so far have."""
    count = run.config.generator.topics
    if not count:
        return [()] * prompts
    known = [record.tags for record in run.store.environments()]
    return [choose_topics(known, count, derive_seed(run.seed, "topics", step, group)) for group in range(prompts)]


def _fitting_prompt(
    run: Run, examples: list[Example], topics: tuple[str, ...]
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Build the prompt with as many of the examples as the limit holds; return with it the ids of those it shows."""
    config = run.config.generator
    for count in range(len(examples), -1, -1):
        messages, example_ids = generator_messages(examples[:count], config.prompt, config.max_prompt_tokens, topics)
        length = prompt_tokens(run, messages)
        if length <= config.max_prompt_tokens:
            return messages, example_ids
    raise ConfigError(
        f"the generator's prompt has {length} tokens even without examples; generator.max_prompt_tokens is "
        f'{config.max_prompt_tokens}. Raise it, or set generator.prompt = "short"'
    )


def candidate_of(sample: Sample, parents: tuple[str, ...]) -> Candidate:
    """Make a candidate of a sample of the generator; `parents` are the examples that its prompt showed."""
    request = GeneratorRequestId.parse(sample.request_id)
    return Candidate(
        step=request.step,
        group=request.group,
        index=sample.index,
        response=sample.text,
        source=extract_source(sample.text),
        parents=parents,
    )


def funnel(proposed: Proposed) -> dict[str, float]:
    """Count the candidates that passed each layer."""
    layers = [report.layer for report in proposed.reports.values()]
    counts = {f"funnel/l{layer}": float(sum(reached >= layer for reached in layers)) for layer in range(1, LAYERS + 1)}
    return {"funnel/candidates": float(len(layers)), **counts}


class _Validation:
    """Validates on as many threads as the sandbox has workers; writes from the caller's thread only.

    If stages overlap, verdicts are also taken up between the samples of others, and told to what asks ahead.
    """

    def __init__(self, run: Run, step: int) -> None:
        self._run, self._step = run, step
        self._threads = ThreadPoolExecutor(run.sandbox.workers, thread_name_prefix="evoenv-validate")
        self._known = run.store.reports(step)
        self._done = set(self._known)
        self._submitted: set[str] = set()
        self._running: dict[Future[ValidationReport], list[Candidate]] = {}
        self._by_source: dict[str | None, Future[ValidationReport]] = {}
        self._closing = ExitStack()

    def __enter__(self) -> _Validation:
        self._closing.callback(self._threads.shutdown, wait=True, cancel_futures=True)
        if self._run.conversation is not None:
            self._closing.enter_context(self._run.conversation.listening(self._take_up))
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def submit(self, candidate: Candidate) -> None:
        """Start validating; a source that is already being validated is not run twice."""
        if candidate.id in self._submitted:
            return
        self._submitted.add(candidate.id)
        if candidate.id in self._known:
            self._tell(candidate, self._known[candidate.id])
            return
        future = self._by_source.get(candidate.source)
        if future is None:
            future = self._threads.submit(self._validate, candidate.source)
            self._by_source[candidate.source] = future
        self._running.setdefault(future, []).append(candidate)
        self._take_up()

    def finish(self) -> None:
        while self._running:
            if self._run.conversation is None:
                wait(self._running, return_when=FIRST_COMPLETED)
            else:
                self._run.conversation.until(list(self._running))
            self._take_up()
            self._run.observer.progress(
                self._step, "validated", len(self._done), len(self._done) + sum(map(len, self._running.values()))
            )

    def _take_up(self) -> bool:
        """Write down the verdicts that are there; return whether others are being made."""
        judged: list[tuple[Candidate, ValidationReport]] = []
        with self._run.store.transaction():
            for future in [future for future in self._running if future.done()]:
                for candidate in self._running.pop(future):
                    self._run.store.add_report(self._step, candidate.id, future.result())
                    self._done.add(candidate.id)
                    judged.append((candidate, future.result()))
        for candidate, report in judged:
            self._tell(candidate, report)
        return bool(self._running)

    def _tell(self, candidate: Candidate, report: ValidationReport) -> None:
        if self._run.ahead is not None:
            self._run.ahead.validated(candidate, report)

    def _validate(self, source: str | None) -> ValidationReport:
        if source is None:
            return ValidationReport(0, (finding("L1.no-code", "the response has no fenced Python block"),))
        work = partial(validate, source, layer_seconds=self._run.config.validation.layer_seconds)
        return self._run.sandbox.near(work)
