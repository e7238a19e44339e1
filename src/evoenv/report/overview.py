"""The run in words: what was proposed, why it was refused, what was admitted, how the solver moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from evoenv.pool.tags import prototypes_of, seed_distance
from evoenv.report.reading import RunData
from evoenv.runs.candidates import Entry
from evoenv.runs.funnel import FUNNEL, REFUSED, STATES
from evoenv.runs.view import Step
from evoenv.validation.codes import CODES
from evoenv.wording import duration, plural

ROWS_SHOWN = 6
EVOENV = "evoenv"
"""The curriculum that proposes environments; the others are compared with it."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The head of a report."""

    lead: str
    notes: Sequence[str]
    """What a reader must know before believing the rest: the run goes on, or nothing came of it."""
    tiles: Sequence[tuple[str, str, str]]
    """(label, value, note)"""
    paragraphs: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]]]]
    """(title, lines, rows of a small table, its head first)"""


def overview_of(data: RunData) -> Overview:
    """Put a run into words."""
    return Overview(
        _lead(data), _notes(data), _tiles(data), [_proposed(data), _refused(data), _admitted(data), _solver(data)]
    )


def _lead(data: RunData) -> str:
    model = data.config.get("model", {}).get("name") or "an unnamed model"
    begun = ""
    if data.created is not None:
        begun = f", begun {datetime.fromtimestamp(data.created, UTC):%Y-%m-%d %H:%M} UTC"
    kind = "Trained" if data.training else "A pool synthesised"
    took = f", {duration(data.seconds)} of work" if data.seconds else ""
    tokens = f", {data.tokens:,} tokens sampled" if data.tokens else ""
    return f"{kind} with {model}{begun}: {plural(data.last_step, 'step')}{took}{tokens}."


def _notes(data: RunData) -> list[str]:
    notes = []
    if data.last_step < data.wanted_steps:
        notes.append(
            f"The run is not finished: {data.last_step} of {plural(data.wanted_steps, 'step')} are done, last "
            f"{data.stage}. This report shows it as it was when the report was made."
        )
    curriculum = data.config.get("curriculum", {}).get("name", EVOENV)
    if curriculum != EVOENV:
        notes.append(
            f"This run trains by the curriculum ‘{curriculum}’, which proposes no environments: what follows about "
            "candidates stays empty."
        )
    elif not data.environments:
        notes.append("Nothing has happened in this run yet: not even the original environments are entered.")
    elif data.last_step and not data.generated:
        notes.append("No candidate was admitted: the pool holds the original environments alone.")
    kept = [step.metrics["groups/kept"] for step in data.steps if "groups/kept" in step.metrics]
    if kept and not any(kept):
        notes.append(
            "No group of any step had two different rewards: there was nothing to learn from, no weight changed."
        )
    return notes


def _tiles(data: RunData) -> list[tuple[str, str, str]]:
    proposed = data.funnel[0]
    admitted = data.total("admitted")
    active = sum(record.active for record in data.environments)
    retired = len(data.environments) - active
    originals = sum(record.original and record.active for record in data.environments)
    tiles = [
        ("proposed", f"{proposed:,}", f"in {plural(len([s for s in data.steps if s.fates]), 'step')}"),
        (
            "admitted",
            f"{admitted:,}",
            f"{admitted / proposed:.1%} of the proposed" if proposed else "nothing proposed yet",
        ),
        ("in the pool", f"{active:,}", f"{originals} of them original, {retired} retired"),
        (
            "tag prototypes",
            f"{len(prototypes_of(record.tags for record in data.environments)):,}",
            f"{len(prototypes_of(r.tags for r in data.environments if r.original))} among the originals",
        ),
    ]
    scored = [(step.number, step.metrics["solver/score"]) for step in data.steps if "solver/score" in step.metrics]
    if scored:
        (first, before), (last, after) = scored[0], scored[-1]
        note = f"{before:.2f} at step {first}" if last != first else f"at step {first}, the only one"
        tiles.append(("training score", f"{after:.2f}", note))
    if data.evaluations:
        newest = max(data.evaluations, key=lambda item: item.step)
        oldest = min((item for item in data.evaluations if item.suite == newest.suite), key=lambda item: item.step)
        note = f"{newest.suite}, step {newest.step}"
        note += f"; {oldest.accuracy:.1%} at step {oldest.step}" if oldest.step != newest.step else ""
        tiles.append(("held-out accuracy", f"{newest.accuracy:.1%}", note))
    return tiles


Paragraph = tuple[str, Sequence[str], Sequence[Sequence[str]]]


def _proposed(data: RunData) -> Paragraph:
    counts = data.funnel
    if not counts[0]:
        return "Proposed", ["No candidate was proposed."], []
    path = " → ".join(
        f"{name} left out" if name in data.left_out else f"{name} {count:,}"
        for name, count in zip(FUNNEL[1:], counts[1:], strict=True)
    )
    rewards = [(step.number, sum(step.rewards) / len(step.rewards)) for step in data.steps if step.rewards]
    lines = [f"{plural(counts[0], 'candidate')}; passed: {path}."]
    if len(rewards) > 1:
        lines.append(
            f"Mean generator reward {_signed(rewards[0][1])} at step {rewards[0][0]}, "
            f"{_signed(rewards[-1][1])} at step {rewards[-1][0]}."
        )
    return "Proposed", lines, _progress(data)


def _progress(data: RunData) -> list[Sequence[str]]:
    """Compare the first and the last tenth of the steps (ten of a hundred, as in the paper)."""
    steps = [step for step in data.steps if step.finished and any(step.fates.values())]
    if len(steps) < 2:
        return []
    width = max(1, len(steps) // 10)
    first, last = steps[:width], steps[-width:]
    rows: list[Sequence[str]] = [("of the candidates", _steps_words(first), _steps_words(last), "change in points")]
    for index in range(1, len(FUNNEL)):
        if FUNNEL[index] in data.left_out:
            continue
        before, after = (
            sum(step.funnel[index] or 0 for step in part) / sum(step.funnel[0] or 0 for step in part)
            for part in (first, last)
        )
        words = FUNNEL[index] if FUNNEL[index] == "admitted" else f"pass {FUNNEL[index]}"
        change = f"{(after - before) * 100:+.1f}".replace("-", "−")
        rows.append((words, f"{before:.1%}", f"{after:.1%}", change))
    return rows


def _steps_words(steps: Sequence[Step]) -> str:
    first, last = steps[0].number, steps[-1].number
    return f"step {first}" if first == last else f"steps {first}–{last}"


def _refused(data: RunData) -> Paragraph:
    refused = [entry for entry in data.entries if entry.state in REFUSED]
    if not refused:
        return "Refused", ["No candidate was refused."], []
    fates = Counter(entry.state for entry in refused)
    codes = Counter(entry.codes[0] for entry in refused if entry.state.startswith("l") and entry.codes)
    validation = sum(fates[f"l{layer}"] for layer in range(1, 6))
    after = {state: fates[state] for state in REFUSED if not state.startswith("l") and fates[state]}
    lines = [f"{validation:,} by validation" + "".join(f", {n:,} {_short(state)}" for state, n in after.items()) + "."]
    rows = [("most frequent finding", "candidates", "meaning")] if codes else []
    rows += [
        (code, f"{count:,}", CODES[code][0] if code in CODES else "") for code, count in codes.most_common(ROWS_SHOWN)
    ]
    return "Refused", lines, rows


def _short(state: str) -> str:
    return STATES[state].removeprefix("Rejected ")


def _admitted(data: RunData) -> Paragraph:
    admitted = [entry for entry in data.entries if entry.record is not None and entry.record.candidate_id is not None]
    if not admitted:
        return "Admitted", ["No environment was admitted."], []
    tags = Counter(tag for entry in admitted for tag in entry.tags)
    common = ", ".join(f"{tag} ({count / len(admitted):.0%})" for tag, count in tags.most_common(5))
    lines = [f"{plural(len(admitted), 'environment')}." + (f" Most frequent tags: {common}." if common else "")]
    lines += _consistency(data, admitted)
    best = sorted(admitted, key=lambda entry: -(entry.reward or 0.0))[:ROWS_SHOWN]
    seeds = data.seed_tags
    rows: list[Sequence[str]] = [("highest rewards", "step", "d_seed", "tags", "pass rate", "reward")]
    rows += [
        (
            entry.name,
            f"{entry.step}",
            _rate(seed_distance(entry.tags, seeds)),
            f"{len(entry.tags)}",
            _rate(entry.pass_rate),
            _signed(entry.reward or 0.0),
        )
        for entry in best
    ]
    lines.append("d_seed: the Jaccard distance of an environment’s tags to those of the nearest original one.")
    return "Admitted", lines, rows


def _consistency(data: RunData, admitted: Sequence[Entry]) -> list[str]:
    """Say how clean the pool is, as far as the oracle can tell."""
    known, before = ([e.consistent for e in part if e.consistent is not None] for part in (admitted, data.entries))
    if not known:
        return []
    share, was = sum(known) / len(known), sum(before) / len(before)
    line = (
        f"Of the {len(known):,} that can be read back into the corpus’s parts, {sum(known):,} ask for what their code "
        f"computes ({share:.0%}; {was:.0%} of the {len(before):,} readable candidates at L5)."
    )
    return [line]


def _solver(data: RunData) -> Paragraph:
    if not data.training:
        return "Solver", ["This run builds a pool and trains nothing."], []
    scored = [(step.number, step.metrics) for step in data.steps if "solver/score" in step.metrics]
    if not scored:
        return "Solver", ["The solver has not been asked yet."], []
    first, last = scored[0], scored[-1]
    lines = [f"Mean training score {first[1]['solver/score']:.3f} at step {first[0]}"]
    if first[0] != last[0]:
        lines[0] += f", {last[1]['solver/score']:.3f} at step {last[0]}"
    lines[0] += ". Environments differ from step to step, so this alone does not say that the solver got better."
    moved = [item for item in data.movements if item.first_step != item.last_step]
    moved.sort(key=lambda item: -item.responses)
    names = data.names
    rows = [("drawn most often", "steps", "score", "change")] if moved else []
    rows += [
        (
            names.get(item.environment_id, item.environment_id),
            f"{item.first_step} → {item.last_step}",
            f"{item.first:.2f} → {item.last:.2f}",
            _signed(item.last - item.first),
        )
        for item in moved[:ROWS_SHOWN]
    ]
    return "Solver", lines, rows


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
