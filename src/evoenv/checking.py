"""Validate environments: a source, a file, or whole folders on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.assembly import open_sandbox
from evoenv.environment.files import environment_files, find_controller, read_controller, read_source, short
from evoenv.errors import InputError
from evoenv.records import ValidationReport
from evoenv.sandbox.host import DEFAULT_IMPORTS, Sandbox
from evoenv.validation.validate import validate as validate_source

Parameters = list[dict[str, Any]]
"""Knobs of an RLVE-Gym environment: one dict per difficulty level."""


def validate(
    environment: str | Path,
    *,
    sandbox: Sandbox | None = None,
    modules: Sequence[str] = (),
    parameters: Parameters | None = None,
    allow_degraded: bool = False,
) -> ValidationReport:
    """Check an environment, layers L1 to L5: a `Path` is read, a `str` is source text.

    `modules` may be imported beyond the allow-list (trusted code only). Without a `sandbox` one is opened for the
    occasion; `allow_degraded` lets it go without some of the kernel's walls. What is wrong with the environment is in
    the report; an InputError is raised for a file that cannot be read.
    """
    if isinstance(environment, Path):
        file = read_environment_file(environment, controller=None, has_parameters=parameters is not None)
    else:
        file = EnvironmentFile(Path("<source>"), environment)
    if file.problem is not None:
        return file.problem
    opened = nullcontext(sandbox) if sandbox else open_sandbox(modules=modules, allow_degraded=allow_degraded)
    with opened as walls:
        return validate_source(
            file.source,
            walls,
            controller=file.controller,
            parameters=parameters,
            allowed_imports=(*DEFAULT_IMPORTS, *modules),
        )


# --------------------------------------------------------------------------- many files


@dataclass(frozen=True, slots=True)
class EnvironmentFile:
    """A file that is to be validated, as it was read."""

    path: Path
    source: str
    controller: str | None = None
    problem: ValidationReport | None = None
    """The verdict on a file that holds no source at all."""


def read_environment_file(path: Path, controller: str | None, *, has_parameters: bool) -> EnvironmentFile:
    """Read an environment file, with the parameter controller that lies beside it if none is given."""
    source, problem = read_source(path)
    if controller is None and not has_parameters:
        controller = read_controller(find_controller(path))
    return EnvironmentFile(path, source, controller, ValidationReport(0, (problem,)) if problem is not None else None)


def validate_files(
    files: Sequence[EnvironmentFile],
    *,
    parameters: Parameters | None = None,
    workers: int | None = None,
    allow_degraded: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[ValidationReport]:
    """Validate files at once, on all cores or on `workers`; reports in order. `progress` is told how
    many of how many are done."""

    def work(file: EnvironmentFile, sandbox: Sandbox) -> ValidationReport:
        if file.problem is not None:
            return file.problem
        return validate_source(file.source, sandbox, controller=file.controller, parameters=parameters)

    count = min(workers or os.cpu_count() or 1, len(files))
    with open_sandbox(allow_degraded=allow_degraded) as sandbox, ThreadPoolExecutor(count) as threads:
        futures = [threads.submit(work, file, sandbox) for file in files]
        for done, _ in enumerate(as_completed(futures), 1):
            if progress is not None:
                progress(done, len(files))
        return [future.result() for future in futures]


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield files as given; a folder stands for the environment files below it, as it does everywhere else."""
    for path in paths:
        if not _is_folder(path):
            yield path
            continue
        files = environment_files(path)
        if not files:
            raise InputError(f"{short(path)} holds no environment file (Python); give files or a folder of them")
        yield from files


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name too long, say: reading it as a file gives the reason
        return False
