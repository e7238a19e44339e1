"""Judge entries that carry no verdict yet, on all cores."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

from evoenv.assembly import open_sandbox
from evoenv.environment.reasoning_gym import MODULE, level_count
from evoenv.errors import InputError
from evoenv.exchange.bundle import NOT_JUDGED, PoolEntry, modules_of
from evoenv.pool.tags import tags_of
from evoenv.records import Finding
from evoenv.sandbox.host import DEFAULT_IMPORTS, Sandbox
from evoenv.validation.validate import validate

Progress = Callable[[int, int], None]


def judged(
    entries: Sequence[PoolEntry], sandbox: Sandbox | None = None, progress: Progress | None = None
) -> list[PoolEntry]:
    """Return the same entries, each with a validation report. Without a sandbox one is opened for the occasion."""
    waiting = [index for index, entry in enumerate(entries) if entry.report == NOT_JUDGED]
    judged_entries = list(entries)
    if not waiting:
        return judged_entries
    with ExitStack() as stack:
        opened = stack.enter_context(open_sandbox(modules=modules_of(entries))) if sandbox is None else sandbox
        threads = stack.enter_context(ThreadPoolExecutor(min(opened.workers, len(waiting))))
        jobs = {index: threads.submit(_judge, entries[index], opened) for index in waiting}
        for done, (index, job) in enumerate(jobs.items(), 1):
            judged_entries[index] = job.result()
            if progress is not None:
                progress(done, len(waiting))
    return judged_entries


def _judge(entry: PoolEntry, sandbox: Sandbox) -> PoolEntry:
    levels = level_count(entry.source) if MODULE in entry.modules else None
    report = validate(entry.source, sandbox, allowed_imports=(*DEFAULT_IMPORTS, *entry.modules), levels=levels)
    tags = entry.tags or tuple(sorted(tags_of(report.prompt_template, entry.source)))
    return replace(entry, report=report, tags=tags)


def allowed_modules(names: Iterable[str]) -> tuple[str, ...]:
    """Check modules that a user allows by name: each must be installed."""
    names = tuple(dict.fromkeys(names))
    for name in names:
        if not name.isidentifier():
            raise InputError(f"--allow-module is {name!r}; expected the name of a top-level module, such as numpy")
        if name not in sys.stdlib_module_names and importlib.util.find_spec(name) is None:
            raise InputError(f"--allow-module {name}: there is no such module here; install it first")
    return names


def hint_for(finding: Finding) -> str:
    """Return a finding's hint.

    An import beyond the allow-list has another way out here than in a generator's response.
    """
    module = finding.message.rpartition("imports ")[2].partition(".")[0]
    if finding.code != "L1.import" or not module:
        return finding.hint
    return f"if you trust the code, allow it by name: --allow-module {module}"
