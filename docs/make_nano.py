"""Draws docs/images/nano.png from the record that ships with nano's weights: `python docs/make_nano.py`."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "src/evoenv/policy/nano/warm-start.json"
WINDOW = 4


def main() -> None:
    stages = json.loads(RECORD.read_text(encoding="utf-8"))["stages"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
    begin = 0
    lines: dict[str, list[tuple[float, float]]] = {}
    for number, stage in enumerate(stages):
        tokens = [(begin + point[0]) / 1e6 for point in stage["losses"]]
        values = [point[1] for point in stage["losses"]]
        smooth = [
            sum(values[max(0, i - WINDOW) : i + 1]) / len(values[max(0, i - WINDOW) : i + 1])
            for i in range(len(values))
        ]
        left.plot(tokens, smooth, color="0.55", lw=1, label="training" if not number else None)
        for check in stage["checks"]:
            place = (begin + check["tokens"]) / 1e6
            for role, loss in check["held_out_loss"].items():
                lines.setdefault(f"held out, {role}", []).append((place, loss))
            abilities = check.get("abilities", {})
            if generator := abilities.get("generator"):
                lines.setdefault("candidates that reach L5", []).append((place, generator["reach_l5"]))
            for suite, found in abilities.get("solver", {}).items():
                lines.setdefault(f"solver, {suite}", []).append((place, found["accuracy"]))
        begin += stage["progress"]["tokens"]
        if number < len(stages) - 1:
            for axis in (left, right):
                axis.axvline(begin / 1e6, color="0.8", lw=1, ls=":")
    for name, points in lines.items():
        axis = left if name.startswith("held out") else right
        axis.plot(*zip(*points, strict=True), marker="o", ms=3, lw=1.3, label=name)
    left.set(xlabel="million tokens", ylabel="loss per token", ylim=(0, 3))
    right.set(xlabel="million tokens", ylabel="share", ylim=(0, 1))
    for axis in (left, right):
        axis.legend(frameon=False, fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs/images/nano.png", dpi=150)


if __name__ == "__main__":
    main()
