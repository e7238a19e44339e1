"""Entries out of a run, and into one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evoenv.config import load_config, to_mapping
from evoenv.environment.seeds import seed_sources
from evoenv.errors import InputError, StoreError
from evoenv.exchange.bundle import OWN_LICENCE, PoolEntry, from_metadata, modules_of, to_metadata
from evoenv.pool.state import Difficulty, Member, PoolState
from evoenv.records import ValidationReport, environment_id
from evoenv.runs.candidates import History
from evoenv.runs.view import RunView
from evoenv.store.store import EnvironmentRecord, Store

if TYPE_CHECKING:
    from evoenv.config import Config


# --------------------------------------------------------------------------- reading


def read_run(directory: Path) -> list[PoolEntry]:
    """Return every environment ever admitted, in order of admission; also while the run is being written."""
    with RunView.open(directory) as view:
        members, brought = view.store.pool().members, view.store.provenance()
        seeds = {environment_id(source) for source in seed_sources().values()}
        return [
            _with_state(_base(view, record, brought, seeds), record, members[record.id])
            for record in view.environments()
        ]


def _base(
    view: RunView, record: EnvironmentRecord, brought: dict[str, dict[str, object]], seeds: set[str]
) -> PoolEntry:
    directory, source = view.store.directory, view.store.source(record.id)
    if source is None:
        raise StoreError(f"{directory} has lost the source of {record.name} ({record.id}); it cannot be exported")
    if record.id in brought:
        try:
            return from_metadata(source, brought[record.id])
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"{directory}: what is kept about {record.name} ({record.id}) is damaged: {error}"
            ) from error
    if record.candidate_id is not None:
        return _generated(source, record.name, view.candidate(record.candidate_id))
    if record.id in seeds:
        return PoolEntry(source, record.name, "evoenv seed", OWN_LICENCE)
    return PoolEntry(source, record.name, "original")


def _generated(source: str, name: str, history: History | None) -> PoolEntry:
    """Make the entry of an environment of the run's own making, with what the run found out about it."""
    if history is None or history.decision is None:
        return PoolEntry(source, name, "generated")
    return PoolEntry(
        source,
        name,
        "generated",
        report=history.report or ValidationReport(0),
        calibration=history.calibration,
        asymmetry=history.entry.asymmetry,
        similarity=history.decision.similarity_at_admission,
        reviews=tuple(review.verdict for review in history.reviews),
        parents=history.entry.parents,
    )


def _with_state(entry: PoolEntry, record: EnvironmentRecord, member: Member) -> PoolEntry:
    """Add the pool's state: what the pool says now goes before what the environment brought along."""
    level = member.difficulty
    return replace(
        entry,
        name=record.name,
        tags=tuple(sorted(record.tags)),
        original=record.original,
        active=member.active,
        epochs=member.epochs,
        level=(level.level, level.right, level.total),
        admitted_step=record.admitted_step,
        retired_step=record.retired_step,
    )


# --------------------------------------------------------------------------- writing


def create_run(directory: Path, entries: Sequence[PoolEntry], config: Config) -> None:
    """Create a run that has these environments and has not taken a step. All or nothing."""
    from evoenv.run import create

    if not any(entry.active for entry in entries):
        raise InputError(f"none of the {len(entries)} environments is active; a run's pool may never be empty")
    if not any(entry.original or not entry.active for entry in entries):
        entries = [replace(entry, original=True) for entry in entries]  # somebody must serve as an example
    if modules := modules_of(entries):
        config = load_config(to_mapping(config), overrides=[f"validation.modules={json.dumps(modules)}"])
    existed = directory.exists()
    store, _ = create(directory, config)
    try:
        with store:
            _enter(store, entries)
    except BaseException:
        _remove_new_run(directory, existed)
        raise


def extend_run(directory: Path, entries: Sequence[PoolEntry]) -> list[PoolEntry]:
    """Add environments to an existing run; those it has had already are left as they are. Returns the added."""
    with Store.open(directory) as store:
        step = store.last_step()
        if store.has_requests(step + 1):
            raise InputError(
                f"{directory} was stopped in the middle of step {step + 1}, whose questions were chosen for the pool "
                "as it is; finish the step first (--resume), then import"
            )
        known = set(store.pool().members)
        added = [entry for entry in entries if entry.id not in known]
        allowed = store.meta("config")["validation"].get("modules", [])
        if unknown := sorted(set(modules_of(added)) - set(allowed)):
            raise InputError(
                f"{directory} was begun without the module {unknown[0]}, so its sandbox does not have it; "
                "begin a new run with these environments: `evoenv import … --run NEW`"
            )
        _enter(store, [replace(entry, admitted_step=step) for entry in added])
    return added


def _enter(store: Store, entries: Sequence[PoolEntry]) -> None:
    with store.transaction():
        for entry in entries:
            store.add_source(entry.source)
        store.add_environments(
            EnvironmentRecord(
                id=entry.id,
                name=entry.name,
                original=entry.original,
                active=entry.active,
                admitted_step=entry.admitted_step,
                retired_step=entry.retired_step,
                epochs=entry.epochs,
                level=entry.level[0],
                tags=frozenset(entry.tags),
            )
            for entry in entries
        )
        before = store.pool()
        levels = {entry.id: Difficulty(*entry.level) for entry in entries if entry.level != (0, 0, 0)}
        after = {
            member_id: replace(member, difficulty=levels.get(member_id, member.difficulty))
            for member_id, member in before.members.items()
        }
        store.update_pool(0, before, PoolState(after))
        store.add_provenance({entry.id: to_metadata(entry) for entry in entries})
        store.add_event(None, "imported", {entry.id: entry.origin for entry in entries})


def _remove_new_run(directory: Path, existed: bool) -> None:
    """Leave nothing of a run that could not be filled."""
    for path in directory.glob("run.*"):
        path.unlink(missing_ok=True)
    (directory / "config.toml").unlink(missing_ok=True)
    if not existed:
        directory.rmdir()
