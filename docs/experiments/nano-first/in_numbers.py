"""The numbers of this page's text, from the series of the runs.

    python docs/experiments/nano-first/in_numbers.py [SERIES.csv]

A third (a tenth) of a run is its number of steps // 3 (// 10) at either end. Shares of candidates are taken over all
seeds together, everything else is a mean over seeds of means over steps; `±` is one standard error.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean

Row = dict[str, str]
RATIOS = {"l5": "at L5", "admitted": "admitted"}
MEANS = {"train_right": "right answers", "zero_variance": "groups without signal", "generator_reward": "reward"}


def ends(rows: list[Row], part: int) -> tuple[list[Row], list[Row]]:
    size = max(1, len(rows) // part)
    return rows[:size], rows[-size:]


def values(rows: list[Row], column: str) -> list[float]:
    return [float(row[column]) for row in rows if row[column]]


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "series.csv"
    runs: defaultdict[str, defaultdict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    with path.open() as stream:
        for row in csv.DictReader(stream):
            runs[row["curriculum"]][row["seed"]].append(row)
    for curriculum, seeds in runs.items():
        steps = {seed: [row for row in rows if row["train_score"]] for seed, rows in seeds.items()}
        if not any(steps.values()):
            continue
        print(curriculum)
        for part, name in ((3, "third"), (10, "tenth")):
            for column, words in MEANS.items():
                found = [
                    tuple(mean(values(rows, column)) for rows in ends(mine, part))
                    for mine in steps.values()
                    if values(mine, column)
                ]
                if found:
                    first, last = mean(one for one, _ in found), mean(one for _, one in found)
                    each = ", ".join(f"{after - before:+.3f}" for before, after in found)
                    print(f"  {words}, first and last {name}: {first:.3f} {last:.3f}  by seed {each}")
            for column, words in RATIOS.items():
                pooled = [[row for mine in steps.values() for row in ends(mine, part)[side]] for side in (0, 1)]
                counts = [(sum(values(rows, column)), sum(values(rows, "candidates"))) for rows in pooled]
                if all(total for _, total in counts):
                    shares = [count / total for count, total in counts]
                    error = sum(share * (1 - share) / total for share, (_, total) in zip(shares, counts, strict=True))
                    print(
                        f"  {words}, first and last {name}: "
                        + " ".join(f"{count:.0f}/{total:.0f} = {count / total:.3f}" for count, total in counts)
                        + f"  difference {shares[1] - shares[0]:+.3f} ± {error**0.5:.3f}"
                    )
        for group in ("l5", "admitted"):
            kinds = {
                kind: sum(sum(values(mine, f"{group}_{kind}")) for mine in steps.values())
                for kind in ("consistent", "inconsistent", "unread")
            }
            if sum(kinds.values()):
                readable = kinds["consistent"] + kinds["inconsistent"]
                shown = ", ".join(f"{kind} {count:.0f}" for kind, count in kinds.items())
                print(f"  {group}: {shown}; {kinds['consistent'] / readable:.3f} of the readable are consistent")
        for suite in (column for column in next(iter(seeds.values()))[0] if column.startswith("accuracy:")):
            measured = [[(row["step"], float(row[suite])) for row in rows if row[suite]] for rows in seeds.values()]
            means = [
                f"{place[0][0]}: {mean(value for _, value in place):.3f}" for place in zip(*measured, strict=False)
            ]
            print(f"  {suite} by step: {', '.join(means)}; at the end {mean(one[-1][1] for one in measured):.3f}")


if __name__ == "__main__":
    main()
