"""Ships a finished warm start as nano, and draws how it went.

python docs/make_nano.py warm/nano    weights (bfloat16) and tokenizer go into the package, the record into docs/nano;
                                      what went on from nano (--model nano) follows the stages of the record
python docs/make_nano.py              docs/images/nano.png alone, from the record
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib
import msgspec

matplotlib.use("Agg")
from matplotlib import pyplot

ROOT = Path(__file__).parents[1]
SHIPPED = ROOT / "src/evoenv/models/nano"
RECORD = ROOT / "docs/nano/warm-start.json"
WINDOW = 4
KEPT_LOSSES = 8
"""Of this many training losses one is kept."""
COLORS = {
    "generator": "tab:blue", "solver": "tab:orange", "programmer": "tab:green", "corpus:basic": "tab:orange",
    "corpus:paired": "tab:purple", "corpus:near": "tab:red", "corpus:held-out": "tab:green",
}  # fmt: skip
"""By role in the left picture, by suite in the right one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warm_start", nargs="?", type=Path, help="the directory of a finished warm start")
    arguments = parser.parse_args()
    if arguments.warm_start is not None:
        ship(arguments.warm_start)
    draw()


def ship(directory: Path) -> None:
    import torch

    from evoenv.models.loading import quiet_transformers
    from evoenv.models.resolve import load_model, load_tokenizer, resolve_device
    from evoenv.warmstart.process import STAGE_RECORD
    from evoenv.warmstart.recipe import load_recipe

    record = json.loads((directory / "warm-start.json").read_text(encoding="utf-8"))
    stages: list[dict[str, Any]] = record.get("stages") or [{key: record[key] for key in STAGE_RECORD}]
    for stage in stages:
        stage["seconds"] = round(stage["seconds"])
        stage["losses"] = [*stage["losses"][:-1:KEPT_LOSSES], stage["losses"][-1]]
    model = load_model(directory / "model", resolve_device("cpu"), "float32").to(torch.bfloat16)
    with quiet_transformers():
        model.save_pretrained(SHIPPED)
        load_tokenizer(directory / "model").save_pretrained(SHIPPED)
    if record["model"] == "nano":
        stages = [*json.loads(RECORD.read_text(encoding="utf-8"))["stages"], *stages]
    kept = {
        "command": "evoenv warm-start --recipe nano --model new --corpus -o DIR",
        "recipe": msgspec.to_builtins(load_recipe("nano")),
        "parameters": record["parameters"],
        "stages": stages,
        "versions": {"torch": torch.__version__},
    }
    RECORD.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def draw() -> None:
    stages = json.loads(RECORD.read_text(encoding="utf-8"))["stages"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
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
            for suite, found in abilities.get("programmer", {}).items():
                lines.setdefault(f"programmer, {suite}", []).append((place, found["accuracy"]))
        begin += stage["progress"]["tokens"]
        if number < len(stages) - 1:
            for axis in (left, right):
                axis.axvline(begin / 1e6, color="0.8", lw=1, ls=":")
    for name, points in lines.items():
        axis = left if name.startswith("held out") else right
        role, _, suite = name.partition(", ")
        color = COLORS.get(suite, "tab:blue")
        dashes = "--" if role == "programmer" else "-"
        axis.plot(*zip(*points, strict=True), color=color, ls=dashes, marker="o", ms=3, lw=1.3, label=name)
    left.set(xlabel="million tokens", ylabel="loss per token", ylim=(0, 3))
    right.set(xlabel="million tokens", ylabel="share", ylim=(0, 1))
    left.legend(frameon=False, fontsize=8)
    right.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs/images/nano.png", dpi=150)


if __name__ == "__main__":
    main()
