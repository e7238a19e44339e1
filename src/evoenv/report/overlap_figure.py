"""The figure of what overlap audits left in a run: how close benchmarks come to the pool's prompts."""

from __future__ import annotations

from collections.abc import Sequence

from evoenv.overlap.results import Match, Overlap
from evoenv.report.charts import DASHES, Figure, Lines, Series, Table

THRESHOLDS = tuple(step / 20 for step in range(21))
COLOURS = ("blue", "orange", "green", "pink", "sky", "amber")


def overlap(audits: Sequence[Overlap]) -> Figure:
    """Draw, for each suite, the share of its problems that have a prompt at least as close as x."""
    table = Table(
        ("suite", "problem", "ngram_share", "largest_cosine", "largest_cosine_within_suite"),
        [
            (audit.suite, match.problem, match.ngram, match.cosine, match.within)
            for audit in audits
            for match in audit.matches
        ],
    )
    if not audits:
        return Figure(
            "overlap",
            "Overlap with benchmarks",
            "Not measured: `evoenv audit-overlap RUN --suite …` compares the pool's prompts with a benchmark.",
            "Nothing was measured.",
            table=table,
        )

    def reach(values: Sequence[float]) -> list[float | None]:
        return [sum(value >= threshold for value in values) / len(values) for threshold in THRESHOLDS]

    def line(index: int, audit: Overlap, values: Sequence[float], words: str = "", dash: int = 0) -> Series:
        return Series(f"{audit.suite}{words}", reach(values), COLOURS[index % len(COLOURS)], DASHES[dash])

    def cosines(matches: Sequence[Match]) -> list[float]:
        return [max(0.0, match.cosine) for match in matches]

    by_meaning: list[Series] = []
    for index, audit in enumerate(audits):
        by_meaning.append(line(index, audit, cosines(audit.matches)))
        within = [max(0.0, match.within) for match in audit.matches if match.within is not None]
        if within:
            by_meaning.append(line(index, audit, within, " among themselves", 1))
    by_words = [line(index, audit, [match.ngram for match in audit.matches]) for index, audit in enumerate(audits)]
    worst = max((match.ngram for audit in audits for match in audit.matches), default=0.0)
    closest = max(match.cosine for audit in audits for match in audit.matches)
    sizes = ", ".join(sorted({str(audit.n) for audit in audits}))
    return Figure(
        "overlap",
        "Overlap with benchmarks",
        "The share of a benchmark's problems that have a prompt of this pool at least as close as x: by the cosine "
        f"of embeddings (dashed: to another problem of the same benchmark), and by the share of their runs of {sizes} "
        f"words that one prompt holds. The closest has a cosine of {closest:.2f}, the most copied {worst:.0%} of its "
        "runs; the pairs stand in the run's folder `overlap/`.",
        "Falling lines, one for each benchmark: fewer and fewer problems are as close as x to a prompt.",
        [
            Lines(THRESHOLDS, by_meaning, "problems", share=True, x_label="largest cosine with a prompt"),
            Lines(THRESHOLDS, by_words, "problems", share=True, x_label="largest share of n-grams in a prompt"),
        ],
        table,
    )
