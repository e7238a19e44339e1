"""The consistency oracle: read an environment back into parts, and compare what it asks with what it computes.

Prompts and code are composed from the same parts, so that "the prompt asks for what the code computes" is a fact that
needs no judge, wherever both can be read. The code is read by matching statements against the parts' templates and
following values from the instance to the answer; the words by looking up each sentence. What cannot be read is `None`,
never a guess.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from evoenv.admission.source_tree import parse_quietly
from evoenv.corpus.catalogue.families import COMPUTATIONS
from evoenv.corpus.catalogue.parts import Part
from evoenv.corpus.compose.chains import run_chain
from evoenv.corpus.read.code import CodeReading, Unreadable, read_code, read_scorer
from evoenv.corpus.read.words import WordReading, read_words


@dataclass(frozen=True, slots=True)
class Reading:
    """A source read back into parts; a field is None if it could not be read."""

    sampler: str | None = None
    quantity: tuple[str, ...] | None = None
    """What the code computes, with constants: `("square", "top-sum(3)")`."""
    wording: tuple[str, ...] | None = None
    """What the prompt asks for, in the same terms."""
    scorer: str | None = None
    consistent: bool | None = None
    """Whether the prompt asks for what the code computes; None if either cannot be read."""
    fault: str = ""
    """What kind of inconsistency it is, in a word or two: "another quantity", "hidden value"."""
    reason: str = ""
    """Why it is inconsistent or could not be read."""


@dataclass
class _Pieces:
    """The parts of a class that carry meaning."""

    name: str
    template: str
    methods: dict[str, ast.FunctionDef] = field(default_factory=dict)


def read_environment(source: str) -> Reading:
    """Read a source back into parts. Never raises."""
    try:
        return _read(_take_apart(source))
    except Unreadable as reason:
        return Reading(reason=str(reason))
    except RecursionError:
        return Reading(reason="the source is nested too deeply")


def _read(pieces: _Pieces) -> Reading:
    reasons: list[str] = []
    code: CodeReading | None = None
    words: WordReading | None = None
    scorer: str | None = None
    form, shown = "", None
    try:
        code = read_code(pieces.methods["_generate"])
    except Unreadable as reason:
        reasons.append(f"code: {reason}")
    try:
        words = read_words(pieces.template)
    except Unreadable as reason:
        reasons.append(f"words: {reason}")
    try:
        keys = code.keys if code else {}
        scorer, form = read_scorer(pieces.methods["_process"], pieces.methods["scorer"], keys)
        shown = _shown(pieces.methods["_prompt_generate"])
    except Unreadable as reason:
        reasons.append(f"scorer or rendering: {reason}")
    reading = Reading(
        sampler=code.sampler if code else None,
        quantity=tuple(str(step) for step in code.steps) if code else None,
        wording=tuple(str(piece) for step in words.steps for piece in step.pieces()) if words else None,
        scorer=scorer,
        reason="; ".join(reasons),
    )
    if code is None or words is None or reasons:
        return reading
    fault, difference = _compare(code, words, scorer or "", form, shown) or ("", "")
    return replace(reading, consistent=not fault, fault=fault, reason=difference)


def _compare(
    code: CodeReading, words: WordReading, scorer: str, form: str, shown: Mapping[str, str] | None
) -> tuple[str, str] | None:
    """Say what the prompt gets wrong about the code: the kind of fault, and the fault itself."""
    steps = [piece for step in words.steps for piece in step.pieces()]
    asked, computed = [step.name for step in steps], [step.name for step in code.steps]
    if asked != computed:
        said = f"the prompt asks for {' then '.join(asked)}; the code computes {' then '.join(computed)}"
        return "another quantity", said
    variable = {}  # what a place in the template shows, as a variable of _generate
    for place in words.places:
        key = place if shown is None else shown.get(place, "")
        if key not in code.keys:
            return "missing value", f"the prompt shows {{{place}}}, which the instance does not hold"
        variable[place] = code.keys[key]
    for mine, theirs in zip(steps, code.steps, strict=True):
        for slot, value in mine.values.items():
            meant = variable[value[1:-1]] if value.startswith("{") else value
            if theirs.values.get(slot, meant) != meant:
                said = f"{theirs.name}: the prompt says {value} where the code uses {theirs.values[slot]}"
                return "another constant", said
    for slot, place in words.intro.items():
        if code.roots.get(slot) != variable[place]:
            return "another start", f"the prompt shows {{{place}}} as the start, not what the code starts from"
    hidden = set(code.used) - {variable[place] for place in words.places}
    if hidden:
        return "hidden value", f"the prompt never shows {', '.join(sorted(hidden))}"
    if words.form != form:
        return "another form of answer", f"the prompt asks for an answer of type {words.form}; the parser reads {form}"
    if form != code.gives:
        return "another form of answer", f"the parser reads {form}; the code computes {code.gives}"
    verified = scorer.removeprefix("verifies ") if scorer.startswith("verifies ") else None
    if code.verified != verified:
        return "another scorer", f"the scorer is {scorer!r}; the code computes {computed[-1]}"
    return None


def combination(source: str) -> tuple[str, ...]:
    """Return the names of a program's parts without constants, to tell new combinations; empty if unreadable."""
    reading = read_environment(source)
    if reading.sampler is None or reading.quantity is None or reading.scorer is None:
        return ()
    names = (re.sub(r"\(.*\)", "", step) for step in reading.quantity)
    return (reading.sampler, *names, reading.scorer)


# --------------------------------------------------------------------------- by running what the words say

LARGEST_NUMBER, LONGEST_LIST = 100_000, 200
"""Instances beyond these are not run: what the words say may take for ever on them."""
MOST_LINES = 1_000_000
"""Lines of code after which an instance is given up: small numbers may ask for much work, too."""


class _TooLong(Exception):
    """More work than an instance is worth."""


def _bounded(work: Callable[[], Any]) -> Any:
    """Return what `work` returns; raise _TooLong if it runs too many lines.

    Lines are counted, not seconds: the answer must not depend on the machine.
    """
    left = MOST_LINES

    def count(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise _TooLong
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        return work()
    finally:
        sys.settrace(before)


def agrees(source: str, instances: Iterable[tuple[Mapping[str, Any], Any]]) -> bool | None:
    """Return whether the references are what the words ask for, found by computing that for each instance (z, a).

    This needs no reading of the code, so it also works if `read_environment` cannot. None if the words cannot be read,
    if many answers are right, or if an instance is too much work.
    """
    try:
        pieces = _take_apart(source)
        words = read_words(pieces.template)
        shown = _shown(pieces.methods["_prompt_generate"])
    except (Unreadable, RecursionError):
        return None
    if COMPUTATIONS[words.steps[-1].name].check is not None:
        return None
    key = {place: place if shown is None else shown.get(place, "") for place in words.places}
    parts = [Part("sampler", "", tuple((slot, key[place]) for slot, place in words.intro.items()))]
    for step in words.steps:
        values = tuple((s, f"{{{key[v[1:-1]]}}}" if v.startswith("{") else v) for s, v in step.values.items())
        parts.append(Part("step", step.name, values))
    tried = 0
    for z, a in instances:
        if not _is_small(z):
            return None
        try:
            if _bounded(partial(_asked_for, parts, dict(z))) != a:
                return False
        except _TooLong:
            return None
        except Exception:  # the words do not fit the instance: a word instead of a list, a missing value
            return False
        tried += 1
    return True if tried else None


def _asked_for(parts: Sequence[Part], z: dict[str, Any]) -> Any:
    return run_chain(parts, z)[-1].value


def _is_small(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_is_small(item) for item in value.values())
    if isinstance(value, list | tuple | str):
        return len(value) <= LONGEST_LIST and (isinstance(value, str) or all(_is_small(item) for item in value))
    return not isinstance(value, int | float) or abs(value) <= LARGEST_NUMBER


# --------------------------------------------------------------------------- the class


def _take_apart(source: str) -> _Pieces:
    tree = parse_quietly(source)
    if tree is None:
        raise Unreadable("the source does not parse")
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if len(classes) != 1:
        raise Unreadable(f"there are {len(classes)} classes; expected one")
    pieces = _Pieces(classes[0].name, "")
    for node in classes[0].body:
        if isinstance(node, ast.FunctionDef):
            node.body = _without_docstring(node.body)
            pieces.methods[node.name] = node
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "prompt_template":
            pieces.template = str(node.value.value) if isinstance(node.value, ast.Constant) else ""
    wanted = {
        "_generate": ["self", "seed", "difficulty"],
        "_prompt_generate": ["self", "z"],
        "_process": ["self", "y"],
        "scorer": ["self", "y", "z", "a"],
    }
    for name, arguments in wanted.items():
        if name not in pieces.methods:
            raise Unreadable(f"there is no method {name}")
        if [argument.arg for argument in pieces.methods[name].args.args] != arguments:
            raise Unreadable(f"{name} has other arguments than {', '.join(arguments)}")
    if set(pieces.methods) != set(wanted):
        raise Unreadable(f"there are other methods: {', '.join(sorted(set(pieces.methods) - set(wanted)))}")
    if not pieces.template:
        raise Unreadable("there is no text called prompt_template")
    return pieces


def _shown(method: ast.FunctionDef) -> dict[str, str] | None:
    """Map each place of the template to the key of the instance it shows; None if each key shows itself (`**z`)."""
    body = method.body
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "self.prompt_template.format" and not call.args):
        raise Unreadable("_prompt_generate does more than fill the template")
    if len(call.keywords) == 1 and call.keywords[0].arg is None:
        if ast.unparse(call.keywords[0].value) != "z":
            raise Unreadable("the template is filled with something else than z")
        return None
    shown: dict[str, str] = {}
    for keyword in call.keywords:
        text = ast.unparse(keyword.value)
        match = re.fullmatch(r"z\['(\w+)'\]|'[, ]+'\.join\(map\(str, z\['(\w+)'\]\)\)", text)
        if keyword.arg is None or not match:
            raise Unreadable(f"the template is filled with {text}")
        shown[keyword.arg] = match.group(1) or match.group(2)
    return shown


# --------------------------------------------------------------------------- what is a copy


def normalised(source: str) -> str:
    """Strip a source of names, comments and layout: equal for copies that only rename; empty if unparsable."""
    tree = parse_quietly(source)
    if tree is None:
        return ""
    names: dict[str, str] = {}
    for node in ast.walk(tree):  # variables that are assigned anywhere, and the class
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id, f"v{len(names)}")
        elif isinstance(node, ast.ClassDef):
            names.setdefault(node.name, "C")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.body = _without_docstring(node.body)
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.ClassDef):
            node.name = "C"
        elif isinstance(node, ast.keyword) and node.arg:
            node.arg = names.get(node.arg, node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = names.get(node.value, node.value)
            node.value = re.sub(r"\{(\w+)\}", lambda match: f"{{{names.get(match.group(1), match.group(1))}}}", text)
    return ast.dump(tree)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    kept = [node for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    return kept or body


def corpus_index(sources: Iterable[str]) -> frozenset[str]:
    """Normalise the sources of a corpus, for `is_verbatim` to look in."""
    return frozenset(normalised(source) for source in sources)


def is_verbatim(source: str, index: frozenset[str]) -> bool:
    """Return whether a source is, up to names and layout, one of the corpus."""
    return normalised(source) in index
