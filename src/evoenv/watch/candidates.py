"""Candidates as documents: a page of rows, and all about one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evoenv.admission.reward import q_unc
from evoenv.records import Finding
from evoenv.runs.candidates import Answered, Entry, History, reward_rule
from evoenv.runs.view import RunView
from evoenv.store.store import Store
from evoenv.watch.documents import Document, clip, entry_row, messages_document, seed_text
from evoenv.watch.evidence import evidence_document

_LINE = re.compile(r"\bline ([0-9]{1,7})\b")


def page_document(entries: Sequence[Entry], total: int, offset: int) -> Document:
    """Describe some rows of a query, and say how many it has in all."""
    return {"total": total, "offset": offset, "rows": [entry_row(entry) for entry in entries]}


def candidate_document(view: RunView, history: History, *, whole: bool = False) -> Document:
    """Describe all that happened to one candidate."""
    entry, report, decision = history.entry, history.report, history.decision
    return {
        **entry_row(entry),
        "prompt": messages_document(history.prompt, whole=whole),
        "response": clip(history.response, whole=whole),
        "source": clip(history.source, whole=whole),
        "report": None
        if report is None
        else {
            "layer": report.layer,
            "class": report.class_name,
            "dialect": report.dialect,
            "family": report.family,
            "seconds": report.seconds,
            "template": clip(report.prompt_template, whole=whole),
            "findings": [finding_document(finding) for finding in report.findings],
        },
        "reviews": [{"verdict": verdict, "text": clip(text, whole=whole)} for verdict, text in history.opinions],
        "review_prompt": messages_document(history.review_prompt, whole=whole),
        "evidence": evidence_document("".join(message.content for message in history.review_prompt)),
        "calibration": None
        if history.calibration is None
        else {"rate": history.calibration.pass_rate, "scores": history.calibration.scores},
        "calibration_requests": [_answered(request, whole) for request in history.calibration_requests],
        "reason": decision.reason if decision else None,
        "reward_parts": reward_document(view, entry),
        "nearest_environment": nearest_document(view.store, entry, whole=whole),
        "parent_names": _names(view.store, entry.parents),
    }


def finding_document(finding: Finding) -> Document:
    """Describe one finding, with the line of the source that it names, if it names one."""
    line = _LINE.search(finding.message)
    return {
        "code": finding.code,
        "layer": finding.layer,
        "message": clip(finding.message),
        "hint": finding.hint,
        "line": int(line[1]) if line else None,
    }


def reward_document(view: RunView, entry: Entry) -> Document | None:
    """Describe the generator's reward by its parts, R_gen = Q_val + γ·N; None before it is decided."""
    if entry.reward is None:
        return None
    calibration = view.config.get("calibration", {})
    target, sigma = calibration.get("target", 0.3), calibration.get("sigma", 0.2)
    gamma = dict(view.series("novelty/gamma")).get(entry.step)
    return {
        "reward": entry.reward,
        "quality": 0.0 if reward_rule(view.store) == "without-quality" else entry.q_val,
        "diversity": entry.diversity or 0.0,
        "gamma": gamma,
        "novelty": entry.novelty.novelty if entry.novelty else None,
        "rate": entry.pass_rate,
        "target": target,
        "sigma": sigma,
        "curve": [round(q_unc(index / 40, target, sigma), 3) for index in range(41)] if entry.layer == 5 else [],
    }


def nearest_document(store: Store, entry: Entry, *, whole: bool = False) -> Document | None:
    """Describe the environment that novelty measured as nearest, with its source."""
    nearest = entry.novelty.nearest if entry.novelty else None
    if nearest is None:
        return None
    names = _names(store, [nearest])
    return {
        "id": nearest,
        "name": names.get(nearest, nearest),
        "source": clip(store.source(nearest), whole=whole),
        "known": nearest in names,
    }


def _names(store: Store, ids: Sequence[str]) -> dict[str, str]:
    """Return the names of environments of the run by id, without those that it does not have."""
    marks = ",".join("?" * len(ids))
    return dict(store.query(f"SELECT id, name FROM environments WHERE id IN ({marks})", list(ids)))


def _answered(request: Answered, whole: bool) -> Document:
    return {
        "id": request.id,
        "seed": seed_text(request.seed),
        "difficulty": request.difficulty,
        "messages": messages_document(request.messages, whole=whole),
        "replies": [
            {
                "text": clip(text, whole=whole),
                "score": None if score is None else score.value,
                "format_ok": None if score is None else score.format_ok,
                "failure": None if score is None else score.failure,
            }
            for text, score in request.replies
        ],
    }
