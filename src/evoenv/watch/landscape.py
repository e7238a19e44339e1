"""The map: environments and candidates as points, by the embeddings that novelty is measured with.

Each of the two views (what the prompt says, what the code does) is projected on its two main axes. The sign of an axis
is fixed by its largest coefficient, so that a map does not flip over when a point is added.
"""

from __future__ import annotations

import numpy as np

from evoenv.admission.novelty import Matrix
from evoenv.runs.candidates import read_chosen
from evoenv.runs.view import RunView
from evoenv.store.packing import unpack_text, unpack_vector
from evoenv.watch.documents import Document

MOST_POINTS = 4000
"""Environments always count first; then candidates, the newest first."""
PROMPT_AT_MOST = 240


def map_document(view: RunView) -> Document:
    """Describe every environment that was embedded, and as many candidates as fit, with two positions each."""
    environments = view.store.query(
        "SELECT e.id, e.candidate_id, v.prompt, v.code FROM environments e JOIN vectors v ON v.environment_id = e.id "
        "ORDER BY e.position DESC LIMIT ?",
        [MOST_POINTS],
    )
    candidates = view.store.query(
        "SELECT c.environment_id, min(c.id), v.prompt, v.code FROM candidates c "
        "JOIN vectors v ON v.environment_id = c.environment_id "
        "WHERE NOT EXISTS (SELECT 1 FROM environments e WHERE e.id = c.environment_id) "
        "GROUP BY c.environment_id ORDER BY max(c.step) DESC, c.environment_id LIMIT ?",
        [MOST_POINTS - len(environments)],
    )
    rows = [*environments, *candidates]
    prompts = project(np.stack([unpack_vector(row[2]) for row in rows])) if rows else np.zeros((0, 2))
    codes = project(np.stack([unpack_vector(row[3]) for row in rows])) if rows else np.zeros((0, 2))
    entries = {entry.id: entry for part in _parts([row[1] for row in rows]) for entry in read_chosen(view.store, part)}
    records = {record.id: record for record in view.environments()}
    templates = _templates(view, list(entries))
    points: list[Document] = []
    for index, (environment_id, candidate_id, _, _) in enumerate(rows):
        record, entry = records.get(environment_id), entries.get(candidate_id)
        state = entry.state if entry else "pool" if record and record.active else "retired"
        name = record.name if record else entry.name if entry else environment_id
        points.append(
            {
                "environment": environment_id if record else None,
                "candidate": candidate_id,
                "name": name,
                "original": bool(record and record.original),
                "step": entry.step if entry else 0,
                "state": state,
                "tags": record.tags if record else (),
                "prompt": [round(float(value), 4) for value in prompts[index]],
                "code": [round(float(value), 4) for value in codes[index]],
                "template": templates.get(candidate_id, "") if candidate_id else _template_of(view, environment_id),
            }
        )
    return {"points": points, "most": MOST_POINTS}


def project(vectors: Matrix) -> Matrix:
    """Project rows on their two main axes (PCA), scaled into −1…1."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    axes = axes[:, -1:-3:-1]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None, :], axis=0)
    positions = centred @ (axes * np.where(largest < 0, -1.0, 1.0))
    extent = float(np.abs(positions).max()) if positions.size else 0.0
    flat: Matrix = (positions / extent if extent > 0 else positions).astype(np.float32)
    return flat


def _parts(ids: list[str | None]) -> list[list[str]]:
    known = [candidate_id for candidate_id in ids if candidate_id is not None]
    return [known[start : start + 500] for start in range(0, len(known), 500)]


def _templates(view: RunView, candidate_ids: list[str]) -> dict[str, str]:
    templates: dict[str, str] = {}
    for part in _parts(list(candidate_ids)):
        marks = ",".join("?" * len(part))
        rows = view.store.query(
            f"SELECT candidate_id, prompt_template FROM reports WHERE candidate_id IN ({marks})", part
        )
        templates |= {candidate_id: unpack_text(text)[:PROMPT_AT_MOST] for candidate_id, text in rows}
    return templates


def _template_of(view: RunView, environment_id: str) -> str:
    """Return an original's own words: its class's docstring or template, as its source has them."""
    source = view.store.source(environment_id) or ""
    at = source.find('"""')
    return source[at + 3 : source.find('"""', at + 3)].strip()[:PROMPT_AT_MOST] if at >= 0 else ""
