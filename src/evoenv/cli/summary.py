"""What a run came to: what was proposed, why candidates were refused, what was admitted, how the solver moved."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evoenv.cli.watching import FUNNEL, REFUSALS, funnel
from evoenv.store.store import Store
from evoenv.validation.codes import CODES
from evoenv.wording import duration, plural

FINDINGS_SHOWN = 8
ENVIRONMENTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Admitted:
    name: str
    step: int
    pass_rate: float | None
    reward: float
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Movement:
    """Mean scores at the first and the last step at which the solver met an environment."""

    name: str
    first_step: int
    first: float
    last_step: int
    last: float
    responses: int


@dataclass(frozen=True, slots=True)
class Summary:
    steps: int
    seconds: float
    tokens: int
    funnel: tuple[int, ...]
    """Candidates along watching.FUNNEL, then admitted, over all finished steps."""
    findings: Counter[str]
    """How many candidates were refused with which finding; a candidate counts once per code."""
    refusals: Counter[str]
    admitted: tuple[Admitted, ...]
    solver: Movement | None
    """Over all environments: mean score of the first and of the last step."""
    environments: tuple[Movement, ...]
    learnt: bool | None
    """Whether any group had two different rewards, so that there was something to learn from; None: nobody counted."""
    active: int
    few_shot: int
    reviewed: bool = True
    """False: the run left review out, and all that reached L5 went on."""


def summarise(store: Store) -> Summary:
    """Read the whole run, finished steps only."""
    last = store.last_step()
    totals = [0] * (len(FUNNEL) + 1)
    findings: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    tokens, seconds = 0, 0.0
    kept: list[float] = []
    scores: dict[str, dict[int, list[float]]] = {}
    for step in range(1, last + 1):
        totals = [total + (count or 0) for total, count in zip(totals, funnel(store, step), strict=True)]
        refusals.update({reason: count for reason, count in store.fate_counts(step).items() if reason != "admitted"})
        for report in store.reports(step).values():
            findings.update({finding.code for finding in report.findings})
        tokens += sum(store.tokens(step).values())
        metrics = store.metrics(step)
        seconds += metrics.get("time/step", 0.0)
        kept += [metrics["groups/kept"]] if "groups/kept" in metrics else []
        subjects = store.requests(step, "solve")
        for (request, _), score in store.scores(step, "solve").items():
            scores.setdefault(subjects[request][0] or "", {}).setdefault(step, []).append(score.value)
    names = {record.id: record.name for record in store.environments()}
    pool = store.pool()
    together: dict[int, list[float]] = {}
    for steps in scores.values():
        for step, values in steps.items():
            together.setdefault(step, []).extend(values)
    return Summary(
        steps=last,
        seconds=seconds,
        tokens=tokens,
        funnel=tuple(totals),
        findings=findings,
        refusals=refusals,
        admitted=tuple(_admitted(store, names)),
        solver=_movement("all", together) if together else None,
        environments=tuple(_movement(names.get(name, name), steps) for name, steps in scores.items()),
        learnt=any(kept) if kept else None,
        active=len(pool.active),
        few_shot=len(pool.few_shot),
        reviewed=bool((store.meta("config") or {}).get("review", {}).get("enabled", True)),
    )


def _movement(name: str, steps: dict[int, list[float]]) -> Movement:
    first, last = min(steps), max(steps)
    return Movement(
        name, first, _mean(steps[first]), last, _mean(steps[last]), sum(len(values) for values in steps.values())
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _admitted(store: Store, names: dict[str, str]) -> list[Admitted]:
    found = []
    for record in store.environments():
        if record.candidate_id is None:
            continue
        step = record.admitted_step
        (decision,) = (item for item in store.decisions(step) if item.candidate_id == record.candidate_id)
        (candidate,) = (item for item in store.candidates(step) if item.id == record.candidate_id)
        parents = tuple(names.get(parent, parent) for parent in candidate.parents)
        calibration = store.calibrations(step).get(record.candidate_id)
        rate = None if calibration is None else calibration.pass_rate
        found.append(Admitted(record.name, step, rate, decision.reward, parents))
    return found


# --------------------------------------------------------------------------- in words


def show_summary(directory: Path, screen: Console) -> None:
    """The summary of the run in `directory`, and where to look further."""
    with Store.read(directory) as store:
        show(summarise(store), directory, screen)


def show(summary: Summary, directory: Path, screen: Console) -> None:
    def say(text: str = "", style: str = "") -> None:
        screen.print(Text(text, style), soft_wrap=True)

    say()
    if not summary.steps:
        say(f"No step is finished yet. The run is in {directory}.")
        return
    tokens = f", {summary.tokens:,} tokens sampled" if summary.tokens else ""
    say(f"{plural(summary.steps, 'step')} in {duration(summary.seconds)}{tokens}", "bold")
    proposed, *passed, reviewed, calibrated, admitted = summary.funnel
    if summary.findings or any(passed):
        say(f"\nProposed: {plural(proposed, 'candidate')}", "bold")
        layers = " → ".join(f"L{layer} {count}" for layer, count in enumerate(passed, 1))
        review = f"review {reviewed}" if summary.reviewed else "review left out"
        say(f"  passed {layers} → {review} → calibration {calibrated} → admitted {admitted}")
        if summary.refusals:
            refused = ", ".join(
                f"{summary.refusals[name]} {words}" for name, words in REFUSALS.items() if summary.refusals[name]
            )
            say(f"\nRefused: {refused}", "bold")
            screen.print(_findings(summary))
        say(f"\nAdmitted: {plural(len(summary.admitted), 'environment')}", "bold")
        for item in summary.admitted[-ENVIRONMENTS_SHOWN:]:
            rate = "not calibrated" if item.pass_rate is None else f"pass rate {item.pass_rate:.2f}"
            say(
                f"  {item.name}  step {item.step}, {rate}, reward {item.reward:+.2f}, "
                f"after {', '.join(item.parents) or 'no example'}"
            )
    elif proposed:
        refused = ", ".join(
            f"{summary.refusals[name]} {words}" for name, words in REFUSALS.items() if summary.refusals[name]
        )
        say(
            f"\nAsked: {plural(proposed, 'question')}; kept {admitted}" + (f", refused {refused}" if refused else ""),
            "bold",
        )
    if summary.active or summary.few_shot:
        say(f"  the pool now: {summary.active} active, {summary.few_shot} serving as examples")
    if summary.solver is not None:
        moved = summary.solver
        say(
            f"\nSolver: mean score {moved.first:.3f} at step {moved.first_step}, {moved.last:.3f} at step "
            f"{moved.last_step} ({moved.responses:,} responses)",
            "bold",
        )
        screen.print(_movements(summary))
        if summary.learnt is False:
            say("  no group of any step had two different rewards: there was nothing to learn from, no weight changed")
    weights = ", checkpoints/" if (directory / "checkpoints").is_dir() else ""
    say(f"\nThe run is in {directory}: config.toml, run.sqlite (every prompt, answer, finding and score){weights}")
    say(f"  evoenv report {directory}          draws all of this, with every candidate, in one page")
    say(f"  evoenv envs --run {directory}      lists its environments")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=True, header_style="bright_black", show_header=any(columns))
    for column in columns:
        table.add_column(
            column, no_wrap=column != "meaning", justify="right" if column.startswith(("step", "×")) else "left"
        )
    return table


def _findings(summary: Summary) -> Table:
    table = _table("finding", "× ", "meaning")
    for code, count in summary.findings.most_common(FINDINGS_SHOWN):
        table.add_row(code, f"{count}", CODES[code][0])
    return table


def _movements(summary: Summary) -> Table:
    table = _table("environment", "step", "score ", "step ", "score", "")
    for item in summary.environments[-ENVIRONMENTS_SHOWN:]:
        first = (f"{item.first_step}", f"{item.first:.3f}")
        if item.first_step == item.last_step:
            table.add_row(item.name, *first, "", "", "")
            continue
        change = item.last - item.first
        style = "green" if change > 0 else "red" if change < 0 else "bright_black"
        table.add_row(item.name, *first, f"{item.last_step}", f"{item.last:.3f}", Text(f"{change:+.3f}", style))
    return table
