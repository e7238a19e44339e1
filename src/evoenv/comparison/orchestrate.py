"""Run a comparison as processes: `jobs` at a time, watched, each resumed where it was stopped."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import evoenv
from evoenv.comparison.plan import LOG, START, ComparisonPlan, RunPlan, is_done, run_directory
from evoenv.errors import EvoEnvError, StoreError

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
LOG_LINES_SHOWN = 5


class Watcher(Protocol):
    """Whoever watches a comparison."""

    def began(self, run: RunPlan) -> None: ...

    def progress(self, run: RunPlan, facts: dict[str, Any]) -> None:
        """Hear where a run is: step, tokens, score; or an accuracy on a suite."""

    def ended(self, run: RunPlan, error: str | None) -> None: ...


@dataclass
class _Child:
    run: RunPlan
    process: subprocess.Popen[str]
    error: str | None = None
    reader: threading.Thread | None = field(default=None, repr=False)


def run_all(directory: Path, plan: ComparisonPlan, jobs: int, watcher: Watcher) -> None:
    """Bring every run to its end; those that are there already are left alone.

    A run that fails does not stop the others: what they come to is kept. Raises EvoEnvError naming the failures.
    """
    waiting = deque(run for run in plan.runs if not is_done(directory, plan, run))
    children: dict[str, _Child] = {}
    news: queue.Queue[tuple[str, dict[str, Any] | None]] = queue.Queue()
    failures: dict[str, str] = {}
    try:
        while waiting or children:
            # The first one alone evaluates the untrained model, which is the same for all.
            room = jobs if _started(directory, plan) else 1
            while waiting and len(children) < room:
                run = waiting.popleft()
                children[run.name] = _start(directory, run, jobs, news)
                watcher.began(run)
            name, facts = news.get()
            child = children[name]
            if facts is not None:
                if "error" in facts:
                    child.error = str(facts["error"])
                else:
                    watcher.progress(child.run, facts)
                continue
            error = _end(directory, plan, children.pop(name))
            if error:
                failures[name] = error
            watcher.ended(child.run, error)
    finally:
        for child in children.values():
            child.process.kill()
            child.process.wait()
    if failures:
        raise RunsFailed(failures, len(plan.runs))


class RunsFailed(EvoEnvError):
    """Some runs of a comparison did not come to their end."""

    def __init__(self, failures: dict[str, str], runs: int) -> None:
        self.failures = failures
        first, reason = next(iter(failures.items()))
        super().__init__(
            f"{len(failures)} of {runs} runs failed ({', '.join(failures)}); {first}: {reason}. "
            "Mend the cause and repeat the command: finished runs are kept"
        )


def _started(directory: Path, plan: ComparisonPlan) -> bool:
    return all((directory / START / f"suite{index}.json").is_file() for index in range(len(plan.evaluation.suites)))


def _start(directory: Path, run: RunPlan, jobs: int, news: queue.Queue[tuple[str, dict[str, Any] | None]]) -> _Child:
    place = run_directory(directory, run)
    try:
        place.mkdir(parents=True, exist_ok=True)
        log = (place / LOG).open("a", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write in {place}: {error.strerror}; check space and permissions") from error
    with log:
        process = subprocess.Popen(
            [sys.executable, "-m", "evoenv.comparison.single", str(directory), run.name],
            stdin=subprocess.PIPE,  # held open for as long as this process lives
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=_environment(jobs),
        )
    child = _Child(run, process)

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                facts = json.loads(line)
            except ValueError:
                continue  # a library that prints
            if isinstance(facts, dict):
                news.put((run.name, facts))
        news.put((run.name, None))

    child.reader = threading.Thread(target=listen, daemon=True, name=f"evoenv-{run.name}")
    child.reader.start()
    return child


def _environment(jobs: int) -> dict[str, str]:
    """Return the parent's variables with the package on the path; several runs at a time share the cores."""
    package = str(Path(evoenv.__file__).parents[1])
    paths = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
    if jobs > 1:
        environment |= dict.fromkeys(THREADS, "1")
        environment["EVOENV_SANDBOX_WORKERS"] = str(max(1, (os.cpu_count() or 1) // jobs))
    return environment


def _end(directory: Path, plan: ComparisonPlan, child: _Child) -> str | None:
    """Wait for the process; return why the run failed, or None if it is whole."""
    code = child.process.wait()
    for stream in (child.process.stdin, child.process.stdout):
        if stream is not None:
            stream.close()
    if code == 0 and is_done(directory, plan, child.run):
        return None
    log = run_directory(directory, child.run) / LOG
    if child.error:
        return child.error
    ending = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return f"{ending}; {' / '.join(_tail(log)) or 'no message'} (see {log})"


def _tail(log: Path) -> Sequence[str]:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    return [line.strip() for line in lines[-LOG_LINES_SHOWN:] if line.strip()][-1:]
