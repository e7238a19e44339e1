"""The analysis of a headroom ladder: every number, CSV and figure of its page, from the files of the runs alone.

    python docs/experiments/ladder.py LADDER [-o DIR] [--equal-terms FILE.json]

LADDER is the directory of `evoenv compare --ladder`. Into DIR (LADDER/analysis) go

    tables.md                both tables, at equal responses and at equal tokens
    curves.csv               training score, silent groups, pool, prototypes, γ and the gain, by run and step
    reached.csv              share of the upper bound's gain and gain per thousand responses, at both
    consistency.csv          what the oracle says of candidates at L5 and of the admitted, by curriculum
    generator.csv            the generator on equal terms, from the JSON of benchmarks/equal_terms.py
    *.png                    a figure of each

and the numbers for a text are printed. ± is one standard error over seeds, or of a share over all seeds together;
`gain ±` in reached.csv is half of Student's 95% interval.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from evoenv.comparison.figures import consistency, figures_of, training_and_held_out
from evoenv.comparison.ladder_figures import gain_figure, reached_figure
from evoenv.comparison.ladder_results import LadderResults, read_ladder
from evoenv.comparison.ladder_table import average_gain, to_markdown
from evoenv.comparison.plan import ComparisonPlan, read_plan
from evoenv.comparison.series import ComparedRun
from evoenv.comparison.table import AVERAGE
from evoenv.durable import write_bytes
from evoenv.errors import EvoEnvError, InputError
from evoenv.report.charts import Bar, Bars, Figure
from evoenv.report.png import paint

CURVES = ("train_score", "train_right", "zero_variance", "pool", "prototypes", "gamma")
WORDS = {
    "train_score": "training score",
    "train_right": "right answers in training",
    "zero_variance": "groups without signal",
    "pool": "active environments",
    "prototypes": "tag prototypes",
    "gamma": "weight of novelty γ",
}
VERDICTS = ("consistent", "inconsistent", "unread")


def write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def plus_minus(values: Sequence[float], digits: int = 3) -> str:
    error = f" ± {stdev(values) / len(values) ** 0.5:.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{error}"


def curves(results: LadderResults, output: Path) -> None:
    """Write one row per run and step, and print what each column was at first and at last."""
    rows: list[list[Any]] = [["curriculum", "seed", "step", "responses", "tokens", *CURVES, "gain"]]
    for run in results.runs:
        readings = results.points.get((run.curriculum, run.seed), ())
        gains = {item.step: average_gain(item, results.start) for item in readings}
        responses = 0
        for row in run.rows:
            responses += int(row.get("responses") or 0)
            gain = gains.get(int(row["step"]))
            figures = [row.get(name, "") for name in CURVES]
            head = [run.curriculum, run.seed, row["step"], responses, row["tokens"]]
            rows.append([*head, *figures, "" if gain is None else f"{gain:.6g}"])
    write_csv(output / "curves.csv", rows)
    for name, own in by_curriculum(results.runs).items():
        for column in CURVES:
            ends = [ends_of(run, column) for run in own if run.column(column)]
            if ends:
                first, last = ([end[side] for end in ends] for side in (0, 1))
                change = [after - before for before, after in ends]
                print(
                    f"{name}: {WORDS[column]}, first and last third: {mean(first):.3f} {mean(last):.3f}, "
                    f"change {plus_minus(change)}"
                )


def by_curriculum(runs: Iterable[ComparedRun]) -> dict[str, list[ComparedRun]]:
    named: dict[str, list[ComparedRun]] = {}
    for run in runs:
        named.setdefault(run.curriculum, []).append(run)
    return named


def ends_of(run: ComparedRun, column: str) -> tuple[float, float]:
    """Average a column over the first and over the last third of the steps that have it."""
    values = [value for _, value in run.column(column)]
    size = max(1, len(values) // 3)
    return mean(values[:size]), mean(values[-size:])


def reached(results: LadderResults, output: Path) -> None:
    """Write and print what was gained, at equal responses and at equal tokens."""
    heads = [
        "basis",
        "curriculum",
        "responses",
        "tokens",
        "gain",
        "gain ±",
        "share",
        "share error",
        "per 1000 responses",
    ]
    rows: list[list[Any]] = [heads]
    for rung in results.rungs:
        gain, per = rung.gain[AVERAGE], rung.per_thousand
        share, error = rung.reached or ("", "")
        rows.append([
            rung.basis, rung.curriculum, round(rung.responses.mean), round(rung.tokens.mean), f"{gain.mean:.6g}",
            "" if gain.half is None else f"{gain.half:.6g}", share, "" if error is None else error,
            "" if per is None else f"{per.mean:.6g}",
        ])  # fmt: skip
        shown = "" if rung.reached is None else f", {100 * rung.reached[0]:.0f}% of the upper bound's gain"
        print(f"{rung.curriculum}, equal {rung.basis}: gain {100 * gain.mean:+.2f} points{shown}")
    write_csv(output / "reached.csv", rows)


def consistency_counts(results: LadderResults, output: Path) -> None:
    """Write and print how many environments ask for what they compute; a review by recomputation has its own row."""
    rows: list[list[Any]] = [["curriculum", "of", *VERDICTS, "share of readable", "error"]]
    for name, own in by_curriculum(results.runs).items():
        for group in ("l5", "admitted"):
            counts = [
                round(sum(value for run in own for _, value in run.column(f"{group}_{verdict}")))
                for verdict in VERDICTS
            ]
            readable = counts[0] + counts[1]
            if readable:
                share = counts[0] / readable
                error = (share * (1 - share) / readable) ** 0.5
                rows.append([name, group, *counts, f"{share:.6g}", f"{error:.6g}"])
                print(f"{name}: {counts[0]} of {readable} readable {group} are consistent: {share:.3f} ± {error:.3f}")
    write_csv(output / "consistency.csv", rows)


def generator(path: Path | None, directory: Path, output: Path) -> Figure | None:
    """Write and print the generator on equal terms; say how it is measured if it was not."""
    if path is None:
        runs = directory / "runs"
        command = f"python benchmarks/equal_terms.py {runs}/evoenv-seed* --json equal_terms.json"
        print(f"the generator on equal terms was not measured: {command}")
        return None
    try:
        policies: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        rows = [
            [
                item["policy"], item["candidates"], item["reach_l5"], item["reward"]["mean"],
                item["reward"]["standard_error"], item.get("gain", {}).get("mean", ""),
                item.get("gain", {}).get("standard_error", ""),
            ]
            for item in policies
        ]  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not what benchmarks/equal_terms.py writes: {error}; make it again") from error
    write_csv(
        output / "generator.csv", [["policy", "candidates", "at L5", "reward", "error", "gain", "gain error"], *rows]
    )
    for policy, count, top, reward, error, *_ in rows:
        print(f"{policy}: reward {reward:.2f} ± {error:.2f} on equal terms, {top:.0%} of {count} candidates at L5")
    bars = [Bar(str(row[0]), max(0.0, row[3]), "blue", f"{row[3]:.2f} ± {row[4]:.2f}") for row in rows]
    return Figure("generator_on_equal_terms", "", "", "Generator reward on equal terms", [Bars(bars)])


def figures(plan: ComparisonPlan, results: LadderResults) -> list[Figure]:
    """Choose the figures of the analysis."""
    standard = {figure.key: figure for figure in figures_of(plan, results.runs)}
    chosen = [
        training_and_held_out("training_and_held_out", plan, results.runs, "step"),
        standard.get("figures/zero_variance"),
        standard.get("figures/pool"),
        consistency(plan, results.runs, "step"),
        gain_figure(plan, results.start, results.points),
        reached_figure(results.rungs),
    ]
    return [figure for figure in chosen if figure is not None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ladder", type=Path, metavar="LADDER")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR")
    parser.add_argument("--equal-terms", type=Path, metavar="FILE.json")
    arguments = parser.parse_args()
    try:
        plan = read_plan(arguments.ladder)
        if plan is None or not plan.ladder:
            raise InputError(f"{arguments.ladder} holds no ladder; make one by `evoenv compare --ladder -o DIR`")
        output = arguments.output or arguments.ladder / "analysis"
        output.mkdir(parents=True, exist_ok=True)
        results = read_ladder(arguments.ladder, plan)
        print("no verdict on the upper bound yet" if results.verdict is None else results.verdict.words)
        write_bytes(output / "tables.md", to_markdown(plan, results.verdict, results.start, results.rungs).encode())
        curves(results, output)
        reached(results, output)
        consistency_counts(results, output)
        own = generator(arguments.equal_terms, arguments.ladder, output)
        for figure in (*figures(plan, results), *([own] if own is not None else [])):
            write_bytes(output / f"{Path(figure.key).name}.png", paint(figure))
    except EvoEnvError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
