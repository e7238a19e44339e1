"""What a warm start learns from: a prompt exactly as the loop will ask it, and a good response.

A `PairSource` is a pure function from an index to a pair, so that a stopped warm start goes on where it was, whatever
the size of the data. Pairs with an index below zero are kept for measuring.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from evoenv.corpus import FAULTS, Author, Program, break_program, solving_program, worked_solution
from evoenv.corpus.compose.screen import answer_text, load
from evoenv.errors import InputError
from evoenv.prompts.generator import Example, generator_messages
from evoenv.prompts.recompute import EXAMPLES, recompute_messages, shown_names
from evoenv.prompts.review import ScoredAnswer, review_messages
from evoenv.prompts.solver import solver_messages
from evoenv.prompts.texts import fenced
from evoenv.records import Instance, Message, derive_seed, environment_id
from evoenv.sandbox.guest import codec
from evoenv.warmstart.recipe import DataRecipe, RecipeRole

ROLES: tuple[RecipeRole, ...] = ("generator", "solver", "reviewer", "programmer")
FAULTY_SHARE = 0.5
TRIES = 50
WITHHELD_TRIES = 2000
NEXT_TRY = 10**10
"""Between the numbers of a program that is withheld and of the one shown in its place."""


@dataclass(frozen=True, slots=True)
class Pair:
    role: RecipeRole
    messages: tuple[Message, ...]
    response: str


class PairSource(Protocol):
    """Where pairs come from. The same index always gives the same pair."""

    def pair(self, index: int) -> Pair: ...

    def pair_of(self, role: RecipeRole, index: int) -> Pair: ...

    def sources(self) -> Sequence[str]:
        """Return every environment that the generator is shown: what `verbatim` is measured against."""

    def describe(self) -> dict[str, Any]:
        """Return statistics for the record."""


def generator_pair(examples: Sequence[str], target: str, recipe: DataRecipe) -> Pair:
    parents = [Example(environment_id(source), source) for source in examples]
    messages, _ = generator_messages(parents, recipe.prompt)
    return Pair("generator", messages, fenced(target, "python"))


def draw_role(rng: random.Random, recipe: DataRecipe) -> RecipeRole:
    return rng.choices(ROLES, [recipe.generator, recipe.solver, recipe.reviewer, recipe.programmer])[0]


_PROGRAMS: dict[tuple[int, str, float, int], Program] = {}
"""By seed, split, share withheld and number: stages of one recipe often show the same programs."""


class CorpusPairs:
    """Pairs from the procedural author's train families, or the basic ones of them."""

    def __init__(self, recipe: DataRecipe, seed: int) -> None:
        self.recipe, self.seed = recipe, seed
        self.author = Author(seed, recipe.families)
        self.abroad = Author(seed, "train")

    def program(self, number: int, author: Author | None = None) -> Program:
        """Return one of the programs that are shown (0 and up), or one that never is (below 0)."""
        author = author or self.author
        key = author.seed, author.split, self.recipe.withhold, number
        if key not in _PROGRAMS:
            # Below zero: numbers far beyond any corpus, so that measuring never meets what was learnt.
            index = number if number >= 0 else 10**9 - number
            _PROGRAMS[key] = self._shown(author, index)
        return _PROGRAMS[key]

    def _shown(self, author: Author, index: int) -> Program:
        """Return program number `index`, or if it is withheld another of as many steps: long ones must not get rare."""
        first = program = author.compose(index)
        for number in range(1, WITHHELD_TRIES + 1):
            if len(program.steps) == len(first.steps) and not withheld(program, self.recipe.withhold):
                return program
            program = author.compose(index + number * NEXT_TRY)
        raise InputError(
            f"{WITHHELD_TRIES} tries gave no program of {len(first.steps)} steps that may be shown: data.withhold is "
            f"{self.recipe.withhold}; lower it"
        )

    def sources(self) -> list[str]:
        return [self.program(number).source for number in range(self.recipe.programs)]

    def pair(self, index: int) -> Pair:
        rng = random.Random(derive_seed("warm-start", self.seed, index))
        return self.pair_of(draw_role(rng, self.recipe), index)

    def pair_of(self, role: RecipeRole, index: int) -> Pair:
        """Return the pair number `index` of one role."""
        rng = random.Random(derive_seed("warm-start", self.seed, index, role))
        if role == "generator":
            return self._generator(rng, index)
        if role == "solver":
            return solve_program(self._draw_abroad(rng, index), rng, self.recipe)
        if role == "programmer":
            return write_program(self._program_to_write(rng, index), rng, self.recipe)
        # Drawn once: trying again if a fault does not fit must not tilt the shares.
        faulty = rng.random() < FAULTY_SHARE
        for _ in range(TRIES):
            pair = self._reviewer(rng, index, faulty)
            if pair is not None:
                return pair
        raise InputError(f"{TRIES} tries gave no {role} pair number {index}; set data.reviewer=0")

    def _draw(self, rng: random.Random, index: int, count: int = 1, author: Author | None = None) -> list[Program]:
        if index < 0:
            return [self.program(-rng.randrange(1, 10**6), author) for _ in range(count)]
        return [self.program(number, author) for number in rng.sample(range(self.recipe.programs), count)]

    def _generator(self, rng: random.Random, index: int) -> Pair:
        drawn = self._draw(rng, index, self.recipe.few_shot + 1)
        if self.recipe.longer > 0:
            again = partial(self._draw_one, rng, index)
            drawn = [_longer(rng, self.recipe.longer, program, again) for program in drawn]
        *examples, target = (program.source for program in drawn)
        return generator_pair(examples, target, self.recipe)

    def _draw_one(self, rng: random.Random, index: int) -> Program:
        (program,) = self._draw(rng, index)
        return program

    def _program_to_write(self, rng: random.Random, index: int) -> Program:
        program = self._draw_abroad(rng, index)
        if self.recipe.programmer_longer > 0:
            program = _longer(rng, self.recipe.programmer_longer, program, partial(self._draw_abroad, rng, index))
        return program

    def _draw_abroad(self, rng: random.Random, index: int) -> Program:
        """Draw a program of the families that are shown or, with the recipe's share, of all train families."""
        abroad = self.recipe.solver_abroad > 0 and rng.random() < self.recipe.solver_abroad
        (program,) = self._draw(rng, index, author=self.abroad if abroad else self.author)
        return program

    def _reviewer(self, rng: random.Random, index: int, faulty: bool) -> Pair | None:
        (program,) = self._draw(rng, index)
        source, reason = program.source, ""
        if faulty:
            fault = rng.choice([name for name, (_, layer) in FAULTS.items() if layer == 5])
            broken = break_program(program, fault, rng.randrange(10**6))
            if broken is None:
                return None
            source, reason = broken.source, broken.explanation
        return review_pair(source, reason, rng, self.recipe)

    def describe(self) -> dict[str, Any]:
        programs = [self.program(number) for number in range(self.recipe.programs)]
        lengths = sorted(len(program.source) for program in programs)
        return {
            "kind": "corpus",
            "seed": self.seed,
            "split": self.recipe.families,
            "programs": len(programs),
            "families": len({program.family for program in programs}),
            "combinations": len({tuple(part.name for part in program.parts) for program in programs}),
            "withheld": self.recipe.withhold,
            "characters": {"median": lengths[len(lengths) // 2], "largest": lengths[-1]},
        }


def _longer(rng: random.Random, share: float, program: Program, draw: Callable[[], Program]) -> Program:
    """Replace, with a share, a program that has a single step by another one."""
    if rng.random() < share:
        for _ in range(TRIES):
            if len(program.steps) > 1:
                break
            program = draw()
    return program


def withheld(program: Program, share: float) -> bool:
    """Return whether a program's combination of parts is one of those that a warm start never shows.

    A computation on its own with the plainest scorer is always shown: no family may be lost.
    """
    if share <= 0 or (len(program.steps) == 1 and program.parts[-1].name not in ("element-wise", "near")):
        return False
    return derive_seed("withheld", *(part.name for part in program.parts)) % 10_000 < share * 10_000


def solve_program(program: Program, rng: random.Random, recipe: DataRecipe) -> Pair:
    """Make a fresh instance of a corpus program and its (worked) answer."""
    environment = load(program.source)
    z, a = environment._generate(rng.randrange(1 << 31), rng.choice(recipe.difficulties))
    prompt = environment._prompt_generate(z)
    plain = f"<answer>{answer_text(a)}</answer>"
    response = worked_solution(program, z, a, restate=recipe.restate) if rng.random() < recipe.worked else plain
    return Pair("solver", solver_messages(prompt), response)


def write_program(program: Program, rng: random.Random, recipe: DataRecipe) -> Pair:
    """Show instances of a corpus program as a recomputation does, and the program that solves them."""
    environment = load(program.source)
    instances = []
    for _ in range(EXAMPLES):
        seed, level = rng.randrange(1 << 31), rng.choice(recipe.difficulties)
        z, a = environment._generate(seed, level)
        instances.append(Instance(seed, level, environment._prompt_generate(z), codec.encode(z), codec.encode(a)))
    messages = recompute_messages(instances, "values", shown_names(instances), recipe.prompt)
    return Pair("programmer", messages, fenced(solving_program(program), "python"))


def review_pair(source: str, reason: str, rng: random.Random, recipe: DataRecipe) -> Pair | None:
    """Write the review of a source of our own, sound if `reason` is empty; None if it cannot be shown."""
    environment = load(source)
    instances: list[Instance] = []
    probes: list[ScoredAnswer] = []
    for difficulty in (0, rng.choice(recipe.difficulties)):
        seed = rng.randrange(1 << 31)
        try:
            z, a = environment._generate(seed, difficulty)
            prompt = environment._prompt_generate(z)
            probes += _probes(environment, z, a, rng)
        except Exception:  # a fault may well be that it fails; the validation layers show that, not a review
            return None
        instances.append(Instance(seed, difficulty, prompt, codec.encode(z), codec.encode(a)))
    verdict = (
        f"Bug: {reason}\nVERDICT: REJECT" if reason else "The code computes what the prompt asks.\nVERDICT: ACCEPT"
    )
    return Pair("reviewer", review_messages(source, instances, probes), verdict)


def _probes(environment: Any, z: Any, a: Any, rng: random.Random) -> list[ScoredAnswer]:
    right = answer_text(a)
    answers = [("the reference", right), ("malformed", f"about {right}"), ("empty", "")]
    if isinstance(a, int) and not isinstance(a, bool):
        answers[1:1] = [("changed: plus one", str(a + 1)), ("changed: other", str(a + rng.randrange(2, 9)))]
    return [ScoredAnswer(kind, text, float(environment.scorer(text, z, a))) for kind, text in answers]
