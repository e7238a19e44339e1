"""The progress line of downloads and conversions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


class Bar:
    """One rich progress line on stderr; silent if stderr is no terminal."""

    def __init__(self, enabled: bool) -> None:
        # here: rich takes a tenth of a second to import, and most names need no bar
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        console = Console(file=sys.stderr)  # bound now: `dequantise` silences sys.stderr while it runs
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not (enabled and console.is_terminal),
        )

    @contextlib.contextmanager
    def task(self, description: str, total: int | None) -> Iterator[Any]:
        """Show a task; call what it gives with the amount that is done."""
        with self.progress:
            identifier = self.progress.add_task(description, total=total)
            yield lambda completed: self.progress.update(identifier, completed=completed)
            self.progress.remove_task(identifier)
