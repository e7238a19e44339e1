"""The verdict rule of recomputation on the shipped labelled environments, with a programmer that needs no model.

    python benchmarks/recomputation.py                  the table, and the same as JSON with --json FILE
    python benchmarks/recomputation.py --figure FILE    the operating curve as a picture

The programmer writes the independent brute forces that the tests hold: the right program for what the prompt asks. Each
environment is recomputed once by it, through the same prompt values, sandbox and scorer as in a run. What K programs
with an error rate would have said is then drawn from that: a program errs with this probability, and then says
something wrong on every instance; in half of the cases something of its own, else what all that err say. A refused
environment (anything but *confirmed*) counts as found buggy.
"""

from __future__ import annotations

import argparse
import inspect
import json
import random
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "review_audit"))

import oracles_numbers  # noqa: E402
import oracles_structures  # noqa: E402

from evoenv.admission.recomputation import FreshInstance, Recomputed, recomputation_of  # noqa: E402
from evoenv.evaluation.programs import ProgramGrader  # noqa: E402
from evoenv.records import environment_id  # noqa: E402
from evoenv.review_audit.labels import read_set  # noqa: E402
from evoenv.sandbox.host import Sandbox  # noqa: E402
from evoenv.stages.recomputing import prepare_recomputing, recompute_rows  # noqa: E402
from evoenv.validation.validate import validate  # noqa: E402

INSTANCES = 16
ERROR_RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
PROGRAMS = (1, 2, 3, 5)
DRAWS = 50


SEARCHES = {
    "congruence": "next(x for x in range(z['m']) if z['a'] * x % z['m'] == z['b'])",
    "balance_weights": "next(list(chosen) for chosen in subsets(z['weights']) if sum(chosen) == z['target'])",
    "recipe_order": (
        "next(list(order) for order in itertools.permutations(z['steps']) "
        "if all(order.index(a) < order.index(b) for a, b in z['rules']))"
    ),
    "ferry_path": (
        "next(list(path) for size in range(99) for path in itertools.permutations("
        "{place for pair in z['ferries'] for place in pair}, size) "
        "if path[:1] == (z['start'],) and path[-1:] == (z['goal'],) "
        "and all([u, v] in z['ferries'] or [v, u] in z['ferries'] for u, v in itertools.pairwise(path)))"
    ),
}
"""Tasks with several right answers: the first that a search finds."""
WRAPPER = """

import re


def solve(z):
    z = {"text": z} if isinstance(z, str) else z
    if "n" not in z:  # a size is often told in words ("0 to 5"), or by the places that are named
        span = re.search(r"([0-9]+) to ([0-9]+)", z["text"])
        pairs = [item for value in z.values() if isinstance(value, list) for item in value if isinstance(item, list)]
        if span:
            z["n"] = int(span[2]) - int(span[1]) + 1
        else:
            z["n"] = 1 + max((place for item in pairs for place in item[:2] if isinstance(place, int)), default=0)
    if "moves" not in z and "+" in z["text"]:  # plates that are put down and taken off
        z["moves"] = [int(move[1:] or 0) for move in re.findall(r"(?<= )(?:[+][0-9]+|-)(?= )", z["text"])]
    answer = ANSWER
    return " ".join(map(str, answer)) if isinstance(answer, (list, tuple)) else str(answer)
"""


def program_for(task: str) -> str:
    """Return a program that solves a task by brute force."""
    module = oracles_numbers if task in oracles_numbers.ASKED else oracles_structures
    answer = SEARCHES.get(task, f"ASKED[{task!r}](z)")
    return inspect.getsource(module) + WRAPPER.replace("ANSWER", answer)


def measure(task: str, source: str, sandbox: Sandbox, grader: ProgramGrader) -> dict[str, Any]:
    """Recompute one environment with the right program."""
    program = program_for(task)
    with sandbox.open(source) as worker:
        recomputing = prepare_recomputing(worker, environment_id(source), (0, 2), INSTANCES, "values", 0)
        if recomputing is None:
            return {"said": []}
        (row,) = recompute_rows(recomputing, [program], worker, grader)
    return {"said": [[item.answer, item.right] for item in row]}


def caught(said: Sequence[Sequence[Any]], programs: int, error: float, draws: int, chance: random.Random) -> float:
    """Return how often K programs, each wrong with this probability, would refuse the environment."""
    instances = [FreshInstance(number, 0, "", "") for number in range(len(said))]
    right = [Recomputed(answer, bool(fine)) for answer, fine in said]
    refused = 0
    for _ in range(draws):
        rows = []
        for number in range(programs):
            if chance.random() >= error:
                rows.append(right)
            else:
                mistake = "shared" if chance.random() < 0.5 else f"own {number}"
                rows.append([Recomputed(f"{mistake} {at}") for at in range(len(said))])
        refused += recomputation_of(instances, rows).verdict != "confirmed"
    return refused / draws


def summarise(measured: Sequence[dict[str, Any]], programs: int, error: float) -> dict[str, float]:
    """Return recall, precision and F1 for finding buggy environments, alone and with the mechanical checks."""
    chance = random.Random(f"{programs} {error}")
    draws = 1 if error == 0 else DRAWS
    figures: dict[str, float] = {"programs": programs, "error": error}
    shares = [caught(item["said"], programs, error, draws, chance) for item in measured]
    for name in ("recomputation", "with_mechanical"):
        hits = false = buggy = 0.0
        for item, share in zip(measured, shares, strict=True):
            refused = 1.0 if name == "with_mechanical" and item["mechanical"] else share
            buggy += item["buggy"]
            hits += refused if item["buggy"] else 0.0
            false += 0.0 if item["buggy"] else refused
        recall, precision = hits / buggy, hits / (hits + false) if hits + false else 0.0
        f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
        figures |= {f"{name}_recall": recall, f"{name}_precision": precision, f"{name}_f1": f1}
    return figures


def draw_figure(rows: Sequence[dict[str, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for axis, measure_name in zip(axes, ("recall", "precision"), strict=True):
        for programs in PROGRAMS:
            own = [row for row in rows if row["programs"] == programs]
            axis.plot(
                [100 * row["error"] for row in own],
                [100 * row[f"with_mechanical_{measure_name}"] for row in own],
                marker="o", label=f"K = {programs}",
            )  # fmt: skip
        axis.set_title(f"{measure_name} on buggy environments")
        axis.set_xlabel("programs that are wrong, %")
        axis.set_ylim(0, 102)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("%")
    axes[0].legend()
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="keep what was measured, and read it again from there"
    )
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw the operating curve")
    arguments = parser.parse_args()
    if arguments.json is not None and arguments.json.exists():
        measured = json.loads(arguments.json.read_text())["environments"]
    else:
        items = read_set("shipped").items
        with Sandbox() as sandbox, ProgramGrader() as grader, ThreadPoolExecutor(sandbox.workers) as threads:

            def work(item: Any) -> dict[str, Any]:
                task = item.name.removesuffix(".py").removesuffix("_sound").removesuffix("_buggy")
                found = measure(task, item.source, sandbox, grader)
                mechanical = not validate(item.source, sandbox).passed
                print(
                    f"{item.name}: {sum(right for _, right in found['said'])} of {len(found['said'])}", file=sys.stderr
                )
                return {"name": item.name, "buggy": item.buggy, "mechanical": mechanical, **found}

            measured = list(threads.map(work, items))
    rows = [summarise(measured, programs, error) for programs in PROGRAMS for error in ERROR_RATES]
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"environments": measured, "curve": rows}, indent=1) + "\n")
    print("programs  error  recall  precision    F1   (recomputation and mechanical checks together)")
    for row in rows:
        values = [row[f"with_mechanical_{name}"] for name in ("recall", "precision", "f1")]
        print(f"{row['programs']:8.0f} {row['error']:6.0%}" + "".join(f"{value:9.1%}" for value in values))
    if arguments.figure is not None:
        draw_figure(rows, arguments.figure)


if __name__ == "__main__":
    main()
