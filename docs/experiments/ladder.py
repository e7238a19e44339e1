"""The analysis of a headroom ladder: every number, CSV and figure of its page, from the files of the runs alone.

    python docs/experiments/ladder.py LADDER [-o DIR] [--equal-terms FILE.json] [--page TEMPLATE.md] [--section PAGE.md]

LADDER is the directory of `evoenv compare --ladder`. Into DIR (LADDER/analysis) go

    tables.md                both tables, at equal responses and at equal tokens
    curves.csv               training score, silent groups, pool, prototypes, γ and the gain, by run and step
    reached.csv              share of the upper bound's gain and gain per thousand responses, at both
    consistency.csv          what the oracle says of candidates at L5 and of the admitted, by curriculum
    generator.csv            the generator on equal terms, from the JSON of benchmarks/equal_terms.py
    *.png                    a figure of each

and the numbers for a text are printed, each behind its name. With --page the names in double braces of TEMPLATE.md
(`{{evoenv.responses.gain}}`) become these numbers, in README.md beside it: so no number of a page is copied by hand.
With --section a page that says more than this ladder has one section of such a text: what stands in PAGE.md between
`<!-- made from TEMPLATE by docs/experiments/ladder.py: change that file -->` and `<!-- end -->`.

In texts and tables gains and differences are in points; the CSV files hold shares of one. `error` is one standard
error, over seeds or of a share over all seeds together; `half` is half of Student's 95% interval.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from evoenv.comparison.figures import consistency, figures_of, training_and_held_out
from evoenv.comparison.ladder_differences import REFERENCES, differences_table
from evoenv.comparison.ladder_figures import gain_figure, reached_figure
from evoenv.comparison.ladder_results import LadderResults, read_ladder
from evoenv.comparison.ladder_table import BASES, average_gain, reached_words, summary
from evoenv.comparison.plan import UPPER_BOUND, ComparisonPlan, read_plan
from evoenv.comparison.series import ComparedRun
from evoenv.comparison.table import AVERAGE, Mean
from evoenv.comparison.weighing import columns_by_suite
from evoenv.durable import write_bytes
from evoenv.errors import EvoEnvError, InputError
from evoenv.report.charts import Bar, Bars, Figure
from evoenv.report.png import paint

CURVES = {
    "train_score": (100, 0), "train_right": (100, 0), "zero_variance": (100, 0), "pool": (1, 0), "prototypes": (1, 0),
    "gamma": (1, 1),
}  # fmt: skip
"""Columns of the series, each with its factor and its digits in a text: shares are said in percent."""
TRAINING = {
    "train_right": "right answers in training", "zero_variance": "groups without signal", "pool": "active environments",
    "prototypes": "tag prototypes", "gamma": "weight of novelty γ",
}  # fmt: skip
"""Columns of a page's table of what happens in training, with their heads."""
VERDICTS = ("consistent", "inconsistent", "unread")


def write_csv(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


Facts = dict[str, str]
"""What a text may say, each under its name."""
TERMS = r"\{\{([^{}]+)\}\}"
SECTION = re.compile(
    r"(<!-- made from (\S+) by docs/experiments/ladder\.py: change that file -->\n).*?(<!-- end -->)", re.DOTALL
)


def curves(results: LadderResults, steps: int, output: Path) -> Facts:
    """Write one row per run and step; return what each column was in the first and in the last third of the steps."""
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
    facts: Facts = {}
    for name, own in by_curriculum(results.runs).items():
        for column, (scale, digits) in CURVES.items():
            ends = [found for run in own if (found := ends_of(run, column, steps)) is not None]
            if ends:
                first, last = ([scale * end[side] for end in ends] for side in (0, 1))
                change = [after - before for before, after in zip(first, last, strict=True)]
                where = f"{name}.{column}"
                facts |= {f"{where}.first": f"{mean(first):.{digits}f}", f"{where}.last": f"{mean(last):.{digits}f}"}
                facts[f"{where}.change"] = f"{mean(change):+.{digits}f}"
                if len(change) > 1:
                    facts[f"{where}.change.error"] = f"{stdev(change) / len(change) ** 0.5:.{digits}f}"
    return facts


def training_table(facts: Facts, curricula: Sequence[str]) -> str:
    """Write a row for every curriculum that trains: each column in the first and in the last third of its runs."""
    rows = []
    for name in curricula:
        cells = []
        for column in TRAINING:
            unit = "%" if CURVES[column][0] == 100 else ""
            ends = [facts.get(f"{name}.{column}.{end}") for end in ("first", "last")]
            cells.append("–" if None in ends else " → ".join(f"{end}{unit}" for end in ends))
        if set(cells) != {"–"}:
            rows.append([name, *cells])
    return markdown(["curriculum", *TRAINING.values()], rows)


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table of a page."""
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def by_curriculum(runs: Iterable[ComparedRun]) -> dict[str, list[ComparedRun]]:
    named: dict[str, list[ComparedRun]] = {}
    for run in runs:
        named.setdefault(run.curriculum, []).append(run)
    return named


def ends_of(run: ComparedRun, column: str, steps: int) -> tuple[float, float] | None:
    """Average a column over the first and the last third of what all runs have: more steps are for tokens alone."""
    values = [value for row, value in run.column(column) if int(row["step"]) <= steps]
    if not values:
        return None
    size = max(1, len(values) // 3)
    return mean(values[:size]), mean(values[-size:])


def reached(plan: ComparisonPlan, results: LadderResults, output: Path) -> Facts:
    """Write and return what was gained, at equal responses and at equal tokens."""
    heads = [
        "basis", "curriculum", "responses", "tokens", "gain", "gain ±", "share", "share error", "per 1000 responses",
    ]  # fmt: skip
    rows: list[list[Any]] = [heads]
    facts: Facts = {}
    for rung in results.rungs:
        gain, per = rung.gain[AVERAGE], rung.per_thousand
        share, error = rung.reached or ("", "")
        rows.append([
            rung.basis, rung.curriculum, round(rung.responses.mean), round(rung.tokens.mean), f"{gain.mean:.6g}",
            "" if gain.half is None else f"{gain.half:.6g}", share, "" if error is None else error,
            "" if per is None else f"{per.mean:.6g}",
        ])  # fmt: skip
        where = f"{rung.curriculum}.{rung.basis}"
        facts[f"{where}.seeds"] = str(rung.steps.n)
        for name in ("steps", "responses", "tokens"):
            facts[f"{where}.{name}"] = f"{getattr(rung, name).mean:,.0f}"
        for kind, columns in (("gain", rung.gain), ("pass8", rung.pass_gain)):
            facts |= means(f"{where}.{kind}", columns[AVERAGE])
            for suite, names in columns_by_suite(plan).items():
                facts[f"{where}.{suite}.{kind}"] = points(mean(columns[column].mean for column in names))
        if rung.reached is not None:
            facts[f"{where}.share"] = reached_words(rung.reached)
        if per is not None:
            facts[f"{where}.per_thousand"] = f"{100 * per.mean:+.2f}"
    write_csv(output / "reached.csv", rows)
    return facts


def over_others(results: LadderResults) -> Facts:
    """Return what each curriculum has over `fixed`, and over `evoenv`."""
    facts: Facts = {}
    for item in results.differences:
        for name, gain in {"": item.average, **{f"{suite}.": gain for suite, gain in item.by_suite.items()}}.items():
            where = f"{item.curriculum}.{item.basis}.{name}over_{item.against}"
            facts |= {where: points(gain.gain), f"{where}.half": f"{100 * gain.here.half:.1f}"}
            if gain.half_elsewhere is not None:
                facts[f"{where}.half.elsewhere"] = f"{100 * gain.half_elsewhere:.1f}"
        facts[f"{item.curriculum}.{item.basis}.over_{item.against}.words"] = item.words
    return facts


def points(value: float) -> str:
    return f"{100 * value:+.1f}"


def means(where: str, value: Mean) -> Facts:
    half = {} if value.half is None else {f"{where}.half": f"{100 * value.half:.1f}"}
    return {where: points(value.mean), **half}


def consistency_counts(results: LadderResults, output: Path) -> Facts:
    """Write and return how many environments ask for what they compute; a review by recomputation has its own row."""
    rows: list[list[Any]] = [["curriculum", "of", *VERDICTS, "share of readable", "error"]]
    facts: Facts = {}
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
                where = f"{name}.{group}"
                facts |= {f"{where}.consistent": f"{counts[0]:,}", f"{where}.readable": f"{readable:,}"}
                facts |= {f"{where}.share": f"{100 * share:.1f}", f"{where}.share.error": f"{100 * error:.1f}"}
    write_csv(output / "consistency.csv", rows)
    shown = []
    for name in dict.fromkeys(row[0] for row in rows[1:]):
        cells = [
            f"{facts[f'{name}.{group}.consistent']} of {facts[f'{name}.{group}.readable']}: "
            f"{facts[f'{name}.{group}.share']}%"
            if f"{name}.{group}.share" in facts
            else "–"
            for group in ("l5", "admitted")
        ]
        shown.append([name, *cells])
    facts["table.consistency"] = markdown(["curriculum", "candidates at L5", "admitted"], shown)
    return facts


def read_equal_terms(path: Path | None, directory: Path) -> list[list[Any]]:
    """Read the generator on equal terms, a row for each policy; say how it is measured if it was not."""
    if path is None:
        runs = directory / "runs"
        command = f"python benchmarks/equal_terms.py {runs}/evoenv-seed* --json equal_terms.json"
        print(f"the generator on equal terms was not measured: {command}", file=sys.stderr)
        return []
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "it is no text")
        raise InputError(f"cannot read {path}: {reason}; leave --equal-terms out, or measure them") from error
    try:
        policies: list[Mapping[str, Any]] = json.loads(text)
        return [
            [
                item["policy"], item["candidates"], item["reach_l5"], item["reward"]["mean"],
                item["reward"]["standard_error"], item.get("gain", {}).get("mean", ""),
                item.get("gain", {}).get("standard_error", ""),
            ]
            for item in policies
        ]  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not what benchmarks/equal_terms.py writes: {error}; make it again") from error


def generator(rows: list[list[Any]], output: Path) -> tuple[Facts, list[Figure]]:
    """Write and return the generator on equal terms."""
    if not rows:
        return {}, []
    write_csv(
        output / "generator.csv", [["policy", "candidates", "at L5", "reward", "error", "gain", "gain error"], *rows]
    )
    facts: Facts = {}
    for policy, count, top, *amounts in rows:
        facts |= {f"generator.{policy}.candidates": f"{count:,}", f"generator.{policy}.l5": f"{100 * top:.0f}"}
        for name, amount in zip(("reward", "reward.error", "gain", "gain.error"), amounts, strict=True):
            if amount != "":
                facts[f"generator.{policy}.{name}"] = f"{amount:.2f}"
    shown = []
    for policy, count, top, reward, error, gain, gain_error in rows:
        won = "–" if gain == "" else f"{gain:+.2f} ± {gain_error:.2f}"
        shown.append([policy, f"{count:,}", f"{100 * top:.0f}%", f"{reward:.2f} ± {error:.2f}", won])
    facts["table.generator"] = markdown(["policy", "candidates", "at L5", "reward", "gain"], shown)
    bars = [Bar(str(row[0]), row[3], "blue", f"{row[3]:.2f} ± {row[4]:.2f}") for row in rows]
    return facts, [Figure("generator_on_equal_terms", "", "", "Generator reward on equal terms", [Bars(bars)])]


def tables(plan: ComparisonPlan, results: LadderResults) -> Facts:
    """Return the tables as a page shows them, and the verdict on the upper bound."""
    facts = {
        f"table.{basis}": "\n".join(summary([rung for rung in results.rungs if rung.basis == basis])) for basis in BASES
    }
    for against in REFERENCES:
        facts[f"table.over_{against}"] = "\n".join(differences_table(results.differences, against))
    facts["verdict"] = "no verdict on the upper bound yet" if results.verdict is None else results.verdict.words
    facts["missing"] = (
        ", ".join(
            f"{run.curriculum} (seed {run.seed})"
            for run in plan.runs
            if (run.curriculum, run.seed) not in {(own.curriculum, own.seed) for own in results.runs}
        )
        or "none"
    )
    return facts


def fill(template: str, facts: Facts, source: Path) -> str:
    """Put the facts into a page; a name that stands for nothing is refused."""
    unknown = sorted({name for name in re.findall(TERMS, template) if name not in facts})
    if unknown:
        raise InputError(
            f"{source} asks for {', '.join(unknown)}, which this ladder does not have; see what is printed"
        )
    return re.sub(TERMS, lambda match: facts[match.group(1)], template)


def read_page(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', 'it is no text')}") from error


def write_page(template: Path, facts: Facts) -> None:
    head = f"<!-- made from {template.name} by docs/experiments/ladder.py: change that file, not this one -->\n"
    write_bytes(template.with_name("README.md"), (head + fill(read_page(template), facts, template)).encode())


def write_section(page: Path, facts: Facts) -> None:
    """Fill the one section of a page that is about this ladder, from the template that its first line names."""
    text = read_page(page)
    found = SECTION.findall(text)
    if len(found) != 1:
        raise InputError(f"{page} has {len(found)} sections that begin with a comment «made from …»; expected one")
    template = page.parent / found[0][1]
    filled = fill(read_page(template), facts, template)
    write_bytes(page, SECTION.sub(lambda match: match.group(1) + filled + match.group(3), text).encode())


def figures(plan: ComparisonPlan, results: LadderResults) -> list[Figure]:
    """Choose the figures of the analysis."""
    standard = {figure.key: figure for figure in figures_of(plan, results.runs)}
    # The upper bound has a hundred times as many environments as the others, which would lie on the axis beside it.
    small = [run for run in results.runs if run.curriculum != UPPER_BOUND]
    standard |= {figure.key: figure for figure in figures_of(plan, small) if figure.key == "figures/pool"}
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
    parser.add_argument("--page", type=Path, metavar="TEMPLATE.md")
    parser.add_argument("--section", type=Path, metavar="PAGE.md")
    arguments = parser.parse_args()
    try:
        plan = read_plan(arguments.ladder)
        if plan is None or not plan.ladder:
            raise InputError(f"{arguments.ladder} holds no ladder; make one by `evoenv compare --ladder -o DIR`")
        output = arguments.output or arguments.ladder / "analysis"
        output.mkdir(parents=True, exist_ok=True)
        results = read_ladder(arguments.ladder, plan)
        measured = read_equal_terms(arguments.equal_terms, arguments.ladder)
        write_bytes(output / "tables.md", results.to_markdown(plan).encode())
        facts = tables(plan, results) | curves(results, plan.steps, output) | reached(plan, results, output)
        facts["table.training"] = training_table(facts, plan.curricula)
        facts |= over_others(results) | consistency_counts(results, output)
        own, more = generator(measured, output)
        facts |= own
        for name, value in facts.items():
            print(f"{name}: {value}" if "\n" not in value else f"{name}:\n{value}")
        if arguments.page is not None:
            write_page(arguments.page, facts)
        if arguments.section is not None:
            write_section(arguments.section, facts)
        for figure in (*figures(plan, results), *more):
            write_bytes(output / f"{Path(figure.key).name}.png", paint(figure))
    except EvoEnvError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
