"""Exports in the hands of their real consumers, each in its own virtual environment, by the commands of its page."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evoenv.exchange.bundle import PoolEntry
from evoenv.records import Score
from evoenv.sandbox.host import Sandbox
from tests.effort import HANG_S

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "exchange"


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the fenced blocks of a page, as (language, text)."""
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(r"^```(bash|python)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


class Peer:
    """One consumer: its interpreter, a directory to work in, and where exports are installed for it."""

    def __init__(self, name: str, place: Path) -> None:
        sys.path.insert(0, str(ROOT / "benchmarks"))
        import peer_environments

        installs = getattr(peer_environments, name.upper().replace("-", "_"))
        self.python = Path(peer_environments.peer_python(name, installs))
        self.place = place
        self.site = place / "site"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "EVOENV"))}
        path = f"{self.site / 'bin'}:{self.python.parent}:{kept.get('PATH', '')}"
        return {**kept, "PATH": path, "PYTHONPATH": str(self.site), "OMP_NUM_THREADS": "1", **more}

    def command(self, line: str) -> tuple[list[str], dict[str, str]]:
        """A line of a page as it is run: EvoEnv from this tree, the rest from the consumer's environment."""
        first, *rest = shlex.split(line, comments=True)
        if first == "evoenv":
            return [sys.executable, "-m", "evoenv", *rest], {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        if first == "pip":
            options = ["-q", "--no-deps", "--no-build-isolation", "--target", str(self.site)]
            return [str(self.python), "-m", "pip", *rest, *options], self.environment()
        found = next(at for at in (self.site / "bin" / first, self.python.parent / first) if at.exists())
        return [str(found), *rest], self.environment(OPENAI_API_KEY="none")

    def run(self, line: str, replaced: Mapping[str, str] | None = None) -> str:
        """Run one line; its output. It must end well."""
        for old, new in (replaced or {}).items():
            line = line.replace(old, new)
        command, environment = self.command(line)
        result = subprocess.run(
            command, cwd=self.place, env=environment, capture_output=True, text=True, check=False, timeout=900
        )
        assert result.returncode == 0, f"{line}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
        return result.stdout + result.stderr

    def run_python(self, code: str, replaced: Mapping[str, str] | None = None, given: Any = None) -> str:
        for old, new in (replaced or {}).items():
            code = code.replace(old, new)
        result = subprocess.run(
            [self.python, "-c", code], cwd=self.place, env=self.environment(), input=json.dumps(given),
            capture_output=True, text=True, check=False, timeout=900,
        )  # fmt: skip
        assert result.returncode == 0, f"{code}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
        return result.stdout

    @contextmanager
    def serving(self, line: str, port: int) -> Iterator[None]:
        """A line that serves until it is ended; entered once it answers."""
        command, environment = self.command(line.removesuffix("&").replace("8000", str(port)))
        with subprocess.Popen(
            command, cwd=self.place, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                deadline = time.monotonic() + HANG_S
                while not answers(f"http://127.0.0.1:{port}/health"):
                    assert process.poll() is None, f"{line} ended with {process.returncode}"
                    assert time.monotonic() < deadline, f"{line} does not answer"
                    time.sleep(0.2)
                yield
            finally:
                process.terminate()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


@contextmanager
def knowing(replies: Mapping[str, str], place: Path) -> Iterator[int]:
    """A model behind a server that knows these answers; its port."""
    known = place / "replies.json"
    known.write_text(json.dumps(replies), encoding="utf-8")
    script = Path(__file__).with_name("answer_server.py")
    with subprocess.Popen([sys.executable, script, known], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def own_scores(entries: Sequence[PoolEntry], items: Sequence[tuple[str, int, int, str]]) -> list[float]:
    """Score final answers (id, seed, difficulty, text) as EvoEnv itself does."""
    found: list[float] = []
    with Sandbox() as sandbox:
        for name, seed, level, text in items:
            (entry,) = (entry for entry in entries if entry.id == name)
            with sandbox.open(entry.source) as worker:
                score: Score = worker.score([(seed, level, text)])[0]
                found.append(score.value)
    return found
