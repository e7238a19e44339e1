"""The overview of a run: where it is now, and how everything moved along its steps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from evoenv.runs.funnel import FUNNEL, STATES, add_funnels, refusals_of
from evoenv.runs.view import Progress, RunView, Step, mean, quantile
from evoenv.watch.documents import Document
from evoenv.watch.folder import changed_at, is_running, opened_at

METRICS = (
    "solver/score",
    "solver/right",
    "solver/format_ok",
    "solver/zero_variance",
    "generator/reward",
    "calibration/pass_rate",
    "recompute/right",
    "recompute/asymmetry",
    "novelty/gamma",
    "novelty/mean",
    "novelty/repetition",
    "pool/active",
    "pool/few_shot",
    "pool/admitted",
    "pool/prototypes",
    "loss/total",
    "grad/norm",
    "time/step",
    "time/tokens_per_second",
)
"""Series that the page draws."""
PARTS_OF_A_STEP = ("propose", "judge", "decide", "solve", "update")
"""What a step spends its time on; other times in the store overlap with these."""
ASYMMETRY_BINS = 20
RECENT_STEPS = 5
"""Steps that the expected duration of the next is taken from."""


def overview_document(view: RunView, name: str, directory: Path, steps: Sequence[Step]) -> Document:
    """Describe all that the overview shows; `steps` are those of the run, as `view.steps()` reads them."""
    config, progress = view.config, view.progress()
    finished = [step for step in steps if step.finished]
    return {
        "run": name,
        "created": view.created,
        "training": view.training,
        "curriculum": config.get("curriculum", {}).get("name", "evoenv"),
        "model": config.get("model", {}).get("name") or config.get("model", {}).get("base_url"),
        "candidates": sum(step.fates.total() for step in steps),
        "environments": _environments(view),
        "now": now_document(view, directory, progress, finished),
        "funnel": {
            "names": FUNNEL,
            "total": add_funnels(step.funnel for step in steps),
            "step": next((step.funnel for step in steps if step.number == progress.step), None),
            "left_out": [] if config.get("review", {}).get("enabled", True) else ["review"],
        },
        "states": STATES,
        "refusals": refusals_of(sum((step.fates for step in steps), start=type(steps[0].fates)())) if steps else {},
        "findings": dict(view.finding_counts(progress.step).most_common(20)),
        "steps": [_step_document(step) for step in steps],
        "asymmetries": asymmetries_document(view, progress.step),
        "evaluations": [
            {"step": item.step, "suite": item.suite, "accuracy": item.accuracy, "low": item.low, "high": item.high,
             "n": item.n}
            for item in view.evaluations()
        ],
    }  # fmt: skip


def now_document(view: RunView, directory: Path, progress: Progress, finished: Sequence[Step]) -> Document:
    """Describe where the run is at this moment, and how long it may still take."""
    began = _step_began(view, progress.step)
    resumed = opened_at(directory)
    if began is not None and resumed is not None:
        began = max(began, resumed)  # a step that was begun, stopped and gone on with
    elapsed = max(0.0, time.time() - began) if began is not None else None
    running = is_running(directory)
    durations = [step.metrics["time/step"] for step in finished[-RECENT_STEPS:] if "time/step" in step.metrics]
    expected = mean(durations)
    left = None
    if running and expected is not None:
        left = expected * max(0, progress.wanted_steps - progress.step)
        left += max(0.0, expected - (elapsed or 0.0)) if progress.stage is not None else 0.0
    speeds = [step.metrics.get("time/tokens_per_second") for step in finished[-1:]]
    if running and progress.stage is not None and elapsed and began != resumed:
        speeds = [view.tokens([progress.step]) / elapsed]
    return {
        "running": running,
        "changed": changed_at(directory),
        "step": progress.step,
        "last": progress.last_step,
        "wanted": progress.wanted_steps,
        "stage": progress.stage,
        "done_stages": progress.done_stages,
        "done": progress.done,
        "total": progress.total,
        "elapsed": elapsed if running else None,
        "tokens_per_second": speeds[0] if speeds else None,
        "seconds_left": left,
    }


def asymmetries_document(view: RunView, last: int) -> Document | None:
    """Count candidates and admitted ones by asymmetry, in equal bins from −1 to 1; None if nothing was recomputed."""
    known = view.asymmetries(last)
    if not known:
        return None
    bins = [min(ASYMMETRY_BINS - 1, int((value + 1) / 2 * ASYMMETRY_BINS)) for _, _, value, _ in known]
    return {
        "edges": [2 * edge / ASYMMETRY_BINS - 1 for edge in range(ASYMMETRY_BINS + 1)],
        "candidates": [bins.count(bin_number) for bin_number in range(ASYMMETRY_BINS)],
        "admitted": [
            sum(at == bin_number and admitted for at, (*_, admitted) in zip(bins, known, strict=True))
            for bin_number in range(ASYMMETRY_BINS)
        ],
        "mean": mean(value for _, _, value, _ in known),
    }


def _step_began(view: RunView, step: int) -> float | None:
    """Return when the step before was done, or when the run was begun."""
    rows = view.store.query("SELECT at FROM stages WHERE step = ? AND stage = 'rotated'", [step - 1])
    return float(rows[0][0]) if rows else view.created


def _environments(view: RunView) -> Document:
    ((total, active, original, retired, admitted),) = view.store.query(
        "SELECT count(*), coalesce(sum(active), 0), coalesce(sum(original), 0), count(retired_step), "
        "count(candidate_id) FROM environments"
    )
    return {"total": total, "active": active, "original": original, "retired": retired, "admitted": admitted}


def _step_document(step: Step) -> Document:
    times = {name: step.metrics[f"time/{name}"] for name in PARTS_OF_A_STEP if f"time/{name}" in step.metrics}
    if "time/step" in step.metrics:
        times["other"] = max(0.0, step.metrics["time/step"] - sum(times.values()))
    return {
        "step": step.number,
        "finished": step.finished,
        "fates": step.fates,
        "funnel": step.funnel,
        "metrics": {name: step.metrics[name] for name in METRICS if name in step.metrics},
        "reward": mean(step.rewards),
        "reward_range": [quantile(step.rewards, 0.1), quantile(step.rewards, 0.9)] if step.rewards else None,
        "quality": step.quality,
        "diversity": step.diversity,
        "generator_silent": step.generator_zero_variance,
        "times": times,
    }
