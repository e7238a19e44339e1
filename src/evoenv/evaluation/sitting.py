"""One subject, several suites: the policy is opened once, and each suite has a sandbox with the modules it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.assembly import open_sandbox
from evoenv.evaluation.evaluate import Evaluation, evaluate
from evoenv.evaluation.subject import Subject
from evoenv.evaluation.suite import Suite
from evoenv.ports import Policy
from evoenv.sandbox.host import Sandbox


@dataclass(frozen=True, slots=True)
class Sitting:
    """A subject that is ready to be asked."""

    policy: Policy
    identity: dict[str, Any]
    """Who it is, as results files keep it."""
    sandboxes: Mapping[Sequence[str], Sandbox]
    """By the modules that they trust: what a suite may import does not depend on the suites beside it."""

    def evaluate(
        self,
        suite: Suite,
        *,
        samples: int,
        temperature: float,
        top_p: float,
        max_tokens: int,
        results: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Evaluation:
        return evaluate(
            self.policy, self.sandboxes[tuple(suite.modules)], suite,
            samples=samples, temperature=temperature, top_p=top_p, max_tokens=max_tokens,
            results=results, progress=progress, model=self.identity,
        )  # fmt: skip


@contextmanager
def open_sitting(subject: Subject, suites: Iterable[Suite], *, allow_degraded: bool = False) -> Iterator[Sitting]:
    """Open the sandboxes that the suites need, then the subject; close them afterwards."""
    with ExitStack() as stack:
        sandboxes: dict[Sequence[str], Sandbox] = {}
        for modules in dict.fromkeys(tuple(suite.modules) for suite in suites):
            sandbox = open_sandbox(modules=modules, allow_degraded=allow_degraded)
            sandboxes[modules] = stack.enter_context(sandbox)
        policy, identity = subject.open()
        if subject.owned:
            stack.callback(policy.close)
        yield Sitting(policy, identity, sandboxes)
