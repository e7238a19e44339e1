"""reasoning-gym's data sets as environments: `evoenv import reasoning-gym:chain_sum,leg_counting --pool DIR`.

Each becomes a small source that calls the library, which its user trusts by naming it here: the sandbox imports it
before the walls go up, and it runs behind them like the environment itself. Level d is level d of the data set's own
curriculum. What is lost: partial credit (only full marks count: reasoning-gym's default scorer pays for any text that
contains the answer), and whatever validation refuses: data sets without a reference answer, without a curriculum, or
slower than an environment may be.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from evoenv.errors import InputError
from evoenv.exchange.bundle import PoolEntry

MODULE = "reasoning_gym"
LICENCE = "Apache-2.0"
MOST_LEVELS = 8

SOURCE = '''\
"""{name} of reasoning-gym {version} ({licence}), at the levels of its own curriculum."""

import random

import reasoning_gym

LEVELS = {levels}


class {title}(VerifiableEnvironment):
    def item(self, seed, difficulty):
        """The data set that holds the instance, and the instance."""
        level = min(difficulty, len(LEVELS) - 1)
        # hashed by Random: reasoning-gym adds indices to seeds, so neighbouring ones would share instances
        data = reasoning_gym.create_dataset({name!r}, size=1, seed=random.Random(seed).getrandbits(31), **LEVELS[level])
        return data, data[0]

    def _generate(self, seed, difficulty):
        _, item = self.item(seed, difficulty)
        return {{"seed": seed, "difficulty": difficulty, "question": item["question"]}}, item["answer"]

    def _prompt_generate(self, z):
        return z["question"]

    def _process(self, y):
        return y.strip() or None

    def scorer(self, y, z, a):
        answer = self._process(y)
        if answer is None:
            return 0.0
        data, item = self.item(z["seed"], z["difficulty"])
        try:
            score = data.score_answer(answer, item)
        except Exception:
            return 0.0
        return 1.0 if score >= 1.0 else 0.0
'''


def read_datasets(names: Sequence[str], *, origin: str | None = None, licence: str | None = None) -> list[PoolEntry]:
    """One unjudged entry per data set. Raises InputError where the library or a data set is not there."""
    factory = _factory()
    if not names:
        raise InputError(f"reasoning-gym: which data sets? Give names, as in reasoning-gym:chain_sum; {_some(factory)}")
    if unknown := sorted(set(names) - set(factory.DATASETS)):
        raise InputError(f"reasoning-gym has no data set {unknown[0]!r}; {_some(factory, unknown[0])}")
    return [
        PoolEntry(
            dataset_source(name, levels_of(name, factory)),
            title(name),
            f"{origin or 'reasoning-gym'}/{name}",
            licence or LICENCE,
            modules=(MODULE,),
        )
        for name in dict.fromkeys(names)
    ]


def dataset_source(name: str, levels: Sequence[Mapping[str, Any]]) -> str:
    listed = "[\n" + "".join(f"    {level!r},\n" for level in map(dict, levels)) + "]"
    return SOURCE.format(name=name, title=title(name), version=metadata.version(MODULE), licence=LICENCE, levels=listed)


def title(name: str) -> str:
    """`chain_sum` as a class name."""
    plain = "".join(part.capitalize() for part in name.split("_"))
    return plain if plain[:1].isalpha() else f"Rg{plain}"


def levels_of(name: str, factory: Any) -> list[dict[str, Any]]:
    """The settings of each level of the data set's curriculum, the easiest first; one level where it has none."""
    if not factory.has_curriculum(name):
        return [{}]
    from reasoning_gym.coaching.base_curriculum import DefaultCurriculumContext, RangeAttributeMode

    top = max((len(one.levels) for one in factory.create_curriculum(name).attributes.values()), default=1)
    context = DefaultCurriculumContext(mode=RangeAttributeMode.UPPER_BOUND)
    levels: list[dict[str, Any]] = []
    for level in range(min(top, MOST_LEVELS)):
        curriculum = factory.create_curriculum(name)
        curriculum.set_global_level(level)
        settings = _settings(curriculum, context)
        if settings is None:
            break  # some curricula reach settings that their own data set refuses
        if settings not in levels:
            levels.append(settings)
    return levels or [{}]


def _settings(curriculum: Any, context: Any) -> dict[str, Any] | None:
    """What differs from the defaults, as literals; None where the data set refuses it or it cannot be written down."""
    try:
        config = curriculum.generate_configuration({"size": 1, "seed": 0}, context)
        if hasattr(config, "validate"):
            config.validate()
        plain = type(config)(size=1, seed=0)
        changed = {
            field.name: getattr(config, field.name)
            for field in dataclasses.fields(config)
            if getattr(config, field.name) != getattr(plain, field.name)
        }
        return changed if ast.literal_eval(repr(changed)) == changed else None
    except (AssertionError, ValueError, TypeError, SyntaxError, IndexError, KeyError):
        return None


def _factory() -> Any:
    if importlib.util.find_spec(MODULE) is None:
        raise InputError("reasoning-gym is not installed; install it with: pip install 'evoenv[reasoning-gym]'")
    import reasoning_gym.factory

    return reasoning_gym.factory


def _some(factory: Any, near: str = "") -> str:
    import difflib

    names = sorted(factory.DATASETS)
    close = difflib.get_close_matches(near, names, n=3)
    return f"did you mean {' or '.join(close)}?" if close else f"it has {len(names)}, such as {', '.join(names[:5])}"
