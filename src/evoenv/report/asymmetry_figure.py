"""The figure of the asymmetry: how much better programs do than words, as a distribution and over the steps."""

from __future__ import annotations

from collections import Counter

from evoenv.report.charts import Columns, Figure, Lines, Series, Table
from evoenv.report.reading import RunData
from evoenv.runs.funnel import INSIDE
from evoenv.runs.view import mean

BINS = 20


def asymmetry(data: RunData) -> list[Figure]:
    """Draw the asymmetry of the candidates at L5; nothing for a run that does not recompute."""
    known = [entry for entry in data.entries if entry.asymmetry is not None]
    if not known:
        return []
    values = {entry.id: entry.asymmetry or 0.0 for entry in known}
    steps = sorted({entry.step for entry in known})

    def counted(*, admitted: bool) -> list[float]:
        counts = Counter(
            min(BINS - 1, int((values[entry.id] + 1) / 2 * BINS))
            for entry in known
            if (entry.state in INSIDE) == admitted
        )
        return [float(counts[number]) for number in range(BINS)]

    def means(*, admitted_only: bool) -> list[float | None]:
        chosen = [entry for entry in known if entry.state in INSIDE or not admitted_only]
        return [mean(values[entry.id] for entry in chosen if entry.step == step) for step in steps]

    labels = [f"{2 * number / BINS - 1:.1f}" for number in range(BINS)]
    shares = [
        Series("admitted", counted(admitted=True), "admitted"),
        Series("refused", counted(admitted=False), "grey"),
    ]
    lines = [
        Series("all candidates at L5", means(admitted_only=False), "blue"),
        Series("admitted", means(admitted_only=True), "admitted", "6 3"),
    ]
    return [
        Figure(
            "asymmetry",
            "Asymmetry",
            "By how much programs that were written from the prompts alone do better than the solver in words: the "
            "share of instances that programs get right, minus the solver's pass rate.",
            "Columns along the asymmetry from -1 to 1: how many candidates were admitted and refused. Lines along "
            "steps: the mean of all candidates and of the admitted ones.",
            [
                Columns(labels, shares, "candidates", "asymmetry, from"),
                Lines(steps, lines, "mean asymmetry", from_zero=False),
            ],
            Table(
                ("candidate", "name", "step", "state", "pass_rate", "asymmetry"),
                [(entry.id, entry.name, entry.step, entry.state, entry.pass_rate, values[entry.id]) for entry in known],
            ),
        )
    ]
