"""What a warm start learns from, and what measures its abilities on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.assembly import open_sandbox, policy_of
from evoenv.exchange.bundle import PoolEntry, modules_of
from evoenv.exchange.checking import Progress
from evoenv.sandbox.host import Sandbox
from evoenv.warmstart.abilities import Abilities
from evoenv.warmstart.from_run import RunPairs, entries_of, still_valid
from evoenv.warmstart.pairs import CorpusPairs, PairSource
from evoenv.warmstart.recipe import Recipe

if TYPE_CHECKING:
    from evoenv.warmstart.process import Measure

CORPUS = "corpus"


def no_progress() -> AbstractContextManager[Progress]:
    return nullcontext(lambda done, total: None)


@dataclass
class Data:
    """Where pairs come from, with a sandbox that has the modules they need."""

    sandbox: Sandbox
    path: Path | None
    """None for the corpus."""
    usable: Sequence[PoolEntry] = ()
    refused: int = 0

    def source(self, recipe: Recipe) -> PairSource:
        if self.path is None:
            return CorpusPairs(recipe.data, recipe.seed)
        return RunPairs(self.path, recipe.data, recipe.seed, self.sandbox, self.usable, refused=self.refused)


@contextmanager
def open_data(
    data: str,
    modules: tuple[str, ...] = (),
    *,
    allow_degraded: bool = False,
    progress: Callable[[], AbstractContextManager[Progress]] = no_progress,
) -> Iterator[Data]:
    """Open what a warm start learns from: the corpus, or a run or packed pool whose environments are judged again."""
    if data == CORPUS:
        with open_sandbox(allow_degraded=allow_degraded) as sandbox:
            yield Data(sandbox, None)
        return
    path = Path(data)
    entries = entries_of(path, modules)
    with open_sandbox(allow_degraded=allow_degraded, modules=modules_of(entries)) as sandbox:
        with progress() as told:
            usable = still_valid(path, entries, sandbox, told)
        yield Data(sandbox, path, usable, refused=len(entries) - len(usable))


def measure_with(
    sandbox: Sandbox, recipe: Recipe, source: PairSource, before: Sequence[PairSource], tell: Callable[[str], None]
) -> Measure:
    """Make the function that measures abilities; what earlier stages showed counts as shown."""
    abilities = Abilities(recipe, source, sandbox, before=before)

    def measure(model: Any, tokenizer: Any, tokens: int) -> dict[str, Any]:
        model.eval()
        return abilities.measure(policy_of(model, tokenizer), tell)

    return measure
