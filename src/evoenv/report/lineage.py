"""Who was written after whom: a forest along steps, laid out so that hundreds of environments stay readable.

The few-shot examples that the generator saw are the parents. An environment usually has several, which drawn in full is
a hairball; so one of them, the closest, carries the strong line and decides the place in the picture, and the others
are faint lines that show when a node is pointed at. Closest is the parent that novelty measured as nearest, else the
one whose tags are most alike (Jaccard), else the first that was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evoenv.report.charts import Node, Tree
from evoenv.runs.candidates import Entry
from evoenv.runs.data import RunData
from evoenv.runs.environments import closest_parent
from evoenv.store.store import EnvironmentRecord


def lay_out(data: RunData) -> Tree | None:
    """None where nothing was admitted: seeds alone are no lineage."""
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
    nodes = [_node(records[name], entries[name], place[name], len(children.get(name, ()))) for name in order]
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
    """Each right before its descendants, the youngest branch first, so that lines seldom cross. No recursion:
    a chain may be as long as the run."""
    order: list[str] = []
    stack = list(reversed(children.get(None, ())))
    while stack:
        name = stack.pop()
        order.append(name)
        stack.extend(children.get(name, ()))
    return order


def _node(record: EnvironmentRecord, entry: Entry, row: int, children: int) -> Node:
    origin = "original" if record.original else f"admitted at step {record.admitted_step}"
    state = "in the pool" if record.active else f"retired at step {record.retired_step}"
    words = [record.name, f"{origin}, {state}", ", ".join(sorted(record.tags))]
    words += [f"closest parent of {children}"] if children else []
    return Node(record.id, record.name, record.admitted_step, row, colour_of(record), "\n".join(words), entry.id)


def colour_of(record: EnvironmentRecord) -> str:
    """Originals, generated ones in the pool, and those that left it."""
    if record.original:
        return "amber" if record.active else "grey"
    return "admitted" if record.active else "grey"
