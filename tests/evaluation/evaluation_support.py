"""A small world to evaluate in; run as a program it is killed while it evaluates.

python evaluation_support.py RESULTS [KILL_AT]     prints the accuracy and how many samples were drawn
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from evoenv.engines.scripted import Fault, ScriptedPolicy
from evoenv.evaluation import EnvironmentSuite, Evaluation, SuiteEnvironment, evaluate
from evoenv.records import Request, environment_id
from evoenv.sandbox.host import Sandbox

ADDING = """
import random

class Adding(VerifiableEnvironment):
    prompt_template = "What is {a} + {b}?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        a, b = rng.randint(1, 9 + difficulty), rng.randint(1, 9)
        return {"a": a, "b": b}, a + b

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        got = self._process(y)
        if got is None:
            return 0.0
        return 1.0 if got == a else 0.5 if abs(got - a) == 1 else 0.0
"""

DYING = ADDING.replace("Adding", "Dying").replace(
    "rng = random.Random(seed)", "rng = random.Random(seed)\n        1 // (difficulty and seed % 2 + difficulty - 1)"
)
"""At difficulty 1 every other instance dies; at 0 all do."""

BROKEN = "class Nothing(VerifiableEnvironment"

SAMPLING: dict[str, Any] = {"samples": 4, "temperature": 1.0, "top_p": 1.0, "max_tokens": 200}


def suite(*sources: str, difficulties: tuple[int, ...] = (0, 1), instances: int = 3, seed: int = 5) -> EnvironmentSuite:
    environments = [SuiteEnvironment(environment_id(source), source, name=f"e{i}") for i, source in enumerate(sources)]
    return EnvironmentSuite("small", environments, difficulties, instances, seed)


def solver(request: Request, index: int) -> str:
    """Right, off by one, without an answer, wrong: in turn."""
    task = re.search(r"What is (\d+) \+ (\d+)\?", request.messages[-1].content)
    assert task is not None
    total = int(task[1]) + int(task[2])
    return [f"<answer>{total}</answer>", f"<answer>{total + 1}</answer>", "I do not know", "<answer>-5</answer>"][
        index % 4
    ]


def run(
    sandbox: Sandbox, policy: ScriptedPolicy, *sources: str, results: Path | None = None, **changes: Any
) -> Evaluation:
    return evaluate(policy, sandbox, suite(*(sources or (ADDING,))), results=results, **{**SAMPLING, **changes})


def main() -> None:
    path = Path(sys.argv[1])
    faults = [Fault(int(sys.argv[2]), kind="kill")] if len(sys.argv) > 2 else []
    with Sandbox() as sandbox:
        found = run(sandbox, ScriptedPolicy(solver, faults=faults), results=path, model="scripted")
    print(found.accuracy.mean, found.sampled, flush=True)


if __name__ == "__main__":
    main()
