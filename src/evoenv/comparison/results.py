"""The finished runs of a comparison, put together: table, series of all runs, figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from evoenv.comparison import series, table
from evoenv.comparison.plan import SERIES, START, ComparisonPlan, is_done, run_directory, write_json
from evoenv.comparison.series import ComparedRun
from evoenv.durable import write_bytes
from evoenv.errors import StoreError


def read_runs(directory: Path, plan: ComparisonPlan) -> list[ComparedRun]:
    """The series of every finished run, in the order of the plan."""
    runs = []
    for run in plan.runs:
        if is_done(directory, plan, run):
            path = run_directory(directory, run) / SERIES
            try:
                runs.append(series.from_csv(run.curriculum, run.seed, path.read_text(encoding="utf-8")))
            except (OSError, ValueError) as error:
                raise StoreError(
                    f"cannot read {path}: {error}; remove {run.name}'s done.json to write it again"
                ) from error
    return runs


def read_start(directory: Path, plan: ComparisonPlan) -> dict[str, tuple[float, float, float]]:
    """Accuracy of the model before training, with its interval, by suite."""
    found = {}
    for index, suite in enumerate(plan.evaluation.suites):
        path = directory / START / f"suite{index}.json"
        if path.is_file():
            kept = msgspec.json.decode(path.read_bytes())
            found[suite] = (kept["accuracy"], kept["low"], kept["high"])
    return found


def write_results(directory: Path, plan: ComparisonPlan) -> dict[str, Any]:
    """`table.md`, `table.csv`, `results.json`, `series.csv`, `compare.png` and `figures/`; the JSON document."""
    from evoenv.comparison.figures import write_figures

    runs = read_runs(directory, plan)
    lines = table.lines_of(plan, runs)
    start = read_start(directory, plan)
    document = {
        "model": plan.model,
        "budget": {"steps": plan.steps, "tokens": plan.tokens},
        "eval_every": plan.eval_every,
        "evaluation": msgspec.to_builtins(plan.evaluation),
        "runs": [
            {"curriculum": run.curriculum, "seed": run.seed, **{key: run.rows[-1][key] for key in ("step", "tokens")}}
            for run in runs
        ],
        "missing": [run.name for run in plan.runs if not is_done(directory, plan, run)],
        "start": {suite: {"mean": mean, "low": low, "high": high} for suite, (mean, low, high) in start.items()},
        "table": [line.to_json() for line in lines],
    }
    write_bytes(directory / "table.md", table.to_markdown(plan, lines, start).encode())
    write_bytes(directory / "table.csv", table.to_csv(lines).encode())
    write_bytes(directory / "series.csv", series.to_csv(runs, named=True).encode())
    write_json(directory / "results.json", document)
    if runs:
        write_figures(directory, plan, runs)
    return document
