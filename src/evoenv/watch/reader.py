"""All documents of the page, by name: what the server answers with and what a written page carries.

Every call opens the run read-only, takes one snapshot and closes it, so a process that trains on the same directory is
never held up, and a run that was deleted, replaced or repaired in between is simply opened anew. What cannot change any
more (finished steps) or is expensive (the map, a search through all sources) is kept as long as the run's numbers say
that it still holds.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from evoenv.engines.checkpoints import FOLDER
from evoenv.environment.files import short
from evoenv.errors import InputError, OlderRun
from evoenv.models.token_texts import decoder_of
from evoenv.runs.candidates import CandidateQuery
from evoenv.runs.groups import GroupQuery
from evoenv.runs.view import RunView, Step
from evoenv.store.database import DATABASE_NAME
from evoenv.watch.candidates import candidate_document, page_document
from evoenv.watch.copies import Copies
from evoenv.watch.documents import Document
from evoenv.watch.environments import environment_document, environments_document
from evoenv.watch.facts import configuration_document, events_document
from evoenv.watch.folder import RunFolder, changed_at, is_running
from evoenv.watch.landscape import map_document
from evoenv.watch.overview import overview_document
from evoenv.watch.rollouts import group_document, groups_document

PAGE_AT_MOST = 500
KEPT = 16
OLDER = (
    "This run was written by an older EvoEnv. You see a copy that was brought up to date; the run itself is unchanged."
)
T = TypeVar("T")


class Missing(InputError):
    """The run has no such candidate, environment or group."""


class _Kept:
    """What is remembered of one run, as long as its database is the same file."""

    def __init__(self, identity: tuple[int, int, float | None]) -> None:
        self.identity = identity
        self.steps: dict[int, Step] = {}
        self.reading = threading.Lock()
        """Held by whoever reads steps: a second request waits for them instead of reading the same."""
        self.values: OrderedDict[tuple[Any, ...], Any] = OrderedDict()


class Reader:
    """Makes the documents of the runs in a folder. Safe to call from several threads."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._kept: dict[Path, _Kept] = {}
        self._copies = Copies()

    # ----------------------------------------------------------------- documents

    def runs(self) -> Document:
        """Name the runs that are there, the one that was changed last first."""
        runs = self.folder.runs()
        rows = [{"name": name, "changed": changed_at(path), "running": is_running(path)} for name, path in runs.items()]
        rows.sort(key=lambda row: (row["running"], row["changed"]), reverse=True)
        return {"directory": self.folder.directory.resolve().name, "runs": rows}

    def overview(self, run: str | None) -> Document:
        name, path = self.folder.find(run)
        with self._open(path) as (view, kept):
            document = overview_document(view, name, path, self._steps(view, kept))
            return document if view.store.directory == path else {**document, "notice": OLDER}

    def candidates(
        self, run: str | None, query: CandidateQuery, *, order: str | None = None, offset: int = 0, limit: int = 100
    ) -> Document:
        limit = min(limit, PAGE_AT_MOST)
        with self._opened(run) as (view, kept):
            if not query.text and order is None:
                page = view.candidates(query, offset=offset, limit=limit)
                return page_document(page.entries, page.total, offset)
            # a search reads every source, an order every row: it holds until something that they depend on is there
            counts = ", ".join(
                f"(SELECT count(*) FROM {table})" for table in ("candidates", "reports", "calibrations", "decisions")
            )
            key = ("ids", query, order, view.store.last_step(), *view.store.query(f"SELECT {counts}")[0])
            ids = self._keep(kept, key, lambda: view.candidate_ids(query, order))
            return page_document(view.chosen(ids[offset : offset + limit]), len(ids), offset)

    def candidate(self, run: str | None, candidate_id: str, *, whole: bool = False) -> Document:
        with self._opened(run) as (view, _):
            history = view.candidate(candidate_id)
            if history is None:
                raise Missing(f"the run has no candidate {short(candidate_id)!r}")
            return candidate_document(view, history, whole=whole)

    def environments(self, run: str | None) -> Document:
        with self._opened(run) as (view, kept):
            key = ("environments", view.store.last_step(), *view.store.query("SELECT count(*) FROM environments")[0])
            document: Document = self._keep(kept, key, lambda: environments_document(view))
            return document

    def environment(self, run: str | None, environment_id: str, *, whole: bool = False) -> Document:
        with self._opened(run) as (view, _):
            document = environment_document(view, environment_id, whole=whole)
            if document is None:
                raise Missing(f"the run has no environment {short(environment_id)!r}")
            return document

    def groups(self, run: str | None, query: GroupQuery, *, offset: int = 0, limit: int = 100) -> Document:
        with self._opened(run) as (view, _):
            return groups_document(view, query, offset=offset, limit=min(limit, PAGE_AT_MOST))

    def group(self, run: str | None, request_id: str, *, whole: bool = False) -> Document:
        _, path = self.folder.find(run)
        with self._open(path) as (view, _):
            document = group_document(view, request_id, decoder_of(path / FOLDER, view.config), whole=whole)
            if document is None:
                raise Missing(f"the run has no group {short(request_id)!r}")
            return document

    def landscape(self, run: str | None) -> Document:
        with self._opened(run) as (view, kept):
            key = ("map", view.store.last_step(), *view.store.query("SELECT count(*) FROM vectors")[0])
            document: Document = self._keep(kept, key, lambda: map_document(view))
            return document

    def configuration(self, run: str | None) -> Document:
        with self._opened(run) as (view, _):
            return configuration_document(view)

    def events(self, run: str | None, before: int | None = None) -> Document:
        with self._opened(run) as (view, _):
            return events_document(view, before)

    def source(self, run: str | None, environment_id: str) -> tuple[str, dict[str, Any]]:
        """Read the source of a candidate or an environment, and the run's configuration: what playing needs."""
        with self._opened(run) as (view, _):
            source = view.store.source(environment_id)
            if source is None:
                raise Missing(f"the run has no environment {short(environment_id)!r}")
            return source, dict(view.config)

    # ----------------------------------------------------------------- opening and keeping

    @contextmanager
    def _opened(self, run: str | None) -> Iterator[tuple[RunView, _Kept]]:
        with self._open(self.folder.find(run)[1]) as opened:
            yield opened

    @contextmanager
    def _open(self, path: Path) -> Iterator[tuple[RunView, _Kept]]:
        with ExitStack() as stack:
            try:
                view = stack.enter_context(RunView.open(path, migrate=False))
            except OlderRun:
                view = stack.enter_context(RunView.open(self._copies.of(path), migrate=False))
            facts = (path / DATABASE_NAME).stat()
            # A file system gives the number of a deleted file to the next one: the run's own time tells them apart.
            identity = (facts.st_dev, facts.st_ino, view.created)
            with self._lock:
                kept = self._kept.get(path)
                if kept is None or kept.identity != identity:
                    kept = self._kept[path] = _Kept(identity)
            yield view, kept

    def _steps(self, view: RunView, kept: _Kept) -> list[Step]:
        """Read the steps; finished ones only once."""
        with kept.reading:
            known = kept.steps
            first = next(number for number in range(1, len(known) + 2) if number not in known)
            new = view.steps(first)
            known |= {step.number: step for step in new if step.finished}
            return [known[number] for number in range(1, first)] + new

    def _keep(self, kept: _Kept, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        with self._lock:
            if key in kept.values:
                kept.values.move_to_end(key)
                value: T = kept.values[key]
                return value
        value = make()
        with self._lock:
            kept.values[key] = value
            while len(kept.values) > KEPT:
                kept.values.popitem(last=False)
        return value
