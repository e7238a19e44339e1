"""The audit figures of a run, as charts with the table behind each: what was proposed, how both roles moved.

Pure: a run in, figures out. The figures of the pool stand in `pool_figures`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from evoenv.admission.reward import q_unc
from evoenv.report import pool_figures
from evoenv.report.asymmetry_figure import asymmetry
from evoenv.report.charts import (
    DASHES,
    MOST_COLUMNS,
    Bar,
    Bars,
    Cell,
    Columns,
    Figure,
    Lines,
    Series,
    Table,
    inside,
    percent,
    share,
    window_words,
    windows,
)
from evoenv.report.overlap_figure import overlap
from evoenv.report.reading import RunData
from evoenv.runs.funnel import FUNNEL, INSIDE, REFUSED, STATES
from evoenv.runs.view import quantile
from evoenv.validation.codes import CODES

MOST_REASONS = 18
COLOURS = {
    **{name: name for name in ("l1", "l2", "l3", "l4", "l5", "review", "admitted")},
    "too-hard": "calibration",
    "too-easy": "calibration",
    "asymmetry": "calibration",
    "gate": "novelty",
    "batch-duplicate": "novelty",
    "judging": "grey",
    "undecided": "grey",
}
_LABELS = {
    "review": "rejected by review",
    "too-hard": "too hard",
    "too-easy": "too easy",
    "asymmetry": "no easier for programs",
    "gate": "not novel",
    "batch-duplicate": "duplicate in its batch",
}
_BANDS = (
    ("admitted", ("admitted",), "admitted"),
    ("not novel", ("gate", "batch-duplicate"), "novelty"),
    ("too hard or too easy", ("too-hard", "too-easy", "asymmetry"), "calibration"),
    ("review", ("review",), "review"),
    *((f"fails L{layer}", (f"l{layer}",), f"l{layer}") for layer in range(5, 0, -1)),
    ("not decided yet", ("judging", "undecided"), "grey"),
)


def figures_of(data: RunData) -> list[Figure]:
    """Make every figure; one without data says what is missing."""
    return [
        funnel(data),
        funnel_by_step(data),
        rejections(data),
        scores(data),
        reward(data),
        zero_variance(data),
        pass_rates(data),
        *asymmetry(data),
        pool_figures.pool(data),
        pool_figures.tags_by_step(data),
        pool_figures.lineage(data),
        pool_figures.rotation(data),
        pool_figures.lifetimes(data),
        overlap(data.overlaps),
    ]


# --------------------------------------------------------------------------- what was proposed and how far it got


def funnel(data: RunData) -> Figure:
    """Draw how far candidates get, over the whole run."""
    labels = ("proposed", *(f"pass L{layer}" for layer in range(1, 6)), "pass review", "right difficulty", "admitted")
    colours = ("grey", "l1", "l2", "l3", "l4", "l5", "review", "calibration", "admitted")
    tests = [test for test in zip(FUNNEL, labels, data.funnel, colours, strict=True) if test[0] not in data.left_out]
    counts = [count for _, _, count, _ in tests]
    proposed = counts[0]
    table = Table(
        ("passed", "candidates", "share_of_proposed", "share_of_previous"),
        [
            (name, count, share(count, proposed), share(count, counts[max(index - 1, 0)]))
            for index, (name, _, count, _) in enumerate(tests)
        ],
    )
    bars = [
        Bar(label, count, colour, f"{count:,} · {percent(count, proposed)}",
            f"{label}: {count:,} of {proposed:,} candidates\n{percent(count, counts[max(i - 1, 0)])} of those before")
        for i, (_, label, count, colour) in enumerate(tests)
    ]  # fmt: skip
    return Figure(
        "funnel",
        "How far candidates get",
        "All candidates of the run. Each bar counts those that passed this test and all before it; percentages are of "
        "the proposed." + "".join(f" This run leaves {name} out." for name in FUNNEL if name in data.left_out)
        if proposed
        else "No candidate was proposed.",
        f"Bars that shrink from {proposed} proposed candidates to {counts[-1]} admitted.",
        [Bars(bars)] if proposed else [],
        table,
    )


def funnel_by_step(data: RunData) -> Figure:
    """Draw where the candidates of each step ended."""
    steps = [step for step in data.steps if step.fates]
    ranges = windows([step.number for step in steps], MOST_COLUMNS)
    fates = [
        sum((step.fates for step in steps if inside(window, step.number)), start=Counter[str]()) for window in ranges
    ]
    series = [
        Series(words, [float(sum(counts[name] for name in names)) for counts in fates], colour)
        for words, names, colour in _BANDS
    ]
    series = [item for item in series if any(item.values)]
    columns = Columns([window_words(window) for window in ranges], series, "candidates")
    table = Table(
        ("step", *(f"passed_{name}" if name not in ("proposed", "admitted") else name for name in FUNNEL)),
        [(step.number, *step.funnel) for step in steps],
    )
    return Figure(
        "funnel_by_step",
        "Validation funnel per step",
        "Where the candidates of each step ended, the admitted at the bottom. A generator that learns to write sound "
        "environments moves the colours upwards." if steps else "No candidate was proposed.",
        "Stacked columns, one per step, by the test that refused the candidates.",
        [columns] if steps else [],
        table,
    )  # fmt: skip


def rejections(data: RunData) -> Figure:
    """Draw why candidates are refused."""
    counts: Counter[tuple[str, str]] = Counter()
    for entry in data.entries:
        if entry.state in REFUSED:
            reason = entry.codes[0] if entry.state.startswith("l") and entry.codes else entry.state
            counts[reason, entry.state] += 1
    refused = sum(counts.values())
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    bars = [
        Bar(
            _LABELS.get(reason, reason),
            count,
            COLOURS[state],
            f"{count:,} · {percent(count, refused)}",
            _meaning(reason, state),
        )
        for (reason, state), count in rows[:MOST_REASONS]
    ]
    if len(rows) > MOST_REASONS:
        rest = sum(count for _, count in rows[MOST_REASONS:])
        others = len(rows) - MOST_REASONS
        words = f"{others} other reason{'' if others == 1 else 's'}"
        bars.append(Bar(words, rest, "grey", f"{rest:,} · {percent(rest, refused)}", "See the table for all of them."))
    return Figure(
        "rejections",
        "Why candidates are refused",
        "Each refused candidate once: by the first finding of the layer that it failed, or by the rule that refused it "
        "after validation." if refused else "No candidate was refused.",
        f"Bars of the reasons for {refused} refusals, the most frequent first.",
        [Bars(bars)] if bars else [],
        Table(("reason", "refused_at", "candidates", "meaning"),
              [(reason, state, count, _meaning(reason, state)) for (reason, state), count in rows]),
    )  # fmt: skip


def _meaning(reason: str, state: str) -> str:
    return CODES[reason][0] if reason in CODES else STATES[state]


# --------------------------------------------------------------------------- how both roles moved


def scores(data: RunData) -> Figure:
    """Draw the solver's training score and the held-out accuracies."""
    steps = [step for step in data.steps if "solver/score" in step.metrics]
    suites = list(dict.fromkeys(item.suite for item in data.evaluations))
    xs = sorted({*(step.number for step in steps), *(item.step for item in data.evaluations)})
    by_step = {step.number: step.metrics for step in steps}
    series = []
    if steps:
        series = [
            Series("training score", [by_step[x]["solver/score"] if x in by_step else None for x in xs], "blue"),
            Series("fully right", [by_step[x].get("solver/right") if x in by_step else None for x in xs], "sky", "6 3"),
        ]
    for index, suite in enumerate(suites):
        by_evaluation = {item.step: item for item in data.evaluations if item.suite == suite}
        series.append(
            Series(
                f"held out: {suite}",
                _filled([by_evaluation[x].accuracy if x in by_evaluation else None for x in xs]),
                ("orange", "green", "pink", "amber")[index % 4],
                DASHES[index // 4 % len(DASHES)],
                [by_evaluation[x].low if x in by_evaluation else None for x in xs],
                [by_evaluation[x].high if x in by_evaluation else None for x in xs],
                dots=True,
            )
        )
    caption = (
        "Mean score of the solver on the environments of its step, and the share of responses that are fully right. "
        "The training score may fall while the solver gets better: the environments get harder."
    )
    if not suites:
        caption += " No held-out evaluation is recorded in this run, so whether it got better is open."
    if not data.training:
        caption = "This run built a pool without training: there is no solver to follow."
    elif not series:
        caption = "No step has been solved yet."
    rows: list[tuple[Cell, ...]] = [
        (step.number, "training", step.metrics["solver/score"], None, None, None) for step in steps
    ]
    rows += [(item.step, item.suite, item.accuracy, item.low, item.high, item.n) for item in data.evaluations]
    return Figure(
        "scores",
        "Training score and held-out accuracy",
        caption,
        "Lines along steps: " + ", ".join(item.name for item in series) + ".",
        [Lines(xs, series, "score", share=True)] if series else [],
        Table(("step", "suite", "score", "low", "high", "problems"), rows),
    )


def _filled(values: Sequence[float | None]) -> list[float | None]:
    """Interpolate between evaluations, so that the line has no gaps at the steps without one."""
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    filled = list(values)
    for (left, low), (right, high) in pairwise(known):
        for index in range(left + 1, right):
            filled[index] = low + (high - low) * (index - left) / (right - left)
    return filled


def reward(data: RunData) -> Figure:
    """Draw the generator's reward and its parts."""
    steps = [step for step in data.steps if step.rewards]
    xs = [step.number for step in steps]
    means = [sum(step.rewards) / len(step.rewards) for step in steps]
    low = [quantile(step.rewards, 0.1) for step in steps]
    high = [quantile(step.rewards, 0.9) for step in steps]
    parts = Lines(
        xs,
        [
            Series("mean reward", means, "blue", low=low, high=high),
            Series("quality: mean Q_val", [step.quality for step in steps], "orange", "6 3"),
            Series("diversity: mean γ·N", [step.diversity for step in steps], "green", "2 3"),
        ],
        "generator reward",
    )
    rows = [
        (step.number, len(step.rewards), means[i], low[i], high[i], step.quality, step.diversity,
         step.metrics.get("novelty/gamma"), step.metrics.get("novelty/repetition"))
        for i, step in enumerate(steps)
    ]  # fmt: skip
    columns = ("step", "candidates", "mean", "p10", "p90", "quality", "diversity", "gamma", "repetition")
    return Figure(
        "reward",
        "Generator reward",
        "Mean of R_gen = Q_val + γ·N over the candidates of a step, its two parts, and (shaded) the range from the "
        "10th to the 90th percentile." if steps else "No candidate has been rewarded yet.",
        "Lines along steps: the mean reward with its range, the quality part, the diversity part.",
        [parts] if steps else [],
        Table(columns, [tuple(row) for row in rows]),
    )  # fmt: skip


def zero_variance(data: RunData) -> Figure:
    """Draw the share of groups without a signal, by role."""
    steps = [s for s in data.steps if "solver/zero_variance" in s.metrics or s.generator_zero_variance is not None]
    solver = [step.metrics.get("solver/zero_variance") for step in steps]
    generator = [step.generator_zero_variance for step in steps]
    series = [Series("solver groups", solver, "blue"), Series("generator groups", generator, "orange", "6 3")]
    series = [item for item in series if any(value is not None for value in item.values)]
    return Figure(
        "zero_variance",
        "Groups without a signal",
        "Share of groups whose samples all earned the same: such a group has no advantage to learn from. "
        "A pool at the right difficulty keeps the solver's share low." if series else "No group has been rewarded yet.",
        "Lines along steps: the share of groups without variance, by role.",
        [Lines([step.number for step in steps], series, "share of groups", share=True)] if series else [],
        Table(("step", "solver", "generator"),
              [(step.number, solver[i], generator[i]) for i, step in enumerate(steps)]),
    )  # fmt: skip


def pass_rates(data: RunData) -> Figure:
    """Draw how hard the candidates at L5 are for the solver."""
    settings = data.config.get("calibration", {})
    instances = max(1, int(settings.get("instances", 8)))
    bins = min(instances, 20)
    target, sigma = float(settings.get("target", 0.3)), float(settings.get("sigma", 0.2))
    known = [entry for entry in data.entries if entry.pass_rate is not None]

    def counted(*states: str) -> list[float]:
        counts = Counter(round((entry.pass_rate or 0.0) * bins) for entry in known if entry.state in states)
        return [float(counts[index]) for index in range(bins + 1)]

    others = ("review", "asymmetry", "gate", "batch-duplicate", "judging", "undecided")
    series = [
        Series("admitted", counted(*INSIDE), "admitted"),
        Series("refused for another reason", counted(*others), "review"),
        Series("too hard or too easy", counted("too-hard", "too-easy"), "calibration"),
    ]
    labels = [f"{index / bins:.3g}" for index in range(bins + 1)]
    return Figure(
        "pass_rates",
        "Pass rates at calibration",
        f"Candidates that reached L5, by the solver's pass rate on {instances} fresh instances. The reward is "
        f"highest at the target, {target:g}; at 0 and 1 nothing is admitted."
        if known
        else "No candidate was calibrated.",
        "Columns along pass rates from 0 to 1: how many candidates were admitted, refused, too hard or too easy.",
        [Columns(labels, series, "candidates", "pass rate", (target * bins, f"target {target:g}"))] if known else [],
        Table(
            ("pass_rate", "admitted", "refused_otherwise", "too_hard_or_easy", "q_unc"),
            [
                (index / bins, *(int(item.values[index] or 0) for item in series), q_unc(index / bins, target, sigma))
                for index in range(bins + 1)
            ],
        ),
    )
