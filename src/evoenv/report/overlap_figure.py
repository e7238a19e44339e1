"""The figure of what overlap audits left in a run: how close benchmarks come to the pool's prompts."""

from __future__ import annotations

from collections.abc import Sequence

from evoenv.overlap.results import Match, Overlap
from evoenv.report.charts import DASHES, Figure, Lines, Series, Table

THRESHOLDS = tuple(range(0, 101, 5))
"""Along x, in hundredths."""
MOST_WITH_THEMSELVES = 3
"""With more suites than this, only prompts are drawn, not how alike the problems of each are."""
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
        return [sum(100 * value >= threshold for value in values) / len(values) for threshold in THRESHOLDS]

    def line(index: int, audit: Overlap, values: Sequence[float], words: str = "", dash: int = 0) -> Series:
        colour, again = COLOURS[index % len(COLOURS)], index // len(COLOURS)
        return Series(f"{names[index]}{words}", reach(values), colour, DASHES[(dash + 2 * again) % len(DASHES)])

    def cosines(matches: Sequence[Match]) -> list[float]:
        return [max(0.0, match.cosine) for match in matches]

    names = short_names([audit.suite for audit in audits])
    by_meaning: list[Series] = []
    for index, audit in enumerate(audits):
        by_meaning.append(line(index, audit, cosines(audit.matches)))
        within = [max(0.0, match.within) for match in audit.matches if match.within is not None]
        if within and len(audits) <= MOST_WITH_THEMSELVES:
            by_meaning.append(line(index, audit, within, " to itself", 1))
    by_words = [line(index, audit, [match.ngram for match in audit.matches]) for index, audit in enumerate(audits)]
    worst = max((match.ngram for audit in audits for match in audit.matches), default=0.0)
    closest = max(match.cosine for audit in audits for match in audit.matches)
    own = " (dashed: to another problem of the same benchmark)" if len(by_meaning) > len(audits) else ""
    sizes = ", ".join(sorted({str(audit.n) for audit in audits}))
    return Figure(
        "overlap",
        "Overlap with benchmarks",
        "The share of a benchmark's problems that have a prompt of this pool at least as close as x: by the cosine "
        f"of embeddings{own}, and by the share of their runs of {sizes} "
        f"words that one prompt holds. The closest has a cosine of {closest:.2f}, the most copied {worst:.0%} of its "
        "runs; the pairs stand in the run's folder `overlap/`.",
        "Falling lines, one for each benchmark: fewer and fewer problems are as close as x to a prompt.",
        [
            Lines(
                THRESHOLDS, by_meaning, "problems", share=True, x_label="largest cosine with a prompt, in hundredths"
            ),
            Lines(
                THRESHOLDS,
                by_words,
                "problems",
                share=True,
                x_label="largest share of n-grams in one prompt, in percent",
            ),
        ],
        table,
    )


def short_names(suites: Sequence[str]) -> list[str]:
    """Name each suite by the last part of its path; two that would be called alike keep their whole names."""
    short = [suite.rstrip("/").rpartition("/")[2].removesuffix(".jsonl")[-32:] for suite in suites]
    return [name if short.count(name) == 1 else suite for name, suite in zip(short, suites, strict=True)]
