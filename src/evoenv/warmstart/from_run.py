"""Pairs from a pool that exists: the cold start of a weak model by a strong one's environments.

- generator: a prompt with examples of the pool, and another of its environments;
- solver: fresh instances with their reference in a form that the environment's own scorer gives 1, and the responses
  of the run that earned 1 (a strong solver's steps are worth more than a bare answer);
- reviewer: the run's reviews, as far as they agree with what their candidate's reviews decided together.

Environments are validated again before anything is learnt: code that stood in a run for months may meet another Python.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evoenv.admission.review import review_passes
from evoenv.errors import InputError
from evoenv.exchange.bundle import NOT_JUDGED, PoolEntry, read_entries
from evoenv.exchange.checking import Progress, judged
from evoenv.prompts.solver import solver_messages
from evoenv.records import Message, derive_seed
from evoenv.runs.view import RunView
from evoenv.store.database import is_run
from evoenv.validation import probes
from evoenv.validation.evidence import Drawn, Evidence
from evoenv.warmstart.pairs import Pair, draw_role, generator_pair
from evoenv.warmstart.recipe import DataRecipe, RecipeRole

if TYPE_CHECKING:
    from evoenv.sandbox.host import Sandbox

logger = logging.getLogger(__name__)

INSTANCES = 16
"""Fresh instances of every environment at every level of the recipe."""
KEPT_FOR_MEASURING = 8
"""Every such environment is kept for measuring, if there are enough of them."""


@dataclass
class Material:
    """What one environment gives."""

    entry: PoolEntry
    solved: list[tuple[tuple[Message, ...], str]] = field(default_factory=list)


def entries_of(path: Path, modules: tuple[str, ...] = ()) -> list[PoolEntry]:
    """Return what a run, a packed pool or a folder holds beyond a run's originals; `modules` are allowed by name."""
    entries = [entry for entry in read_entries(path, modules=modules) if not entry.original]
    if not entries:
        raise InputError(
            f"{path} holds no environment beyond a run's originals, so there is nothing to learn from; "
            "run `evoenv synth` or `evoenv train` until something is admitted, or use --corpus"
        )
    return entries


def still_valid(
    path: Path, entries: Sequence[PoolEntry], sandbox: Sandbox, progress: Progress | None = None
) -> list[PoolEntry]:
    """Return the entries that reach L5 here and now, whatever was recorded of them."""
    checked = judged([replace(entry, report=NOT_JUDGED) for entry in entries], sandbox, progress)
    usable = [entry for entry in checked if entry.report.layer == 5]
    if not usable:
        first = checked[0].report
        why = first.findings[0] if first.findings else None
        raise InputError(
            f"none of the {len(entries)} environments in {path} reaches L5 any more (the first stops at "
            f"L{first.layer}: {why.code if why else 'no finding'}); check them with `evoenv validate`"
        )
    for entry in checked:
        if entry.report.layer < 5:
            logger.warning("%s (%s) no longer reaches L5 and is left out", entry.name, entry.id)
    return usable


class RunPairs:
    """Pairs from a run, a packed pool or a folder of environments."""

    def __init__(
        self,
        path: Path,
        recipe: DataRecipe,
        seed: int,
        sandbox: Sandbox,
        usable: Sequence[PoolEntry] | None = None,
        *,
        refused: int = 0,
    ) -> None:
        """Collect the material.

        `usable` is what `still_valid` leaves, `refused` how many it left out; both are worked out if not given.
        """
        self.path, self.recipe, self.seed = path, recipe, seed
        if usable is None:
            entries = entries_of(path)
            usable = still_valid(path, entries, sandbox)
            refused = len(entries) - len(usable)
        self.refused = refused
        recorded = _recorded_responses(path, {entry.id for entry in usable})
        self._reviews = _recorded_reviews(path)
        material = []
        for entry in usable:
            item = Material(entry, self._solve(entry, sandbox))
            item.solved += recorded.get(entry.id, [])
            material.append(item)
        self._kept = material[::KEPT_FOR_MEASURING] if len(material) >= 2 * KEPT_FOR_MEASURING else []
        self._shown = [item for item in material if item not in self._kept]
        kept = [item.entry.source.strip() for item in self._kept]
        reviews = [
            (messages, text)
            for messages, text in self._reviews
            if not any(source in message.content for message in messages for source in kept)
        ]
        enough = len(reviews) >= 2 * KEPT_FOR_MEASURING
        self._kept_reviews = reviews[::KEPT_FOR_MEASURING] if enough else []
        unseen = {messages for messages, _ in self._kept_reviews}
        self._reviews = [review for review in reviews if review[0] not in unseen]
        if len(self._shown) <= recipe.few_shot:
            raise InputError(
                f"{path} has {len(self._shown)} environments that still reach L5; a generator pair needs "
                f"{recipe.few_shot + 1} (data.few_shot and one more). Lower data.few_shot, or give a larger pool"
            )
        if recipe.reviewer > 0 and not self._reviews:
            logger.warning("%s holds no reviews to learn from: the reviewer's share goes to the solver", path)
        if recipe.programmer > 0:
            logger.warning("only --corpus teaches the programmer: its share goes to the solver")

    def _solve(self, entry: PoolEntry, sandbox: Sandbox) -> list[tuple[tuple[Message, ...], str]]:
        with sandbox.open(entry.source) as worker:
            drawn: list[Drawn] = []
            for level in sorted(set(self.recipe.difficulties)):
                seeds = [derive_seed("warm-start", self.seed, entry.id, level, number) for number in range(INSTANCES)]
                instances = [item for item in worker.instances(seeds, level) if item is not None]
                drawn += [
                    Drawn(item.seed, item.difficulty, item.prompt, item.latent, item.reference) for item in instances
                ]
            evidence = Evidence(worker, lambda **options: sandbox.open(entry.source, **options), drawn=drawn)
            solved, _, _ = probes.solve(evidence, drawn)
        return [(solver_messages(item.instance.prompt), f"<answer>{item.text}</answer>") for item in solved]

    # ------------------------------------------------------------------ the port

    def own_suite(self) -> tuple[str, list[PoolEntry]]:
        """Return what the solver is measured on: the environments kept for it, or all of them if those are too few."""
        name = "environments kept for measuring" if self._kept else "environments shown"
        return name, [item.entry for item in self._kept or self._shown]

    def sources(self) -> list[str]:
        return [item.entry.source for item in self._shown]

    def pair(self, index: int) -> Pair:
        role = draw_role(random.Random(derive_seed("warm-start", self.seed, index)), self.recipe)
        return self.pair_of(role, index)

    def pair_of(self, role: RecipeRole, index: int) -> Pair:
        rng = random.Random(derive_seed("warm-start", self.seed, index, role))
        material = self._kept or self._shown if index < 0 else self._shown
        if role == "generator":
            target = rng.choice(material)
            others = [item for item in self._shown if item is not target]
            examples = rng.sample(others, min(self.recipe.few_shot, len(others)))
            return generator_pair([item.entry.source for item in examples], target.entry.source, self.recipe)
        reviews = self._kept_reviews or self._reviews if index < 0 else self._reviews
        if role == "reviewer" and reviews:
            messages, text = rng.choice(reviews)
            return Pair("reviewer", messages, text)
        solvable = [item for item in material if item.solved] or [item for item in self._shown if item.solved]
        if not solvable:
            raise InputError(f"no instance of {self.path}'s environments could be solved; set data.solver=0")
        messages, text = rng.choice(rng.choice(solvable).solved)
        return Pair("solver", messages, text)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "run",
            "environments": len(self._shown),
            "kept_for_measuring": len(self._kept),
            "no_longer_valid": self.refused,
            "solver_pairs": sum(len(item.solved) for item in self._shown),
            "reviews": len(self._reviews),
        }


def _recorded_responses(path: Path, wanted: set[str]) -> Mapping[str, list[tuple[tuple[Message, ...], str]]]:
    """Return the responses of the run's solver that earned 1, by environment."""
    if not is_run(path):
        return {}
    responses: dict[str, list[tuple[tuple[Message, ...], str]]] = {}
    with RunView.open(path) as view:
        last = view.progress().last_step
        for environment_id in wanted:
            for group in view.all_answered("solve", environment_id):
                right = [text for text, score in group.replies if score is not None and score.value >= 1.0]
                if right and group.step <= last:
                    responses.setdefault(environment_id, []).extend(
                        (group.messages, text) for text in dict.fromkeys(right)
                    )
    return responses


def _recorded_reviews(path: Path) -> list[tuple[tuple[Message, ...], str]]:
    """Return the reviews that agree with the majority of their candidate's."""
    if not is_run(path):
        return []
    recorded: list[tuple[tuple[Message, ...], str]] = []
    with RunView.open(path) as view:
        for messages, reviews in view.reviewed(view.progress().last_step):
            verdict = "accept" if review_passes(reviews, "majority") else "reject"
            recorded += [(messages, review.text) for review in reviews if review.verdict == verdict]
    return recorded
