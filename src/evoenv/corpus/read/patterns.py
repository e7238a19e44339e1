"""Match code against a part's template: same tree, slots and local names bound one to one.

Templates use upper-case names for slots. A knob (`SIZE`, `TOP`) stands for any arithmetic in `difficulty`, `LETTERS`
for any text; a parameter stands for a variable or an integer; every other name is local and may be renamed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

KNOB_SLOTS = frozenset({"SIZE", "TOP"})
TEXT_SLOTS = frozenset({"LETTERS"})
_ARGUMENTS = frozenset("y z a".split())
"""Fixed in scorers and parsers; in `_generate`, where they are no arguments, a slot may be called so."""
_FIXED = _ARGUMENTS | frozenset(
    "rng random math itertools Counter difficulty seed self max min sum len abs sorted range zip enumerate map int "
    "str list set tuple next all any bin chr ord pow float None True False ValueError".split()
)


@dataclass
class Binding:
    """What the slots stand for: variable names, or integers written as text."""

    slots: dict[str, str] = field(default_factory=dict)
    local: dict[str, str] = field(default_factory=dict)

    def bind_local(self, name: str, seen: str) -> bool:
        if name in _FIXED or seen in _FIXED:
            return name == seen
        if self.local.setdefault(name, seen) != seen:
            return False
        return sum(other == seen for other in self.local.values()) == 1

    def bind_slot(self, slot: str, seen: str) -> bool:
        return self.slots.setdefault(slot, seen) == seen


@lru_cache(maxsize=4096)
def statements(code: str) -> tuple[ast.stmt, ...]:
    """Return the statements of a template."""
    wrapped = "def template(self):\n" + "\n".join("    " + line for line in code.split("\n"))
    function = ast.parse(wrapped).body[0]
    assert isinstance(function, ast.FunctionDef)
    return tuple(function.body)


def match(code: str, body: Sequence[ast.stmt]) -> Binding | None:
    """Bind a template to exactly these statements; None if it does not fit."""
    template = statements(code)
    binding = Binding()
    if len(template) != len(body) or not _all(zip(template, body, strict=True), binding):
        return None
    taken = set(binding.slots.values())
    return None if taken & set(binding.local.values()) else binding


def is_knob(node: ast.AST) -> bool:
    """Return whether a node is arithmetic in `difficulty` and whole numbers alone."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Name):
        return node.id == "difficulty"
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Pow) and (
            is_knob(node.left) and is_knob(node.right)
        )
    return False


def _all(pairs: Iterable[tuple[ast.AST, ast.AST]], binding: Binding) -> bool:
    return all(_same(template, seen, binding) for template, seen in pairs)


def _same(template: ast.AST, seen: ast.AST, binding: Binding) -> bool:
    if isinstance(template, ast.Name) and template.id.isupper():
        return _same_slot(template.id, seen, binding)
    if type(template) is not type(seen):
        return False
    if isinstance(template, ast.Name) and isinstance(seen, ast.Name):
        return binding.bind_local(template.id, seen.id)
    if isinstance(template, ast.arg) and isinstance(seen, ast.arg):
        return binding.bind_local(template.arg, seen.arg)
    if isinstance(template, ast.Constant) and isinstance(seen, ast.Constant):
        if isinstance(template.value, str) and template.value.isupper() and isinstance(seen.value, str):
            return binding.bind_slot(template.value, seen.value)
        return type(template.value) is type(seen.value) and template.value == seen.value
    for name in template._fields:
        if name in ("ctx", "type_comment", "kind"):
            continue
        ours, theirs = getattr(template, name, None), getattr(seen, name, None)
        if isinstance(ours, list) and isinstance(theirs, list):
            if len(ours) != len(theirs) or not _all(zip(ours, theirs, strict=True), binding):
                return False
        elif isinstance(ours, ast.AST) and isinstance(theirs, ast.AST):
            if not _same(ours, theirs, binding):
                return False
        elif ours != theirs:
            return False
    return True


def _same_slot(slot: str, seen: ast.AST, binding: Binding) -> bool:
    if slot in KNOB_SLOTS:
        return is_knob(seen)
    if slot in TEXT_SLOTS:
        return isinstance(seen, ast.Constant) and isinstance(seen.value, str) and seen.value != "()"
    if isinstance(seen, ast.Name):
        return seen.id not in _FIXED - _ARGUMENTS and binding.bind_slot(slot, seen.id)
    if isinstance(seen, ast.Constant) and type(seen.value) is int:
        return binding.bind_slot(slot, str(seen.value))
    return False
