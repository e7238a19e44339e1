"""Environments as documents: the pool now and ever, and all about one."""

from __future__ import annotations

from dataclasses import dataclass

from evoenv.runs.environments import Lineage
from evoenv.runs.view import RunView
from evoenv.store.store import EnvironmentRecord
from evoenv.watch.documents import Document, clip, environment_row

MOST_RELATIVES = 60
"""Parents or children that are listed; the counts are always whole."""


def environments_document(view: RunView) -> Document:
    """Describe every environment ever admitted, and how the solver did on it."""
    groups: dict[str, list[float]] = {}
    for use in view.uses():
        known = groups.setdefault(use.environment_id, [0, 0, 0.0, 0, 0.0])
        known[0] += use.groups
        known[1] += use.responses
        known[2] += use.score * use.responses
        known[3], known[4] = use.step, use.score
    children = {identity: len(lineage.children) for identity, lineage in view.lineage().items()}
    rows = []
    for record in view.environments():
        row = environment_row(view.config, record)
        if (used := groups.get(record.id)) is not None:
            row |= {"groups": used[0], "score": used[2] / used[1], "last_step": used[3], "last_score": used[4]}
        rows.append({**row, "children": children.get(record.id, 0)})
    return {"environments": rows}


@dataclass(frozen=True, slots=True)
class Relations:
    """All environments of a run and how they descend from each other: read once for many documents."""

    records: dict[str, EnvironmentRecord]
    lineage: dict[str, Lineage]

    @classmethod
    def of(cls, view: RunView) -> Relations:
        """Read them."""
        return cls({record.id: record for record in view.environments()}, view.lineage())


def environment_document(
    view: RunView, environment_id: str, *, whole: bool = False, relations: Relations | None = None
) -> Document | None:
    """Describe all about one environment; None if the run has no such environment."""
    relations = relations or Relations.of(view)
    records, lineage = relations.records, relations.lineage
    record = records.get(environment_id)
    if record is None:
        return None
    own = lineage.get(environment_id, Lineage())
    siblings = len({child for parent in own.parents for child in lineage.get(parent, Lineage()).children})
    entry = view.entry(record.candidate_id) if record.candidate_id else None
    report = view.store.report(record.candidate_id) if record.candidate_id else None
    ((instances,),) = view.store.query(
        "SELECT count(*) FROM (SELECT DISTINCT seed, difficulty FROM requests WHERE subject = ? AND purpose = 'solve')",
        [environment_id],
    )

    def relatives(ids: tuple[str, ...]) -> list[Document]:
        known = [environment_row(view.config, records[identity]) for identity in ids if identity in records]
        return known[:MOST_RELATIVES]

    return {
        **environment_row(view.config, record),
        "source": clip(view.store.source(environment_id), whole=whole),
        "parents": relatives(own.parents),
        "children": relatives(own.children),
        "counts": {"parents": len(own.parents), "children": len(own.children), "siblings": siblings},
        "uses": [
            {"step": use.step, "groups": use.groups, "responses": use.responses, "score": use.score}
            for use in view.uses(environment_id)
        ],
        "instances": instances,
        "rate": entry.pass_rate if entry else None,
        "asymmetry": entry.asymmetry if entry else None,
        "reward": entry.reward if entry else None,
        "similarity": entry.novelty.similarity if entry and entry.novelty else None,
        "family": report.family if report else None,
        "dialect": report.dialect if report else None,
        "template": clip(report.prompt_template, whole=whole) if report else None,
        "provenance": view.store.provenance().get(environment_id),
    }
