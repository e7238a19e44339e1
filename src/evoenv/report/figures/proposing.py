"""What was proposed and how far it got."""

from __future__ import annotations

from collections import Counter

from evoenv.report.charts import Bar, Bars, Columns, Figure, Series, Table
from evoenv.report.figures.common import MOST_COLUMNS, inside, percent, share, total, window_words, windows
from evoenv.runs.data import RunData
from evoenv.runs.funnel import FUNNEL, REFUSED, STATES
from evoenv.validation.codes import CODES

MOST_REASONS = 18
COLOURS = {
    **{name: name for name in ("l1", "l2", "l3", "l4", "l5", "review", "admitted")},
    "too-hard": "calibration",
    "too-easy": "calibration",
    "gate": "novelty",
    "batch-duplicate": "novelty",
    "judging": "grey",
    "undecided": "grey",
}
_LABELS = {
    "review": "rejected by review",
    "too-hard": "too hard",
    "too-easy": "too easy",
    "gate": "not novel",
    "batch-duplicate": "duplicate in its batch",
}
_BANDS = (
    ("admitted", ("admitted",), "admitted"),
    ("not novel", ("gate", "batch-duplicate"), "novelty"),
    ("too hard or too easy", ("too-hard", "too-easy"), "calibration"),
    ("review", ("review",), "review"),
    *((f"fails L{layer}", (f"l{layer}",), f"l{layer}") for layer in range(5, 0, -1)),
    ("not decided yet", ("judging", "undecided"), "grey"),
)


def funnel(data: RunData) -> Figure:
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
    steps = [step for step in data.steps if step.fates]
    ranges = windows([step.number for step in steps], MOST_COLUMNS)
    fates = [total(step.fates for step in steps if inside(window, step.number)) for window in ranges]
    series = [
        Series(words, [float(sum(found[name] for name in names)) for found in fates], colour)
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
