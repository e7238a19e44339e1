"""A small scripted world for steps whose stages overlap: few candidates, one of which fails late.

Also a program: `python overlap_support.py RUN on|off [STAGE]` begins or resumes a run there and is killed (really) soon
after this stage of the second step has begun.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loop_support import SOURCES, configuration, environment, open_run
from loop_support import respond as respond_by_rule

from evoenv.config import Config
from evoenv.engines.scripted import ScriptedPolicy, ScriptedSampling
from evoenv.records import Request, Sample
from evoenv.run import advance
from evoenv.sandbox.host import Sandbox
from evoenv.stages.context import Unobserved
from evoenv.store.store import Stage

COMPARE = Path(__file__).parents[2] / "benchmarks" / "same_run.py"
STEPS = 2
FIRST_STEP = (("wrong", "none", "fresh"), ("syntax", "second", "constant"))
SECOND_STEP = (("fresh", "late", "hard"), ("third", "none", "syntax"))
LATE = environment("Late", "constant", rng="random.Random(sum(range(20_000)) + seed)", answer="7")
"""Takes its time, and fails in the fourth layer: its answer is always the same."""


def respond(request: Request, index: int) -> str:
    """Answer every role as a function of the request alone."""
    if request.role != "generator":
        return respond_by_rule(request, index)
    step, group = map(int, re.match(r"s(\d+)\.g(\d+)", request.id).groups())
    name = (FIRST_STEP if step == 1 else SECOND_STEP)[group][index]
    source = LATE if name == "late" else SOURCES.get(name)
    return "I have no idea." if source is None else f"Here it is.\n```python\n{source.strip()}\n```\n"


def overlap_config(overlap: str, draw_rule: str = "lot", steps: int = STEPS, **sections: dict[str, Any]) -> Config:
    return configuration(
        run={"steps": steps},
        generator={"prompts": 2, "candidates_per_prompt": 3},
        solver={"prompts": 8, "responses_per_prompt": 2, "draw_rule": draw_rule},
        calibration={"instances": 2},
        engine={"overlap": overlap},
        **sections,
    )


class HoldingPolicy(ScriptedPolicy):
    """Holds samples back for as long as `held(policy, request, index)` says so."""

    def __init__(self, held: Callable[[ScriptedPolicy, Request, int], bool]) -> None:
        super().__init__(respond)
        self.held = held

    def sampling(self) -> HoldingSampling:
        return HoldingSampling(self)


class HoldingSampling(ScriptedSampling):
    def collect(self, timeout: float | None = None) -> Sequence[Sample]:
        for position, (request, index) in enumerate(self._pending):
            if not self._policy.held(self._policy, request, index):
                self._pending.rotate(-position)
                return super().collect(timeout)
        assert not self._pending or timeout is not None, "all that is left is held back until something is asked early"
        time.sleep(0.01)
        return ()


def differences(before: Path, after: Path) -> str:
    """Compare two runs by the script that compares runs; return what it says if they differ."""
    told = subprocess.run([sys.executable, str(COMPARE), str(before), str(after)], capture_output=True, text=True)
    return "" if told.returncode == 0 else told.stdout + told.stderr


# --------------------------------------------------------------------------- the program that gets killed


class KillIn(Unobserved):
    """Kills this process at the third sample that is kept after a stage of the second step began, or at its end."""

    def __init__(self, stage: str | None) -> None:
        self._stage = stage
        self.calls: int | None = None

    def stage(self, step: int, stage: Stage) -> None:
        if self.calls is not None:  # the next stage: there were not enough samples in this one
            os.kill(os.getpid(), signal.SIGKILL)
        if (step, stage) == (2, self._stage):
            self.calls = 0

    def count(self) -> None:
        if self.calls is not None:
            self.calls += 1
            if self.calls == 3:
                os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    directory, overlap = Path(sys.argv[1]), sys.argv[2]
    observer = KillIn(sys.argv[3] if len(sys.argv) > 3 else None)

    class CountingPolicy(ScriptedPolicy):
        def answer(self, request: Request, index: int) -> Sample:
            observer.count()
            return super().answer(request, index)

    with Sandbox() as sandbox:
        policy = CountingPolicy(respond, shuffle=3)
        run, _ = open_run(directory, sandbox, overlap_config(overlap), policy, observer=observer)
        advance(run)
        run.close()


if __name__ == "__main__":
    main()
