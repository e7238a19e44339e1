"""The figures of the pool: its size and kinds, who came of whom, who entered and left. Pure: a run in, figures out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from evoenv.report.charts import (
    MOST_COLUMNS,
    Columns,
    Figure,
    Heat,
    Lines,
    Node,
    Panel,
    Series,
    Span,
    Spans,
    Table,
    Tree,
    inside,
    share,
    window_words,
    windows,
)
from evoenv.report.reading import RunData
from evoenv.runs.environments import closest_parent, turnover_of
from evoenv.store.store import EnvironmentRecord

MOST_WINDOWS = 16


def pool(data: RunData) -> Figure:
    """Draw the size of the pool and the number of prototypes."""
    steps = data.pool
    xs = [item.step for item in steps]
    ever, active = [item.generated for item in steps], [item.active for item in steps]
    examples, prototypes = [item.examples for item in steps], [item.prototypes for item in steps]
    panels: list[Panel] = [
        Lines(
            xs,
            [
                Series("generated, ever admitted", ever, "blue"),
                Series("in the pool", active, "orange", "6 3"),
                Series("serving as examples", examples, "green", "2 3"),
            ],
            "environments",
        ),
        Lines(xs, [Series("tag prototypes", prototypes, "pink")], "tag prototypes"),
    ]
    return Figure(
        "pool",
        "Pool size and prototypes",
        "Above: environments in the pool, serving as few-shot examples, and ever admitted. Below: tag prototypes, a "
        "lower bound on the distinct kinds of task: one more if the tags are unlike all before (Jaccard below 0.5)."
        if data.environments
        else "The pool has not been filled yet.",
        "Lines along steps: the size of the pool, the examples, all ever admitted, and the number of tag prototypes.",
        panels if data.environments else [],
        Table(
            ("step", "generated_ever_admitted", "active", "examples", "prototypes"),
            list(zip(xs, ever, active, examples, prototypes, strict=True)),
        ),
    )


def tags_by_step(data: RunData) -> Figure:
    """Draw which kinds of task were admitted when."""
    generated = data.generated
    originals = [record for record in data.environments if record.original]
    ranges = windows([step.number for step in data.steps], MOST_WINDOWS) if generated else []
    cohorts = [originals, *([r for r in generated if inside(window, r.admitted_step)] for window in ranges)]
    names = ["seeds", *map(window_words, ranges)]
    totals = Counter(tag for record in generated for tag in record.tags)
    seeds = Counter(tag for record in originals for tag in record.tags)
    rows = sorted({*totals, *seeds}, key=lambda tag: (-totals[tag], -seeds[tag], tag))
    values = [[share(_having(tag, cohort), len(cohort)) for cohort in cohorts] for tag in rows]
    tips = [
        [
            f"{tag}: {_having(tag, cohort)} of {len(cohort)}\n" + ("seeds" if name == "seeds" else f"steps {name}")
            for name, cohort in zip(names, cohorts, strict=True)
        ]
        for tag in rows
    ]
    return Figure(
        "tags",
        "Tags of admitted environments along steps",
        "Share of the environments admitted in each window that carry a tag; the seeds stand apart at the left. An "
        "environment has several tags." if generated else "No environment was admitted: there are no tags to follow.",
        "A heat map of tags by steps: " + ", ".join(rows[:5]) + " are the most frequent.",
        [Heat(rows, names, values, tips, "admitted at step", gap_after=1)] if generated and rows else [],
        Table(("tag", *names), [(tag, *values[index]) for index, tag in enumerate(rows)]),
    )  # fmt: skip


def _having(tag: str, records: Sequence[EnvironmentRecord]) -> int:
    return sum(tag in record.tags for record in records)


def lineage(data: RunData) -> Figure:
    """Draw which environment was written after which."""
    tree = lay_out(data)
    records = {record.id: record for record in data.environments}
    rows = [
        (entry.name, entry.environment_id, entry.step, records[parent].name if parent in records else parent, parent,
         int(parent == closest_parent(entry, records)))
        for entry in data.entries
        if entry.record is not None
        for parent in entry.parents
    ]  # fmt: skip
    return Figure(
        "lineage",
        "Lineage of admitted environments",
        "From left to right by step of admission. A line leads from the closest of the examples that the generator saw "
        "to what it wrote; point at an environment to see all its parents and children, click to open it. Amber: "
        "originals in the pool; blue: generated ones in the pool; grey: retired."
        if tree
        else "No environment was admitted: there is no lineage beyond the seeds.",
        "A forest that grows from the seeds to the right, one dot per environment; the list has the same parents.",
        [tree] if tree else [],
        Table(("child", "child_id", "step", "parent", "parent_id", "closest"), [tuple(row) for row in rows]),
    )


def rotation(data: RunData) -> Figure:
    """Draw how many environments entered and retired."""
    last = data.last_step
    ranges = windows(list(range(1, last + 1)), MOST_COLUMNS)
    by_step = turnover_of(data.environments)
    entered, left = ([sum(counts[step] for step in range(w[0], w[1] + 1)) for w in ranges] for counts in by_step)
    series = [
        Series("entered", [float(value) for value in entered], "admitted"),
        Series("retired", [-float(value) for value in left], "amber"),
    ]
    any_change = any(entered) or any(left)
    return Figure(
        "rotation",
        "Entering and retiring",
        "Environments that entered the pool (above the axis) and left it after long use (below). What retires goes on "
        "serving as an example." if any_change else "Nothing entered or left the pool.",
        "Columns along steps: environments that entered, and below the axis those that retired.",
        [Columns([window_words(w) for w in ranges], series, "environments")] if any_change else [],
        Table(("steps", "entered", "retired"),
              [(window_words(w), entered[i], left[i]) for i, w in enumerate(ranges)]),
    )  # fmt: skip


def lifetimes(data: RunData) -> Figure:
    """Draw each environment's time in the pool."""
    last = max(data.last_step, 1)
    spans = [
        Span(
            record.name,
            record.admitted_step,
            record.retired_step if record.retired_step is not None else last,
            colour_of(record),
            record.retired_step is not None,
            f"{record.name}\n"
            + ("original" if record.original else f"admitted at step {record.admitted_step}")
            + (f", retired at step {record.retired_step}" if record.retired_step is not None else ", in the pool")
            + f"\n{record.epochs} {'epoch' if record.epochs == 1 else 'epochs'} of use",
            record.id,
        )
        for record in data.environments
    ]
    drawn = spans if data.last_step else []
    return Figure(
        "lifetimes",
        "Retirement timeline",
        "Each environment's time in the pool, in order of admission: originals in amber, generated ones in blue, grey "
        "once retired." if drawn else "No step is finished yet.",
        f"Horizontal bars, one for each of {len(spans)} environments, from admission to retirement or the last step.",
        [Spans(drawn, last)] if drawn else [],
        Table(
            ("name", "id", "original", "admitted_step", "retired_step", "epochs", "level"),
            [(r.name, r.id, int(r.original), r.admitted_step, r.retired_step, r.epochs, r.level)
             for r in data.environments],
        ),
    )  # fmt: skip


# --------------------------------------------------------------------------- the lineage, laid out

# An environment usually has several parents, which drawn in full is a hairball; so one of them, the closest, carries
# the strong line and decides the place in the picture, and the others are faint lines, shown when a node is pointed at.


def lay_out(data: RunData) -> Tree | None:
    """Place every environment; None if nothing was admitted: seeds alone are no lineage."""
    if not data.generated:
        return None
    records = {record.id: record for record in data.environments}
    entries = {entry.environment_id: entry for entry in data.entries if entry.environment_id is not None}
    parent_of = {record.id: closest_parent(entries[record.id], records) for record in data.environments}
    children: dict[str | None, list[str]] = {}
    for record in data.environments:
        children.setdefault(parent_of[record.id], []).append(record.id)
    order = _depth_first(children)
    place = {name: index for index, name in enumerate(order)}
    nodes = [_node(records[name], place[name], len(children.get(name, ()))) for name in order]
    strong = [(place[parent], place[name]) for name in order if (parent := parent_of[name]) is not None]
    faint = [
        (place[parent], place[name])
        for name in order
        for parent in entries[name].parents
        if parent in place and parent not in (parent_of[name], name)
    ]
    last = max(data.last_step, *(record.admitted_step for record in data.environments), 1)
    return Tree(nodes, strong, faint, last, len(order))


def _depth_first(children: Mapping[str | None, Sequence[str]]) -> list[str]:
    """Order environments so that each stands before its descendants, the youngest branch first: lines seldom cross.

    There is no recursion: a chain may be as long as the run.
    """
    order: list[str] = []
    stack = list(reversed(children.get(None, ())))
    while stack:
        name = stack.pop()
        order.append(name)
        stack.extend(children.get(name, ()))
    return order


def _node(record: EnvironmentRecord, row: int, children: int) -> Node:
    origin = "original" if record.original else f"admitted at step {record.admitted_step}"
    state = "in the pool" if record.active else f"retired at step {record.retired_step}"
    words = [record.name, f"{origin}, {state}", ", ".join(sorted(record.tags))]
    words += [f"closest parent of {children}"] if children else []
    return Node(record.id, record.name, record.admitted_step, row, colour_of(record), "\n".join(words))


def colour_of(record: EnvironmentRecord) -> str:
    """Return the colour of an environment: an original, a generated one in the pool, or one that left it."""
    if record.original:
        return "amber" if record.active else "grey"
    return "admitted" if record.active else "grey"
