"""The audit figures of a run, as charts with the table behind each. Pure: a run in, figures out."""

from __future__ import annotations

from evoenv.report.charts import Figure
from evoenv.report.figures import learning, pool, proposing
from evoenv.runs.data import RunData


def figures_of(data: RunData) -> list[Figure]:
    """Every figure, those without data included: they say what is missing."""
    return [
        proposing.funnel(data),
        proposing.funnel_by_step(data),
        proposing.rejections(data),
        learning.scores(data),
        learning.reward(data),
        learning.zero_variance(data),
        learning.pass_rates(data),
        pool.pool(data),
        pool.tags_by_step(data),
        pool.lineage(data),
        pool.rotation(data),
        pool.lifetimes(data),
    ]
