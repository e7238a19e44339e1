"""Labels by a second model: it reviews what a run's generator wrote, and its votes stand in for the truth.

    distinct candidates at L5 ─► votes of the judge, kept one by one ─► labels ─► the paper's table

A label is what most of the votes that can be read say; a candidate without such a majority is left out. The reviewer
that is audited is the run's own, by the verdicts that it gave when it decided on admission, or any other.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evoenv import __version__
from evoenv.assembly import open_sandbox
from evoenv.config import Config
from evoenv.environment.files import imported_modules
from evoenv.errors import InputError
from evoenv.evaluation.subject import RESULTS_FOLDER, Subject
from evoenv.pool.state import starting_level
from evoenv.records import Review, derive_seed
from evoenv.review_audit.audit import Progress, review_identity
from evoenv.review_audit.journal import Mechanical, VerdictLedger
from evoenv.review_audit.labels import Labelled, LabelledSet
from evoenv.review_audit.tables import Audit, summarise
from evoenv.review_audit.verdicts import review_all
from evoenv.store.store import Store

TOP_LAYER = 5


@dataclass(frozen=True, slots=True)
class JudgedCandidate:
    """A candidate that passed every mechanical layer, with what the run's own reviewer said of it."""

    item: Labelled
    recorded: tuple[Review, ...]


@dataclass(frozen=True, slots=True)
class Labels:
    """What the judge said."""

    votes: dict[str, tuple[Review, ...]]
    """By candidate."""
    labelled: LabelledSet
    """The candidates that most of its votes agree on."""
    undecided: tuple[str, ...]
    """The others."""

    @property
    def unparsed(self) -> int:
        return sum(vote.verdict == "unparseable" for votes in self.votes.values() for vote in votes)


def candidates_at_top(directory: Path, *, count: int | None = None, seed: int = 0) -> tuple[JudgedCandidate, ...]:
    """Read the distinct candidates of a run at L5, by their first appearance; `count` draws that many of them."""
    known: set[str] = set()
    found: list[JudgedCandidate] = []
    with Store.read(directory) as store:
        allowed = set(store.meta("config").get("validation", {}).get("modules", ()))
        for step in range(1, store.last_step() + 1):
            reports, reviews = store.reports(step), store.reviews(step)
            for candidate in store.candidates(step):
                report = reports.get(candidate.id)
                if candidate.source is None or candidate.source in known:
                    continue
                if report is not None and report.layer == TOP_LAYER:
                    known.add(candidate.source)
                    modules = tuple(sorted(imported_modules(candidate.source) & allowed))
                    item = Labelled(candidate.id, candidate.source, buggy=False, modules=modules)
                    found.append(JudgedCandidate(item, reviews.get(candidate.id, ())))
    if not found:
        raise InputError(f"no candidate of {directory} has reached L5 yet; there is nothing for a judge to label")
    if count is not None and count < len(found):
        drawn = random.Random(derive_seed("audit", seed)).sample(range(len(found)), count)
        found = [found[index] for index in sorted(drawn)]
    return tuple(found)


def labels_path(directory: Path, judge: str) -> Path:
    """Return where the votes of a judge on a run's candidates are kept: with the run."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", judge).strip("-.")[:60]
    return directory / RESULTS_FOLDER / f"labels-by-{plain or 'model'}.jsonl"


def ask_judge(
    name: str,
    candidates: Sequence[JudgedCandidate],
    config: Config,
    judge: Subject,
    path: Path,
    *,
    seed: int,
    progress: Progress,
    allow_degraded: bool = False,
) -> Labels:
    """Have every candidate judged `config.review.reviews` times; votes that are in `path` are not asked for again.

    The file belongs to the run and the judge, not to a list of candidates: a run that went on keeps its labels.
    """
    asked = LabelledSet(name, tuple(candidate.item for candidate in candidates))
    with ExitStack() as stack:
        policy, model = judge.open()
        if judge.owned:
            stack.callback(policy.close)
        identity = {"labels_of": "candidates", "evoenv": __version__, "seed": seed, **review_identity(config, model)}
        kept = stack.enter_context(VerdictLedger(path, identity))
        sandbox = stack.enter_context(open_sandbox(modules=asked.modules, allow_degraded=allow_degraded))
        with progress("labels") as told:
            review_all(
                asked, sandbox, policy, config.review, kept,
                level=starting_level(config.solver), seed=seed, progress=told,
            )  # fmt: skip
        votes = {item.name: kept.reviews_of(item.name, config.review.reviews) for item in asked.items}
    return labels_from(name, asked.items, votes)


def labels_from(name: str, items: Sequence[Labelled], votes: dict[str, tuple[Review, ...]]) -> Labels:
    """Label by the majority of the votes that can be read."""
    labelled: list[Labelled] = []
    undecided: list[str] = []
    for item in items:
        verdict = majority(votes[item.name])
        if verdict is None:
            undecided.append(item.name)
        else:
            labelled.append(replace(item, buggy=verdict))
    return Labels(votes, LabelledSet(name, tuple(labelled)), tuple(undecided))


def majority(votes: Sequence[Review]) -> bool | None:
    """Return whether most of the votes that can be read find a bug; None if they are even, or none can be read."""
    rejects = sum(vote.verdict == "reject" for vote in votes)
    accepts = sum(vote.verdict == "accept" for vote in votes)
    return None if rejects == accepts else rejects > accepts


def audit_recorded(labels: Labels, candidates: Sequence[JudgedCandidate]) -> Audit:
    """Compare what the run's own reviewer said with the labels; candidates that it never reviewed are left out."""
    recorded = {candidate.item.name: candidate.recorded for candidate in candidates}
    items = tuple(item for item in labels.labelled.items if recorded[item.name])
    kept = VerdictLedger(None, {})
    for item in items:
        kept.mechanical[item.name] = Mechanical(TOP_LAYER)
        for index, review in enumerate(recorded[item.name]):
            kept.reviews[item.name, index] = review
    reviews = max((len(recorded[item.name]) for item in items), default=0)
    return summarise(LabelledSet(labels.labelled.name, items), kept, reviews=reviews)


def votes_json(labels: Labels) -> dict[str, list[Any]]:
    """Return every vote, by candidate."""
    return {name: [vote.verdict for vote in votes] for name, votes in labels.votes.items()}
