"""Read `_generate` and the scorer back: match statements against the parts and follow the values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from evoenv.corpus.catalogue.domains import DOMAINS
from evoenv.corpus.catalogue.families import COMPUTATIONS
from evoenv.corpus.catalogue.parts import Computation
from evoenv.corpus.catalogue.scoring import FORMS, SCORERS
from evoenv.corpus.read.patterns import Binding, is_knob, match, statements


class Unreadable(Exception):
    """The source is not made of known parts; the message says where."""


@dataclass(frozen=True)
class ReadStep:
    """One computation with its parameters: constants as `3`; variables as their name, places as `{k}`."""

    name: str
    values: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        part = COMPUTATIONS[self.name]
        values = [self.values[slot] for slot in (*part.draws, *part.params) if slot in self.values]
        constants = [value for value in values if value.isdigit()]
        return f"{self.name}({', '.join(constants)})" if constants else self.name

    def pieces(self) -> tuple[ReadStep, ...]:
        """Split a step as code reads back: one that is spelled out becomes the steps it is made of."""
        part = COMPUTATIONS[self.name]
        if not part.spelled_out:
            return (self,)
        first, *rest = part.made_of
        return (ReadStep(first, self.values), *(ReadStep(name) for name in rest))


@dataclass(frozen=True)
class CodeReading:
    """What `_generate` does."""

    sampler: str
    steps: tuple[ReadStep, ...]
    roots: dict[str, str]
    """The variable of each slot that the first step starts from."""
    used: frozenset[str]
    """Variables that the answer depends on and that are drawn, not computed."""
    keys: dict[str, str]
    """The variable under each key of the instance."""
    gives: str
    verified: str | None
    """The computation whose answers are verified instead of compared, if it is one."""


@dataclass(frozen=True)
class _Value:
    """A variable's type, the computations that led to it and the drawn variables it depends on."""

    type: str
    steps: tuple[ReadStep, ...] = ()
    roots: Mapping[str, str] = field(default_factory=dict)
    used: frozenset[str] = frozenset()


def read_code(method: ast.FunctionDef) -> CodeReading:
    """Follow the values from the instance to the answer."""
    body = list(method.body)
    if not body or ast.unparse(body[0]) != "rng = random.Random(seed)":
        raise Unreadable("_generate does not start with rng = random.Random(seed)")
    keys, answer = _returned(body[-1])
    values: dict[str, _Value] = {}
    sampler: str | None = None
    position = 1
    while position < len(body) - 1:
        rest = body[position:-1]
        taken = 0
        if sampler is None and (reading := _read_sampler(rest)):
            taken, sampler, drawn = reading
            values |= drawn
        elif name := _read_draw(rest[0]):
            if name in values:
                raise Unreadable(f"{name} is drawn twice")
            taken, values[name] = 1, _Value("scalar", used=frozenset({name}))
        else:
            taken = _read_step(rest, values)
        if not taken:
            raise Unreadable(f"no part does {ast.unparse(rest[0])!r}")
        position += taken
    final = values.get(answer)
    if final is None or not final.steps:
        raise Unreadable(f"the answer {answer} is not computed by known parts")
    for key, name in keys.items():
        if name not in values or values[name].steps:
            raise Unreadable(f"the instance holds {name} under {key!r}, which is not as it was drawn")
    last = COMPUTATIONS[final.steps[-1].name]
    verified = last.name if last.check is not None else None
    return CodeReading(sampler or "scalars", final.steps, dict(final.roots), final.used, keys, last.gives, verified)


def _returned(statement: ast.stmt) -> tuple[dict[str, str], str]:
    """Return the instance's keys and variables, and the answer's variable."""
    value = statement.value if isinstance(statement, ast.Return) else None
    if not (isinstance(value, ast.Tuple) and len(value.elts) == 2):
        raise Unreadable("_generate does not end with return {...}, answer")
    instance, answer = value.elts
    if not isinstance(instance, ast.Dict) or not isinstance(answer, ast.Name):
        raise Unreadable("_generate returns something else than a dict of variables and a variable")
    keys: dict[str, str] = {}
    for key, item in zip(instance.keys, instance.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str) and isinstance(item, ast.Name)):
            raise Unreadable("the instance holds something else than variables")
        keys[key.value] = item.id
    return keys, answer.id


def _read_sampler(rest: Sequence[ast.stmt]) -> tuple[int, str, dict[str, _Value]] | None:
    """Return the longest sampler that the statements start with."""
    best: tuple[int, str, dict[str, _Value]] | None = None
    for domain in DOMAINS.values():
        for sampler in domain.samplers:
            count = len(statements(sampler.code))
            if count > len(rest) or (best and count <= best[0]):
                continue
            binding = match(sampler.code, rest[:count])
            if binding is None or any(binding.slots[slot].isdigit() for slot in domain.slots):
                continue
            names = {slot: binding.slots[slot] for slot in domain.slots}
            drawn = {name: _Value(domain.name, roots=names, used=frozenset({name})) for name in names.values()}
            best = count, f"{domain.name}/{sampler.name}", drawn
    return best


def _read_draw(statement: ast.stmt) -> str | None:
    """Return the variable of `name = rng.randint(low, high)`, or None if the statement is something else."""
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
        return None
    target, call = statement.targets[0], statement.value
    if not (isinstance(target, ast.Name) and isinstance(call, ast.Call) and len(call.args) == 2 and not call.keywords):
        return None
    return target.id if ast.unparse(call.func) == "rng.randint" and all(is_knob(end) for end in call.args) else None


def _read_step(rest: Sequence[ast.stmt], values: dict[str, _Value]) -> int:
    """Read one computation, longest first; record its value and return how many statements it took."""
    for part, code, count in _by_length():
        if count > len(rest):
            continue
        binding = match(code, rest[:count])
        if binding is None:
            continue
        value = _apply(part, binding, values)
        if value is not None and not values.keys() & set(binding.local.values()):
            values[binding.slots["OUT"]] = value
            return count
    return 0


@lru_cache(maxsize=1)
def _by_length() -> tuple[tuple[Computation, str, int], ...]:
    """List every way to write every computation, the longest first; what is spelled out is found piece by piece."""
    parts = [part for part in COMPUTATIONS.values() if not part.spelled_out]
    rows = [(part, code, len(statements(code))) for part in parts for code in part.codes]
    return tuple(sorted(rows, key=lambda row: -row[2]))


def _apply(part: Computation, binding: Binding, values: Mapping[str, _Value]) -> _Value | None:
    """Return the value that a matched computation gives, if its inputs have the right types."""
    slots = binding.slots
    used: set[str] = set()
    params = {slot: slots[slot] for slot in (*part.params, *part.draws) if slot in slots}
    for name in params.values():
        if not name.isdigit():
            if name not in values or values[name].type != "scalar":
                return None
            used.add(name)
    if part.takes == "scalars":
        return _Value(part.gives, (ReadStep(part.name, params),), {}, frozenset(used))
    wanted = DOMAINS[part.takes].slots if part.takes in DOMAINS else ("N",)
    inputs = {slot: slots[slot] for slot in wanted if slot in slots}
    sources = [values.get(name) for name in inputs.values()]
    first = sources[0]
    if first is None or any(source is None or source.type != part.takes for source in sources):
        return None
    roots = dict(first.roots)
    if not first.steps and any(roots.get(slot) != name for slot, name in inputs.items()):
        return None
    if not first.steps:
        params |= inputs
    used |= set().union(*(source.used for source in sources if source is not None))
    return _Value(part.gives, (*first.steps, ReadStep(part.name, params)), roots, frozenset(used))


# --------------------------------------------------------------------------- parser and scorer


def read_scorer(parser: ast.FunctionDef, scorer: ast.FunctionDef, keys: Mapping[str, str]) -> tuple[str, str]:
    """Return the scorer's name and the type of answer that the parser reads."""
    form = next((form.gives for form in FORMS.values() if match(form.parser, parser.body)), None)
    if form is None:
        raise Unreadable("_process is no known parser")
    for known in SCORERS:
        if any(match(code, scorer.body) for code in known.codes):
            return known.name, form
    for part in COMPUTATIONS.values():
        if part.check is not None and (binding := match(part.check, scorer.body)):
            wrong = [key for key in binding.slots.values() if keys and key not in keys]
            if wrong:
                raise Unreadable(f"the scorer looks for {wrong[0]!r}, which the instance does not hold")
            return f"verifies {part.name}", form
    raise Unreadable("the scorer is none of the known ones")
