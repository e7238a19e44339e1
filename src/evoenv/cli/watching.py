"""Watching a run: what the store says about the current step, in numbers (a snapshot) and in one line per stage.

A view reads the store and nothing else, in the run's own thread, so that after a resume it shows what it would
have shown without the stop.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from evoenv.config import Config
from evoenv.ports import Traffic
from evoenv.records import StepSummary
from evoenv.runs.funnel import NO_FATES, NO_FUNNEL, Funnel, refusals_of
from evoenv.runs.view import RunView
from evoenv.stages.context import Observer
from evoenv.store.store import Stage, Store
from evoenv.wording import duration, plural

TRENDS = (
    "generator/reward",
    "calibration/pass_rate",
    "solver/score",
    "solver/right",
    "solver/format_ok",
    "solver/zero_variance",
    "time/tokens_per_second",
)
"""Metrics that a view shows with their history."""
EVENTS_KEPT = 50
QUIET_S = 30.0
"""Seconds without a line after which a plain view says what it is waiting for."""
REFUSALS = {
    "malformed": "malformed",
    "layer": "by validation",
    "review": "by review",
    "too-hard": "too hard",
    "too-easy": "too easy",
    "asymmetry": "no easier for programs",
    "gate": "not novel",
    "batch-duplicate": "duplicate in the batch",
}
"""Fates in words, in the order of the rules."""


@dataclass
class Snapshot:
    """All that a view shows, as plain values."""

    command: str
    directory: str
    steps: int
    trains: bool = True
    step: int = 0
    stage: Stage | None = None
    done: int = 0
    total: int = 0
    began: float = field(default_factory=time.monotonic)
    step_began: float = field(default_factory=time.monotonic)
    step_seconds: float | None = None
    """What a step takes, by the last few; None before the first is done."""
    funnel: Funnel = NO_FUNNEL
    active: int = 0
    few_shot: int = 0
    originals: int = 0
    admitted: int = 0
    """Generated environments that ever entered the pool."""
    trends: dict[str, list[float]] = field(default_factory=dict)
    events: deque[tuple[int, Stage, str]] = field(default_factory=lambda: deque(maxlen=EVENTS_KEPT))
    """(step, stage, line), oldest first."""
    stopping: str = ""
    """Why the run will stop after this stage."""
    waiting: str = ""
    """What the policy is writing."""

    def seconds_left(self, now: float) -> float | None:
        """Estimate how long the run still takes; None before the first step is done."""
        if self.step_seconds is None:
            return None
        left = self.step_seconds * (self.steps - self.step)
        if self.stage is not None:
            left += max(0.0, self.step_seconds - (now - self.step_began))
        return left


class Watch(Observer):
    """Keeps a snapshot up to date; `said` is called with every finished stage's line."""

    def __init__(
        self, store: Store, config: Config, command: str, *, trains: bool = True, steps: int | None = None
    ) -> None:
        self.store = store
        self.view = RunView(store)
        self.config = config
        self.snapshot = Snapshot(command, str(store.directory), steps or config.run.steps, trains)
        self._last_read = 0.0
        self._stage_began = time.monotonic()
        self._read_pool()
        self._read_trends()

    def stage(self, step: int, stage: Stage) -> None:
        snapshot = self.snapshot
        if snapshot.stage is not None and snapshot.step == step:
            self._finished(step, snapshot.stage)
        if snapshot.step != step:
            snapshot.step, snapshot.step_began = step, time.monotonic()
            self._read_pool()
        snapshot.stage, snapshot.done, snapshot.total = stage, 0, 0
        self._stage_began = time.monotonic()
        self._read_funnel()

    def progress(self, step: int, stage: Stage, done: int, total: int) -> None:
        snapshot = self.snapshot
        snapshot.done, snapshot.total = done, total
        if time.monotonic() - self._last_read > 0.5:
            self._read_funnel()

    def summary(self, summary: StepSummary) -> None:
        self._finished(summary.step, "rotated")
        self.snapshot.stage = None
        self._read_funnel()
        self._read_pool()
        self._read_trends()

    def said(self, step: int, stage: Stage, line: str, seconds: float) -> None:
        """Take note that a stage is done."""
        self.snapshot.events.append((step, stage, line))

    def stopping(self, reason: str) -> None:
        """Take note that a stop was asked for: the current stage is finished first."""
        self.snapshot.stopping = reason

    def follow(self, traffic: Callable[[], Traffic | None]) -> None:
        """Show what the policy is writing, for one that can say; called once."""

    def close(self) -> None:
        """Leave the screen."""

    # ----------------------------------------------------------------- reading the store

    def _finished(self, step: int, stage: Stage) -> None:
        line = stage_line(self.store, step, stage)
        if line:
            self.said(step, stage, line, time.monotonic() - self._stage_began)

    def _read_funnel(self) -> None:
        self._last_read = time.monotonic()
        self.snapshot.funnel = self.view.funnel(self.snapshot.step)

    def _read_pool(self) -> None:
        pool, snapshot = self.store.pool(), self.snapshot
        snapshot.active, snapshot.few_shot = len(pool.active), len(pool.few_shot)
        snapshot.originals = sum(member.original and member.active for member in pool.members.values())
        snapshot.admitted = self.store.query("SELECT count(candidate_id) FROM environments")[0][0]

    def _read_trends(self) -> None:
        self.snapshot.trends = {name: [value for _, value in self.view.series(name)] for name in TRENDS}
        seconds = [value for _, value in self.view.series("time/step")][-5:]
        self.snapshot.step_seconds = sum(seconds) / len(seconds) if seconds else None


class PlainView(Watch):
    """One line per stage and step, for logs and pipes; if a stage takes long, a line about that now and then."""

    def __init__(
        self,
        store: Store,
        config: Config,
        command: str,
        write: Callable[[str], None],
        *,
        quiet_s: float | None = None,
        **options: object,
    ) -> None:
        super().__init__(store, config, command, **options)  # type: ignore[arg-type]
        self._print = write
        self._quiet_s = QUIET_S if quiet_s is None else quiet_s
        self._closed = threading.Event()
        self._spoken = threading.Event()

    def follow(self, traffic: Callable[[], Traffic | None]) -> None:
        """Say what is under way whenever nothing else was said for `quiet_s` seconds, until the view is closed."""

        def watch() -> None:
            while not self._closed.wait(self._quiet_s):
                snapshot = self.snapshot
                if not self._spoken.is_set() and snapshot.stage is not None:
                    words = traffic_line(traffic()) or self._at_work()
                    self._print(f"step {snapshot.step}/{snapshot.steps}  {snapshot.stage:<10}  {words}")
                self._spoken.clear()

        threading.Thread(target=watch, daemon=True, name="evoenv-traffic").start()

    def _at_work(self) -> str:
        snapshot = self.snapshot
        counted = f", {snapshot.done} of {snapshot.total}" if snapshot.total else ""
        return f"at work for {duration(time.monotonic() - self._stage_began)}{counted}"

    def close(self) -> None:
        self._closed.set()

    def _write(self, line: str) -> None:
        self._spoken.set()
        self._print(line)

    def said(self, step: int, stage: Stage, line: str, seconds: float) -> None:
        super().said(step, stage, line, seconds)
        took = f"  ({seconds:.1f} s)" if seconds >= 0.05 else ""
        self._write(f"step {step}/{self.snapshot.steps}  {stage:<10}  {line}{took}")

    def summary(self, summary: StepSummary) -> None:
        super().summary(summary)
        remaining = (self.snapshot.steps - summary.step) * (self.snapshot.step_seconds or 0.0)
        more = f", about {duration(remaining)} left" if remaining > 0 else ""
        self._write(
            f"step {summary.step}/{self.snapshot.steps}  done        in {duration(summary.metrics['time/step'])}{more}"
        )

    def stopping(self, reason: str) -> None:
        super().stopping(reason)
        self._write(reason)


# --------------------------------------------------------------------------- the store in words and numbers


def traffic_line(traffic: Traffic | None) -> str:
    """Write which answers are waited for, in one line; empty if none are under way."""
    if traffic is None or not traffic.waiting:
        return ""
    repeated = f", {plural(traffic.retries, 'failed request')} repeated" if traffic.retries else ""
    answers = plural(traffic.waiting, "answer")
    return f"waiting for {answers}: {plural(traffic.received, 'token')} of them so far{repeated}"


def stage_line(store: Store, step: int, stage: Stage) -> str:
    """Write what a finished stage came to, in one line; empty if it had nothing to do."""
    view, metrics = RunView(store), store.metrics(step)

    def number(name: str, form: str) -> str:
        return format(metrics[name], form) if name in metrics else "–"

    if stage == "generated":
        fates = view.fates(step, step).get(step, NO_FATES)
        proposed = plural(fates.counts.total(), "question" if fates.questions else "candidate")
        return f"{proposed} from {plural(len(store.requests(step, 'generate')), 'prompt')}"
    if stage == "validated":
        _, *passed = view.funnel(step)[:6]
        common = ", ".join(f"{code} ×{count}" for code, count in view.first_findings(step).most_common(3))
        reached = " → ".join(f"L{layer} {count}" for layer, count in enumerate(passed, 1))
        return f"{reached}" + (f"; most often {common}" if common else "")
    if stage == "reviewed":
        verdicts: Counter[str] = Counter(
            review.verdict for reviews in store.reviews(step).values() for review in reviews
        )
        verdicts.update(item.verdict for item in store.recomputations(step).values())
        return ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    if stage == "calibrated":
        votes = [item.share for item in store.votes(step).values()]
        rates = [f"{rate:.2f}" for rate in votes or [item.pass_rate for item in store.calibrations(step).values()]]
        words = "vote shares" if votes else "pass rates"
        return f"{words} {', '.join(rates[:8])}{' …' if len(rates) > 8 else ''}" if rates else ""
    if stage == "decided":
        return _decided_line(view, step, number("generator/reward", "+.2f"))
    if stage == "solved":
        if "solver/score" not in metrics:
            return ""
        return (
            f"mean score {number('solver/score', '.3f')}, fully right {number('solver/right', '.0%')}, "
            f"no signal in {number('solver/zero_variance', '.0%')} of the groups"
        )
    if stage == "updated":
        if "loss/total" not in metrics:
            return ""
        return (
            f"{number('groups/kept', '.0f')} groups kept, loss {number('loss/total', '+.4f')}, "
            f"gradient norm {number('grad/norm', '.3f')}"
        )
    retired = int(metrics.get("pool/retired", 0))
    return (
        f"pool: {number('pool/active', '.0f')} active, {number('pool/few_shot', '.0f')} examples"
        + (f", {retired} retired" if retired else "")
        + (f"; {number('time/tokens_per_second', ',.0f')} tokens/s" if "time/tokens_per_second" in metrics else "")
    )


def _decided_line(view: RunView, step: int, reward: str) -> str:
    fates = view.fates(step, step).get(step, NO_FATES)
    refusals = refusals_of(fates.counts)
    refused = ", ".join(f"{refusals[name]} {words}" for name, words in REFUSALS.items() if refusals[name])
    if fates.questions:
        admitted = f"kept {plural(fates.counts['admitted'], 'question')}"
    else:
        names = [entry.name for entry in view.admitted(step)]
        admitted = f"admitted {', '.join(names)}" if names else "none admitted"
    return f"{admitted}" + (f"; refused {refused}" if refused else "") + f"; mean reward {reward}"
