"""What a subject can do in each role, on the corpus of a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from evoenv.assembly import open_sandbox
from evoenv.evaluation.subject import Subject
from evoenv.ports import Policy
from evoenv.sandbox.host import Sandbox
from evoenv.warmstart.abilities import Abilities
from evoenv.warmstart.pairs import CorpusPairs
from evoenv.warmstart.recipe import Recipe, load_recipe


@dataclass(frozen=True, slots=True)
class Measuring:
    """A subject that is ready to be measured by the last stage of a recipe."""

    policy: Policy
    sandbox: Sandbox
    recipe: Recipe
    sources: Sequence[CorpusPairs]
    """What each stage shows; the last is the one that is measured."""

    def measure(self, tell: Callable[[str], None]) -> dict[str, Any]:
        """Measure each role; `tell` is told what comes next."""
        *before, source = self.sources
        return Abilities(self.recipe, source, self.sandbox, before=before).measure(self.policy, tell)


@contextmanager
def open_abilities(subject: Subject, recipe: str, *, allow_degraded: bool = False) -> Iterator[Measuring]:
    """Open a subject for measuring by a recipe (`nano`, `laptop`, or a file); close it afterwards."""
    stages = load_recipe(recipe).stages()
    with ExitStack() as stack:
        sandbox = stack.enter_context(open_sandbox(allow_degraded=allow_degraded))
        policy, _ = subject.open()
        if subject.owned:
            stack.callback(policy.close)
        sources = [CorpusPairs(stage.data, stage.seed) for stage in stages]
        yield Measuring(policy, sandbox, stages[-1], sources)
