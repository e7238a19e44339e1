"""What a run came to: what was proposed, why candidates were refused, what was admitted, how the solver moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evoenv.cli.watching import REFUSALS
from evoenv.runs.environments import Movement
from evoenv.runs.funnel import add_funnels, refusals_of
from evoenv.runs.view import RunView
from evoenv.runs.yields import Yield, read_yields
from evoenv.store.store import Store
from evoenv.validation.codes import CODES
from evoenv.wording import duration, plural

FINDINGS_SHOWN = 8
ENVIRONMENTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Admitted:
    """One environment that the run admitted."""

    name: str
    step: int
    pass_rate: float | None
    reward: float
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the finished steps of a run came to."""

    steps: int
    seconds: float
    tokens: int
    funnel: tuple[int, ...]
    """Candidates along runs.funnel.FUNNEL, over all finished steps."""
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
    yields: tuple[Yield, Yield] | None = None
    """Of a synthesis: what was proposed at once, and what was repaired."""


def summarise(store: Store) -> Summary:
    """Read what the finished steps of a run came to."""
    view = RunView(store)
    last = view.progress().last_step
    fates = view.fates()
    kept = [value for step, value in view.series("groups/kept") if step <= last]
    pool = store.pool()
    return Summary(
        steps=last,
        seconds=sum(value for step, value in view.series("time/step") if step <= last),
        tokens=view.tokens(range(1, last + 1)),
        funnel=tuple(count or 0 for count in add_funnels(item.funnel for item in fates.values())),
        findings=view.finding_counts(),
        refusals=sum((refusals_of(item.counts) for item in fates.values()), Counter()),
        admitted=tuple(_admitted(view)),
        solver=view.solver_movement(last),
        environments=tuple(view.movements(last)),
        learnt=any(kept) if kept else None,
        active=len(pool.active),
        few_shot=len(pool.few_shot),
        reviewed=bool(view.config.get("review", {}).get("enabled", True)),
        yields=read_yields(store, last) if store.meta("training") is False else None,
    )


def _admitted(view: RunView) -> Iterator[Admitted]:
    records = view.environments()
    names = {record.id: record.name for record in records}
    for record in records:
        entry = None if record.candidate_id is None else view.entry(record.candidate_id)
        if entry is not None:
            parents = tuple(names.get(parent, parent) for parent in entry.parents)
            yield Admitted(record.name, record.admitted_step, entry.pass_rate, entry.reward or 0.0, parents)


# --------------------------------------------------------------------------- in words


def show_summary(directory: Path, screen: Console) -> None:
    """Show the summary of the run in `directory`, and where to look further."""
    with RunView.open(directory) as view:
        show(summarise(view.store), directory, screen)


def show(summary: Summary, directory: Path, screen: Console) -> None:
    """Print a summary."""

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
        if summary.yields is not None:
            for line in yield_lines(*summary.yields):
                say(line)
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


def yield_lines(at_once: Yield, repaired: Yield) -> list[str]:
    """Say what the tokens of a synthesis gave, and what repairs added."""
    lines = []
    if repaired.candidates:
        lines.append(
            f"  of them {plural(repaired.candidates, 'repair')}, with {repaired.tokens:,} tokens: "
            f"{repaired.validated} reached L5, {repaired.admitted} admitted"
        )
    total = at_once + repaired
    if total.tokens:
        without = f" (without repairs {at_once.admitted_per_thousand:.3f})" if repaired.candidates else ""
        lines.append(
            f"  per thousand tokens of candidates: {total.validated_per_thousand:.3f} at L5, "
            f"{total.admitted_per_thousand:.3f} admitted{without}"
        )
    return lines


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
