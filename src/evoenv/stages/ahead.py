"""Ask early for what later stages of a step are certain to ask, so that servers have work while candidates are judged.

- What is asked about a candidate that passes L5 does not depend on what becomes of the others: its requests are made
  and sent at once.
- A solver group is certain as soon as no candidate that may still be admitted can win its draw (`certain_draws`). Such
  groups wait in reserve: they are sent when the policy would otherwise have too little to do.

Nothing is decided here. The stages ask for the same requests in their turn, with the same ids and seeds, and find what
is there already; so a step comes to the same result with and without this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from evoenv.pool.state import Draw, PoolState, certain_draws
from evoenv.records import Candidate, Instance, ValidationReport, environment_id
from evoenv.stages.context import Run
from evoenv.stages.conversation import Conversation
from evoenv.stages.judgement import Case, case_requests, prepare_case
from evoenv.stages.solving import by_environment, draw_request, make_instances


@contextmanager
def overlapping(run: Run, step: int, pool: PoolState) -> Iterator[None]:
    """Let the stages inside overlap, if the configuration says so (`engine.overlap`).

    However it is left, no thread is at work afterwards and nothing is being sampled.
    """
    if not run.config.overlaps:
        yield
        return
    with ExitStack() as closing:
        conversation = Conversation(run, step, run.config.drawn_at_once)
        ahead = Ahead(run, step, pool, conversation)
        closing.callback(ahead.close)
        closing.enter_context(conversation)
        closing.enter_context(conversation.listening(ahead.take_up))
        closing.callback(_forget, run)
        run.conversation, run.ahead = conversation, ahead
        yield


def _forget(run: Run) -> None:
    run.conversation = run.ahead = None


class Ahead:
    """Knows of a step what is certain; makes it ready on threads of its own, beside those that validate."""

    def __init__(self, run: Run, step: int, pool: PoolState, conversation: Conversation) -> None:
        self._run, self._step, self._pool = run, step, pool
        self._conversation = conversation
        self._threads = ThreadPoolExecutor((run.sandbox.workers + 1) // 2, thread_name_prefix="evoenv-ahead")
        self._cases: dict[str, Future[Case]] = {}
        self._preparing: set[str] = set()
        """Candidates about whom nothing is asked yet."""
        self._may_enter: dict[str, str] | None = None
        """Environment ids by candidate, of those that may still be admitted; None while more may be proposed."""
        self._refused: set[str] = set()
        self._undrawn = set(range(run.config.solver.prompts))
        self._drawn: dict[int, Draw] = {}
        self._instances: dict[int, Instance] = {}
        self._making: list[Future[dict[int, Instance]]] = []

    def close(self) -> None:
        """Wait for what is at work, and begin nothing more."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    # ------------------------------------------------------------------ what is told

    def validated(self, candidate: Candidate, report: ValidationReport) -> None:
        """Hear a verdict: what passed is made ready to be judged."""
        if not report.passed:
            self._refused.add(candidate.id)
            if self._may_enter is not None and self._may_enter.pop(candidate.id, None) is not None:
                self._draw()
        elif not self._run.stop.is_set():
            self._prepare(candidate, report)

    def proposed(self, candidates: Sequence[Candidate]) -> None:
        """Hear that the step has no more candidates than these: from now on draws may be certain."""
        if self._run.config.run.candidates:  # a resumed run may be allowed more of them
            return
        sources = {item.id: environment_id(item.source) for item in candidates if item.source is not None}
        self._may_enter = {
            candidate_id: source_id
            for candidate_id, source_id in sources.items()
            if candidate_id not in self._refused and source_id not in self._run.cache
        }
        self._draw()

    # ------------------------------------------------------------------ what the stages take over

    def cases(self, finalists: Sequence[tuple[Candidate, ValidationReport]]) -> list[Case]:
        """Return what was made ready of these candidates, and what is asked about each; prepare the others now."""
        for candidate, report in finalists:
            self._prepare(candidate, report)
        while self._preparing:
            self._conversation.until([self._cases[candidate_id] for candidate_id in self._preparing])
            self.take_up()
        return [self._cases[candidate.id].result() for candidate, _ in finalists]

    def instances(self, draws: Sequence[Draw]) -> tuple[dict[int, Instance], set[int]]:
        """Return the instances made early, and the indices of all draws for which that was tried."""
        while self._making:
            self._conversation.until(list(self._making))
            self.take_up()
        assert all(draws[index] == drawn for index, drawn in self._drawn.items()), "a certain draw was not made"
        return dict(self._instances), set(self._drawn)

    # ------------------------------------------------------------------ work

    def take_up(self) -> bool:
        """Ask for what the threads have made ready; return whether they are still at work."""
        for candidate_id in sorted(self._preparing):
            if self._cases[candidate_id].done():
                self._preparing.discard(candidate_id)
                self._conversation.submit(case_requests(self._run, self._cases[candidate_id].result()))
        for future in [future for future in self._making if future.done()]:
            self._making.remove(future)
            made = future.result()
            self._instances.update(made)
            self._conversation.reserve(
                draw_request(self._run, self._step, index, self._drawn[index], instance)
                for index, instance in sorted(made.items())
            )
        return bool(self._preparing or self._making)

    def _prepare(self, candidate: Candidate, report: ValidationReport) -> None:
        if candidate.id not in self._cases:
            self._cases[candidate.id] = self._threads.submit(prepare_case, self._run, self._step, candidate, report)
            self._preparing.add(candidate.id)

    def _draw(self) -> None:
        """Begin to make the instances of draws that have become certain."""
        if not self._run.training or self._may_enter is None or self._run.stop.is_set():
            return
        may_enter = set(self._may_enter.values())
        config = self._run.config.solver
        drawn = certain_draws(self._pool, may_enter, self._step, self._undrawn, self._run.seed, config)
        self._undrawn -= set(drawn)
        self._drawn.update(drawn)
        for source, own in by_environment(self._run, drawn):
            self._making.append(self._threads.submit(make_instances, self._run, self._step, source, own))
