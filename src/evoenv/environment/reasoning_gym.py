"""reasoning-gym's data sets as environments, named as `reasoning-gym:chain_sum,leg_counting`.

Each becomes a small source that calls the library, which its user trusts by naming it here: the sandbox imports it
before the walls go up, and it runs behind them like the environment itself. Level d is level d of the data set's own
curriculum, in the library's default mode; levels that its data set refuses are left out. What is lost: partial credit
(only full marks count: reasoning-gym's default scorer pays for any text that contains the answer), and whatever
validation refuses: data sets without a reference answer or slower than an environment may be.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import difflib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

from evoenv.assembly import open_sandbox
from evoenv.errors import InputError
from evoenv.sandbox.host import Failed, Sandbox

MODULE = "reasoning_gym"
LICENCE = "Apache-2.0"
NOT_ALONE = ("composite",)
"""Mixes other data sets, which its user has to name."""
MOST_LEVELS = 8
TRIED = 3
"""Seeds at each level: if all of them raise an error the level is left out."""
MOST_WORDS = 200

SOURCE = '''\
"""{name} of reasoning-gym {version} ({licence}), at the levels of its own curriculum."""

import copy
import random

import reasoning_gym

LEVELS = {levels}
LEFT_OUT = {left_out}
ERRORS_SHOW = {errors_show}
KEPT = {{}}


class {title}(VerifiableEnvironment):
    def item(self, seed, difficulty):
        """The data set that holds the instance, and the instance, as it was generated last."""
        level = min(difficulty, len(LEVELS) - 1)
        return KEPT.get((seed, level)) or self.make(seed, level)

    def make(self, seed, level):
        # hashed by Random: reasoning-gym adds indices to seeds, so neighbouring ones would share instances
        mixed = random.Random(seed).getrandbits(31)
        data = reasoning_gym.create_dataset({name!r}, size=1, seed=mixed, **LEVELS[level])
        if len(KEPT) >= 600:
            KEPT.pop(next(iter(KEPT)))
        KEPT[seed, level] = data, data[0]
        return KEPT[seed, level]

    def reference(self, item):
        """The answer, or the example of one that some data sets keep in their metadata."""
        found = item["answer"]
        for name in ("example_answer", "example_correct_answer", "possible_answer"):
            if found is None:
                found = item["metadata"].get(name) or None
        return found

    def entry(self, item, a):
        """The instance with `a` as its answer, also where its metadata repeats the answer."""
        entry = copy.deepcopy(item)
        answer = item["answer"]
        if answer is not None and a != answer:
            entry["answer"] = a
            for name, value in item["metadata"].items():
                if isinstance(value, (str, int, float)) and str(value) == answer:
                    try:
                        entry["metadata"][name] = type(value)(a)
                    except ValueError:
                        entry["metadata"][name] = a
        return entry

    def _generate(self, seed, difficulty):
        _, item = self.make(seed, min(difficulty, len(LEVELS) - 1))
        return {{"seed": seed, "difficulty": difficulty, "question": item["question"]}}, self.reference(item)

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
            score = data.score_answer(answer, self.entry(item, a))
        except Exception:
            if ERRORS_SHOW:
                raise
            return 0.0
        return 1.0 if score >= 1.0 else 0.0
'''


@dataclasses.dataclass(frozen=True)
class Levels:
    """The settings of a curriculum's levels, and why others of its levels are left out."""

    settings: Mapping[int, Mapping[str, Any]]
    left_out: Mapping[int, str] = dataclasses.field(default_factory=dict)

    def without(self, refused: Mapping[int, str]) -> Levels:
        kept = {level: settings for level, settings in self.settings.items() if level not in refused}
        return Levels(kept, dict(sorted({**self.left_out, **refused}.items())))


@dataclasses.dataclass(frozen=True, slots=True)
class Dataset:
    """One data set as an environment."""

    name: str
    title: str
    source: str


def check_names(names: Sequence[str]) -> None:
    """Raise InputError if the library or a data set is not there."""
    factory = _factory()
    if not names:
        raise InputError(f"reasoning-gym: which data sets? Give names, as in reasoning-gym:chain_sum; {_some(factory)}")
    if unknown := sorted(set(names) - set(factory.DATASETS)):
        raise InputError(f"reasoning-gym has no data set {unknown[0]!r}; {_some(factory, unknown[0])}")


def read_datasets(names: Sequence[str], *, sandbox: Sandbox | None = None, errors_show: bool = False) -> list[Dataset]:
    """Make one environment per data set, each once. Raises InputError if the library or a data set is not there.

    Levels at which a data set cannot generate anything are left out; its source names them. An answer on which the
    library's scorer raises an error scores 0, so that training goes on; `errors_show` lets the error out for an audit.
    """
    check_names(names)
    factory = _factory()
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context(open_sandbox(modules=(MODULE,))) if sandbox is None else sandbox
        levels = {name: usable(name, levels_of(name, factory), opened) for name in names}
        return [
            Dataset(name, title(name), dataset_source(name, kept, errors_show=errors_show))
            for name, kept in levels.items()
        ]


def usable(name: str, levels: Levels, sandbox: Sandbox) -> Levels:
    """Leave out the levels at which the data set raises an error for every seed; none if it always does."""
    if len(levels.settings) == 1:
        return levels
    numbers = list(levels.settings)
    items = [[seed, difficulty] for difficulty in range(len(numbers)) for seed in range(TRIED)]
    with sandbox.open(dataset_source(name, levels)) as worker:
        outcomes = worker.call("instances", items, stop_on_death=False)
    refused: dict[int, str] = {}
    for difficulty, level in enumerate(numbers):
        row = outcomes[difficulty * TRIED : (difficulty + 1) * TRIED]
        failures = [outcome for outcome in row if isinstance(outcome, Failed) and outcome.kind == "exception"]
        if len(failures) == TRIED:
            refused[level] = f"curriculum invalid: {failures[0].message}"[:MOST_WORDS]
    return levels if len(refused) == len(numbers) else levels.without(refused)


def dataset_source(name: str, levels: Levels, *, errors_show: bool = False) -> str:
    """Write the environment that calls one data set of the library."""

    def listed(lines: Iterable[str], brackets: str) -> str:
        return brackets[0] + "\n" + "".join(f"    {line},\n" for line in lines) + brackets[1]

    return SOURCE.format(
        name=name,
        title=title(name),
        errors_show=errors_show,
        version=metadata.version(MODULE),
        licence=LICENCE,
        levels=listed((repr(dict(settings)) for settings in levels.settings.values()), "[]"),
        left_out=listed((f"{level}: {reason!r}" for level, reason in levels.left_out.items()), "{}")
        if levels.left_out
        else "{}",
    )


def level_count(source: str) -> int | None:
    """Return how many levels an imported data set has; None if the source does not say."""
    levels = _constant(source, "LEVELS")
    return len(levels) if isinstance(levels, list) else None


def left_out(source: str) -> dict[int, str]:
    """Return the levels of the curriculum that an imported data set does without, each with the reason."""
    reasons = _constant(source, "LEFT_OUT")
    return reasons if isinstance(reasons, dict) else {}


def _constant(source: str, name: str) -> Any:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what it is will be said by validation
        return None
    for node in body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == [name]:
            try:
                return ast.literal_eval(node.value)
            except (ValueError, TypeError, RecursionError, MemoryError):
                return None
    return None


def version() -> str:
    """Return the version of the library that is installed."""
    return metadata.version(MODULE)


def all_names() -> list[str]:
    """Return every data set that can be drawn from by itself."""
    return [name for name in sorted(_factory().DATASETS) if name not in NOT_ALONE]


def title(name: str) -> str:
    """Write `chain_sum` as a class name."""
    plain = "".join(part.capitalize() for part in name.split("_"))
    return plain if plain[:1].isalpha() else f"Rg{plain}"


def levels_of(name: str, factory: Any) -> Levels:
    """Return the settings of each level of the data set's curriculum, the easiest first; one level if it has none."""
    if not factory.has_curriculum(name):
        return Levels({0: {}})
    top = max((len(attribute.levels) for attribute in factory.create_curriculum(name).attributes.values()), default=1)
    settings: dict[int, dict[str, Any]] = {}
    refused: dict[int, str] = {}
    for level in range(min(top, MOST_LEVELS)):
        curriculum = factory.create_curriculum(name)
        curriculum.set_global_level(level)
        try:
            changed = _settings(curriculum)
        except (AssertionError, ValueError, TypeError, SyntaxError, IndexError, KeyError) as error:
            # Some curricula reach settings that their own data set refuses.
            refused[level] = f"curriculum invalid: {type(error).__name__}: {error}"[:MOST_WORDS]
            continue
        if changed not in settings.values():
            settings[level] = changed
    return Levels(settings or {0: {}}, refused)


def _settings(curriculum: Any) -> dict[str, Any]:
    """Return what differs from the defaults, as literals.

    Raises if the data set refuses it or it cannot be written down.
    """
    config = curriculum.generate_configuration({"size": 1, "seed": 0})
    if hasattr(config, "validate"):
        config.validate()
    plain = type(config)(size=1, seed=0)
    changed = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if getattr(config, field.name) != getattr(plain, field.name)
    }
    if ast.literal_eval(repr(changed)) != changed:
        raise ValueError("a setting is no literal")
    return changed


def _factory() -> Any:
    if importlib.util.find_spec(MODULE) is None:
        raise InputError("reasoning-gym is not installed; install it with: pip install 'evoenv[reasoning-gym]'")
    import reasoning_gym.factory

    return reasoning_gym.factory


def _some(factory: Any, near: str = "") -> str:
    names = sorted(factory.DATASETS)
    close = difflib.get_close_matches(near, names, n=3)
    return f"did you mean {' or '.join(close)}?" if close else f"it has {len(names)}, such as {', '.join(names[:5])}"
