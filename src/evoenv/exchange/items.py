"""Draw instances for an export: distinct prompts, no overlap of splits, and a right answer if one can be written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from evoenv.exchange.bundle import PoolEntry
from evoenv.exchange.scorer.api import plain
from evoenv.prompts.solver import solver_messages
from evoenv.records import Instance, derive_seed
from evoenv.sandbox.guest import codec
from evoenv.sandbox.host import EnvironmentWorker, Sandbox
from evoenv.validation.forms import FORMS, PART_FORMS

Split = Literal["train", "test"]
SEED_BITS = 53
"""Seeds survive every JSON reader and every float column."""
ATTEMPTS = 4
"""How many times the instances wanted are drawn before an environment has no more distinct ones to give."""
RIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Item:
    """One instance as it travels. Only `prompt` is for the solver."""

    environment_id: str
    name: str
    seed: int
    difficulty: int
    prompt: str
    """The environment's text and how to mark the final answer."""
    task: str
    """The environment's text alone."""
    reference: str
    """The reference answer as JSON text: one type for all environments, whatever the table's format."""
    answer: str | None
    """The reference as a text that scores 1; None if the environment keeps no full answer."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many instances of each environment, of which difficulties; `seed` names the draw."""

    train: int
    test: int
    difficulties: tuple[int, ...]
    seed: int


def draw_items(
    entries: Sequence[PoolEntry], wanted: Wanted, sandbox: Sandbox, progress: Callable[[int, int], None] | None = None
) -> dict[Split, list[Item]]:
    """Draw items by split, in the order of the entries. The same call gives the same items on any machine.

    Instances are spread evenly over the difficulties. An environment that runs out of distinct prompts gives fewer.
    """

    def work(entry: PoolEntry) -> dict[Split, list[Item]]:
        with sandbox.open(entry.source) as worker:
            return _draw(entry, wanted, worker)

    drawn: dict[Split, list[Item]] = {"train": [], "test": []}
    with ThreadPoolExecutor(sandbox.workers, thread_name_prefix="evoenv-export") as threads:
        for done, part in enumerate(threads.map(work, entries), 1):
            for split, items in part.items():
                drawn[split] += items
            if progress is not None:
                progress(done, len(entries))
    return drawn


def _draw(entry: PoolEntry, wanted: Wanted, worker: EnvironmentWorker) -> dict[Split, list[Item]]:
    drawn: dict[Split, list[Item]] = {"train": [], "test": []}
    seen: set[str] = set()
    writer = _Writer(worker)
    counts: tuple[tuple[Split, int], ...] = (("test", wanted.test), ("train", wanted.train))
    # The test split first: asking for more training items later must not change it.
    for split, count in counts:
        for position, level in enumerate(wanted.difficulties):
            share = count // len(wanted.difficulties) + (position < count % len(wanted.difficulties))
            instances = _distinct(entry, wanted.seed, split, level, share, worker, seen)
            answers = writer.answers(instances)
            drawn[split] += [
                Item(
                    entry.id,
                    entry.name,
                    instance.seed,
                    level,
                    solver_messages(instance.prompt)[0].content,
                    instance.prompt,
                    json.dumps(plain(instance.reference), ensure_ascii=False),
                    answer,
                )
                for instance, answer in zip(instances, answers, strict=True)
            ]
    return drawn


def _distinct(
    entry: PoolEntry, seed: int, split: Split, level: int, count: int, worker: EnvironmentWorker, seen: set[str]
) -> list[Instance]:
    """Draw `count` instances whose prompts nobody has seen, or as many as there are."""
    instances: list[Instance] = []
    index = 0
    while len(instances) < count and index < ATTEMPTS * count:
        batch = range(index, min(index + count - len(instances), ATTEMPTS * count))
        index = batch.stop
        seeds = [derive_seed("export", seed, entry.id, split, level, number) >> (63 - SEED_BITS) for number in batch]
        for instance in worker.instances(seeds, level):
            if instance is not None and instance.prompt not in seen:
                seen.add(instance.prompt)
                instances.append(instance)
    return instances


class _Writer:
    """References as the texts that a prompt asks for: what worked for one instance is tried first for the next."""

    def __init__(self, worker: EnvironmentWorker) -> None:
        self._worker = worker
        self._forms = [*FORMS, *PART_FORMS]

    def answers(self, instances: Sequence[Instance]) -> list[str | None]:
        answers: list[str | None] = [None] * len(instances)
        waiting = list(range(len(instances)))
        favourite = self._forms[0]
        texts = {index: self._text(favourite, instances[index]) for index in waiting}
        first = [index for index in waiting if texts[index] is not None]
        items = [(instances[index].seed, instances[index].difficulty, texts[index] or "") for index in first]
        for index, score in zip(first, self._worker.score(items), strict=True):
            if score.value >= RIGHT:
                answers[index] = texts[index]
        for index in waiting:
            if answers[index] is None:
                answers[index] = self._search(instances[index])
        return answers

    def _search(self, instance: Instance) -> str | None:
        """Return the first form that scores 1; it becomes the favourite."""
        written = dict(self._written(instance))
        items = [(instance.seed, instance.difficulty, text) for text in written]
        for text, score in zip(written, self._worker.score(items), strict=True):
            if score.value >= RIGHT:
                form = written[text]
                self._forms.remove(form)
                self._forms.insert(0, form)
                return text
        return None

    def _written(self, instance: Instance) -> Iterator[tuple[str, Any]]:
        tried: set[str] = set()
        for form in self._forms:
            text = self._text(form, instance)
            if text is not None and text not in tried:
                tried.add(text)
                yield text, form

    @staticmethod
    def _text(form: Any, instance: Instance) -> str | None:
        value = codec.decode(instance.reference)
        try:
            text = form(value)
        except (TypeError, ValueError, OverflowError):
            return None
        return text.strip() or None if isinstance(text, str) else None
