"""What a training brought: the series, the figure and the tables of its page, from files alone.

    python docs/experiments/training.py RUN -o DIR [--before EVALUATIONS --after EVALUATIONS] [--equal-terms FILE.json]

RUN is the directory of `evoenv train`; EVALUATIONS those of `evoenv eval` with the same suites, before training
(`--checkpoint 0`) and after it; FILE.json is from `benchmarks/equal_terms.py`. Into DIR go

    series.csv        one row per step: funnel, rewards, solver, silent groups, pool, tokens, seconds
    learning.png      the same as pictures, with means over five steps
    tables.md         the first and the last third of the steps; accuracy before and after; the generator on equal terms

Intervals are at 95%: Wilson's for shares of candidates, of differences problem by problem for accuracies.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from evoenv.comparison.figures import COLOURS
from evoenv.comparison.series import ComparedRun, series, to_csv
from evoenv.durable import write_bytes
from evoenv.report.charts import Figure, Lines, Series
from evoenv.report.png import paint
from evoenv.review_audit.agreement import wilson
from evoenv.store.store import Store

MEANS = {
    "generator_reward": "generator reward",
    "train_score": "solver: mean score",
    "train_right": "solver: fully right",
    "zero_variance": "solver groups without signal",
}
WINDOW = 5
Row = dict[str, Any]


def smooth(values: Sequence[float | None]) -> list[float | None]:
    """Average over the steps around each one, as far as they have a value."""
    near = [
        [value for value in values[max(0, at - WINDOW // 2) : at + WINDOW // 2 + 1] if value is not None]
        for at in range(len(values))
    ]
    return [mean(own) if own else None for own in near]


def share(row: Row, name: str) -> float | None:
    return row[name] / row["candidates"] if row.get("candidates") else None


def learning(rows: Sequence[Row]) -> Figure:
    """Draw the candidates by layer, their reward, the solver, and its groups without signal."""
    steps = [row["step"] for row in rows]

    def curve(label: str, values: Sequence[float | None], colour: int) -> Series:
        return Series(label, smooth(values), COLOURS[colour])

    def column(name: str) -> list[float | None]:
        return [row.get(name) for row in rows]

    layers = [
        curve("parses (L1)", [share(row, "l1") for row in rows], 0),
        curve("runs (L2)", [share(row, "l2") for row in rows], 1),
        curve("passes (L5)", [share(row, "l5") for row in rows], 2),
        curve("is new, too", [share(row, "fresh") for row in rows], 3),
    ]
    panels = [
        Lines(steps, layers, "share", share=True, title="candidates"),
        Lines(steps, [curve("", column("generator_reward"), 0)], "reward", title="generator reward", from_zero=False),
        Lines(steps, [curve("", column("train_right"), 2)], "share", share=True, title="solver: fully right"),
        Lines(steps, [curve("", column("zero_variance"), 1)], "share", share=True, title="groups without signal"),
    ]
    return Figure("learning", "", "", f"Means over {WINDOW} steps", panels, columns=2)


def fresh(store: Store, step: int) -> int:
    """Count the candidates at L5 that are new to the pool by the novelty gate, whatever refused them first."""
    gate, measured = store.meta("config")["novelty"]["gate"], store.novelties(step)
    return sum(
        one.layer == 5 and (found := measured.get(one.candidate_id)) is not None and found.similarity < gate
        for one in store.decisions(step)
    )


def percent(value: float) -> str:
    return f"{100 * value:.1f}%"


def thirds(rows: Sequence[Row]) -> list[str]:
    """Compare the first third of the steps with the last."""
    size = max(1, len(rows) // 3)
    ends = rows[:size], rows[-size:]
    lines = [f"| | steps 1–{size} | steps {len(rows) - size + 1}–{len(rows)} |", "|---|---|---|"]
    named = {"l1": "L1", "l2": "L2", "l3": "L3", "l4": "L4", "l5": "L5", "fresh": "L5 and new", "admitted": "admitted"}
    for name, words in named.items():
        cells = []
        for own in ends:
            count, total = (int(sum(row.get(column, 0) for row in own)) for column in (name, "candidates"))
            low, high = wilson(count, total) if total else (0.0, 1.0)
            share_of = f"{percent(count / total)}, {100 * low:.0f}–{100 * high:.0f}" if total else "–"
            cells.append(f"{count} of {total} ({share_of})")
        lines.append(f"| candidates: {words} | {cells[0]} | {cells[1]} |")
    for name, words in MEANS.items():
        cells = []
        for own in ends:
            values = [row[name] for row in own if row.get(name) is not None]
            error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
            cells.append(f"{mean(values):.3f} ± {error:.3f}" if values else "–")
        lines.append(f"| {words} (± standard error over steps) | {cells[0]} | {cells[1]} |")
    return lines


def scores(directory: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Read an evaluation: by suite and level the mean score, fully right or not, of every problem."""
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(directory.glob("*.jsonl")):
        head, *entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        for entry in entries:
            if "score" in entry:
                level = str(entry.get("difficulty", "–"))  # a benchmark's problems have none
                found[head["suite"]["name"], level][entry["item"]].append(float(entry["score"] >= 1.0))
    return {key: {item: mean(values) for item, values in problems.items()} for key, problems in found.items()}


def named(suite: str) -> str:
    """Shorten a suite that is a long list of data sets."""
    kind, _, names = suite.partition(":")
    return f"{kind}, {names.count(',') + 1} data sets" if names.count(",") > 3 else suite


def accuracies(before: Path, after: Path) -> list[str]:
    """Compare two evaluations problem by problem."""
    first, last = scores(before), scores(after)
    lines = ["| suite | level | problems | before | after | difference (95%) |", "|---|---|---|---|---|---|"]
    for suite, level in sorted(first.keys() & last.keys()):
        items = sorted(first[suite, level].keys() & last[suite, level].keys())
        pairs = [(first[suite, level][item], last[suite, level][item]) for item in items]
        changes = [b - a for a, b in pairs]
        error = 1.96 * stdev(changes) / len(changes) ** 0.5 if len(changes) > 1 else 0.0
        lines.append(
            f"| {named(suite)} | {level} | {len(items)} | {percent(mean(a for a, _ in pairs))} | "
            f"{percent(mean(b for _, b in pairs))} | {100 * mean(changes):+.1f} ± {100 * error:.1f} |"
        )
    return lines


def habits(before: Path, after: Path) -> list[str]:
    """Compare how answers are given: without one that can be read, or cut off at the limit."""
    lines = ["| suite | no answer, before | after | cut off, before | after |", "|---|---|---|---|---|"]
    for path in sorted(before.glob("*.json")):
        if (after / path.name).is_file():
            ends = [json.loads((folder / path.name).read_text(encoding="utf-8")) for folder in (before, after)]
            shares = [percent(end[key]) for key in ("format_failures", "truncated") for end in ends]
            lines.append(f"| {named(ends[0]['suite'])} | {' | '.join(shares)} |")
    return lines


def equal_terms(measured: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write what benchmarks/equal_terms.py found; ± is one standard error."""

    def words(value: Mapping[str, float] | None) -> str:
        return "" if value is None else f"{value['mean']:+.3f} ± {value['standard_error']:.3f}"

    lines = ["| on equal terms | candidates | L5 | reward | gain |", "|---|---|---|---|---|"]
    for item in measured:
        top = percent(item["reach_l5"])
        lines.append(
            f"| {item['policy']} | {item['candidates']} | {top} | {words(item['reward'])} | {words(item.get('gain'))} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--before", type=Path, metavar="EVALUATIONS")
    parser.add_argument("--after", type=Path, metavar="EVALUATIONS")
    parser.add_argument("--equal-terms", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    with Store.read(arguments.run) as store:
        rows = series(store)
        name = str(store.meta("config")["curriculum"]["name"])
        seed = int(store.meta("config")["run"]["seed"])
        steps = [row | {"fresh": fresh(store, row["step"])} for row in rows[1:]]
    arguments.output.mkdir(parents=True, exist_ok=True)
    write_bytes(arguments.output / "series.csv", to_csv([ComparedRun(name, seed, tuple(rows))]).encode())
    write_bytes(arguments.output / "learning.png", paint(learning(steps)))
    lines = thirds(steps)
    if arguments.before and arguments.after:
        lines += ["", *accuracies(arguments.before, arguments.after)]
        lines += ["", *habits(arguments.before, arguments.after)]
    if arguments.equal_terms:
        lines += ["", *equal_terms(json.loads(arguments.equal_terms.read_text(encoding="utf-8")))]
    write_bytes(arguments.output / "tables.md", ("\n".join(lines) + "\n").encode())
    print("\n".join(lines))


if __name__ == "__main__":
    main()
