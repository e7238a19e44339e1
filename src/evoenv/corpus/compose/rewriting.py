"""Edit a source in one place and leave every other character as it is."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Sequence

LONGEST_LITERAL = 240
"""Most templates stay on one line: a small model writes one literal more reliably than several."""


def text_literal(pieces: Sequence[str]) -> str:
    """Write a template as one text literal, or as one for each sentence if it is very long."""
    whole = _quoted("".join(pieces))
    if len(whole) <= LONGEST_LITERAL:
        return whole
    return "(\n" + "".join(f"        {_quoted(piece)}\n" for piece in pieces) + "    )"


def _quoted(text: str) -> str:
    return '"' + text.replace("\n", "\\n") + '"'


def template_of(source: str) -> str:
    node = _template_node(ast.parse(source))
    assert isinstance(node.value, ast.Constant)
    return str(node.value.value)


def with_template(source: str, pieces: Sequence[str]) -> str:
    """Give a source another prompt template, passed as sentences with their separators."""
    node = _template_node(ast.parse(source))
    return _with_lines(source, node, [f"    prompt_template = {text_literal(pieces)}"])


def _template_node(tree: ast.Module) -> ast.Assign:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "prompt_template":
            return node
    raise ValueError("the source has no prompt_template")


def method_of(source: str, name: str) -> ast.FunctionDef:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise ValueError(f"the source has no method {name}")


def with_body(source: str, name: str, code: str) -> str:
    """Give a method another body."""
    method = method_of(source, name)
    lines = source.split("\n")
    new = ["        " + line for line in code.split("\n")]
    return "\n".join([*lines[: method.body[0].lineno - 1], *new, *lines[method.end_lineno :]])


def with_statements(source: str, old: Sequence[ast.stmt], code: str) -> str:
    """Put other code in the place of consecutive statements of a method."""
    lines = source.split("\n")
    new = ["        " + line for line in code.split("\n")]
    return "\n".join([*lines[: old[0].lineno - 1], *new, *lines[old[-1].end_lineno :]])


def _with_lines(source: str, node: ast.stmt, new: list[str]) -> str:
    lines = source.split("\n")
    return "\n".join([*lines[: node.lineno - 1], *new, *lines[node.end_lineno :]])


# --------------------------------------------------------------------------- small wrong changes of code

Change = Callable[[ast.AST], ast.AST | None]
"""A changed copy of a node, or None if the change does not apply."""


def off_by_one(node: ast.AST) -> ast.AST | None:
    """Increment a small integer literal."""
    if isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value <= 2:
        return ast.Constant(node.value + 1)
    return None


_OTHER_OPERATOR: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
}
_OTHER_FUNCTION = {"max": "min", "min": "max", "all": "any", "any": "all"}


def other_operator(node: ast.AST) -> ast.AST | None:
    """Return a neighbouring operator or function: < for <=, - for +, min for max."""
    if type(node) in _OTHER_OPERATOR:
        return _OTHER_OPERATOR[type(node)]()
    if isinstance(node, ast.Name) and node.id in _OTHER_FUNCTION:
        return ast.Name(_OTHER_FUNCTION[node.id], ctx=ast.Load())
    return None


class _ChangeOne(ast.NodeTransformer):
    def __init__(self, change: Change, number: int) -> None:
        self.change, self.left = change, number

    def generic_visit(self, node: ast.AST) -> ast.AST:
        changed = self.change(node)
        if changed is not None:
            self.left -= 1
            if self.left == -1:
                return changed
        return super().generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self.generic_visit(node)


def changed_statements(
    source: str, change: Change, rng: random.Random, first: int, limit: int = 6
) -> list[tuple[str, str, str]]:
    """Change one node of `_generate` at a time, from statement `first` on; return (source, before, after) of each.

    Programs with a loop of no known end are left alone: a change could make it run for ever.
    """
    results: list[tuple[str, str, str]] = []
    method = method_of(source, "_generate")
    if any(isinstance(node, ast.While) for node in ast.walk(method)):
        return results
    for statement in method.body[first:-1]:
        before = ast.unparse(statement)
        count = sum(change(node) is not None for node in ast.walk(statement))
        for number in range(count):
            after = ast.unparse(_ChangeOne(change, number).visit(ast.parse(before).body[0]))
            if after != before:
                results.append((with_statements(source, [statement], after), before, after))
    rng.shuffle(results)
    return results[:limit]
