"""What all documents share: plain JSON values, long texts cut, records as mappings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from evoenv.records import Message
from evoenv.runs.candidates import Entry
from evoenv.store.store import EnvironmentRecord

Document: TypeAlias = dict[str, Any]
TEXT_AT_MOST = 100_000
"""Characters of one text that a document carries unless the whole is asked for."""


def encode(document: Any) -> str:
    """Write a document as JSON that any parser reads: no NaN, and lone surrogates as escapes."""
    return json.dumps(plain(document), ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def plain(value: Any) -> Any:
    """Turn sets and tuples into lists, and numbers that JSON cannot write into null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def clip(text: str | None, *, whole: bool = False) -> Document | None:
    """Return a text with its full length, cut if it is long and not wanted as a whole."""
    if text is None:
        return None
    return {"text": text if whole else text[:TEXT_AT_MOST], "length": browser_length(text)}


def browser_length(text: str) -> int:
    """Count a text as a browser does: what lies beyond the first 65,536 characters of Unicode is two there."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def seed_text(seed: int | None) -> str | None:
    """Write a seed as text: it has up to 63 bits, and a browser's numbers only 53."""
    return None if seed is None else str(seed)


def messages_document(messages: Sequence[Message], *, whole: bool = False) -> list[Document]:
    """Describe what was said to the policy, by speaker."""
    return [{"speaker": message.speaker, "content": clip(message.content, whole=whole)} for message in messages]


def trained_level(config: Mapping[str, Any], record: EnvironmentRecord) -> int:
    """Return the level of the instances that the solver is asked: the environment's own only if that is the rule."""
    solver = config.get("solver", {})
    adaptive = solver.get("difficulty_rule", "fixed") == "adaptive"
    return record.level if adaptive else int(solver.get("difficulty", record.level))


def environment_row(config: Mapping[str, Any], record: EnvironmentRecord) -> Document:
    """Describe one environment, without its texts."""
    return {
        "id": record.id,
        "name": record.name,
        "original": record.original,
        "active": record.active,
        "candidate": record.candidate_id,
        "admitted": record.admitted_step,
        "retired": record.retired_step,
        "epochs": record.epochs,
        "level": trained_level(config, record),
        "tags": record.tags,
    }


def entry_row(entry: Entry) -> Document:
    """Describe one candidate, without its texts."""
    novelty = entry.novelty
    return {
        "id": entry.id,
        "name": entry.name,
        "state": entry.state,
        "step": entry.step,
        "group": entry.group,
        "index": entry.index,
        "environment": entry.environment_id,
        "layer": entry.layer,
        "tags": entry.tags,
        "codes": entry.codes,
        "parents": entry.parents,
        "rate": entry.pass_rate,
        "asymmetry": entry.asymmetry,
        "quality": entry.q_val,
        "diversity": entry.diversity,
        "reward": entry.reward,
        "similarity": novelty.similarity if novelty else None,
        "novelty": novelty.novelty if novelty else None,
        "batch": novelty.batch_similarity if novelty else None,
        "nearest": novelty.nearest if novelty else None,
        "admission": entry.similarity_at_admission,
    }
