"""The rule that no test asserts an absolute time, as a reader of test sources.

It follows what a clock said through simple assignments and through functions of the same file, and finds every
`assert` and `if` that compares it with a number. `test_boundaries.py` applies it to all tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

CLOCKS = frozenset(
    name + unit
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
    for unit in ("", "_ns")
) | {"times"}
CLOCK_MODULES = frozenset({"time", "os"})
DURATIONS = frozenset({"seconds", "cpu_seconds", "cpu_s", "elapsed", "elapsed_s", "duration", "ru_utime", "ru_stime"})
"""Attributes and keys under which records say how long something took: our own, and the system's."""
ADVICE = (
    "got an assertion on elapsed time, which a slow or busy machine fails; expected work that is counted (calls in "
    "tests/effort.py, or rows, bytes, requests) or compared with a cost measured beside it (assert_costs_at_most, "
    "assert_linear). Where it only means that nothing hangs, use HANG_S of tests/effort.py, which must be ten times "
    "what is usual: timeout=HANG_S, becomes_true(...), or `< HANG_S`"
)


def elapsed_time_asserted(source: str) -> list[tuple[int, str]]:
    """Return the line and text of every comparison of elapsed time with a number, other than with HANG_S."""
    tree = ast.parse(source)
    reader = _Reader(tree)
    return [
        (node.lineno, ast.unparse(node))
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Assert | ast.If)
        for node in ast.walk(statement.test)
        if isinstance(node, ast.Compare | ast.Call) and reader.is_absolute(node)
    ]


class _Reader:
    """Knows which names of a file hold a time, and which a number."""

    def __init__(self, tree: ast.Module) -> None:
        self._clocks = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module in CLOCK_MODULES
            for alias in node.names
            if alias.name in CLOCKS
        }
        self._numbers: set[str] = set()
        self._times: set[tuple[ast.AST, str]] = set()
        self._functions: set[str] = set()
        self._scope_of: dict[ast.AST, tuple[ast.AST, ...]] = {}
        self._mark_scopes(tree, (tree,))
        for node in tree.body:
            for target, value in _assignments(node):
                if isinstance(target, ast.Name) and _is_number(value):
                    self._numbers.add(target.id)
        while self._follow(tree):
            pass

    def _mark_scopes(self, node: ast.AST, scopes: tuple[ast.AST, ...]) -> None:
        self._scope_of[node] = scopes
        inner = (*scopes, node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) else scopes
        for child in ast.iter_child_nodes(node):
            self._mark_scopes(child, inner)

    def _follow(self, tree: ast.Module) -> bool:
        """Take note of one more step of every time on its way; False where nothing is new."""
        known = len(self._times) + len(self._functions)
        for node in ast.walk(tree):
            for target, value in _assignments(node):
                if self._is_time(value):
                    scope = self._scope_of[node][-1]
                    self._times |= {(scope, name) for name in _bound(target)}
            if isinstance(node, ast.Return) and node.value is not None and self._is_time(node.value):
                self._functions.add(getattr(self._scope_of[node][-1], "name", ""))
        return len(self._times) + len(self._functions) > known

    def _is_time(self, expression: ast.AST) -> bool:
        return any(self._holds_time(node) for node in ast.walk(expression))

    def _holds_time(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                return function.value.id in CLOCK_MODULES and function.attr in CLOCKS
            return isinstance(function, ast.Name) and function.id in self._clocks | self._functions
        if isinstance(node, ast.Name):
            return any((scope, node.id) in self._times for scope in self._scope_of[node])
        if isinstance(node, ast.Attribute):
            return node.attr in DURATIONS and isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Subscript):
            return isinstance(node.slice, ast.Constant) and node.slice.value in DURATIONS
        return False

    def is_absolute(self, node: ast.Compare | ast.Call) -> bool:
        """Whether a time meets a number here: which is greater, or whether they are about the same.

        Equality is something else: a duration that was put in comes out again.
        """
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            about = any(_is_about(part) for comparator in node.comparators for part in ast.walk(comparator))
            if not about and not any(isinstance(sign, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for sign in node.ops):
                return False
        elif _is_about(node):
            parts = list(node.args)
        else:
            return False
        return any(map(self._is_time, parts)) and any(map(self._has_number, parts))

    def _has_number(self, expression: ast.AST) -> bool:
        """Other than 0: a literal, a constant by its name (not one of its attributes), or a deadline."""
        owners = {node.value for node in ast.walk(expression) if isinstance(node, ast.Attribute)}
        return any(
            (_is_number(node) and ast.unparse(node) not in ("0", "0.0"))
            or (isinstance(node, ast.Name) and node not in owners and self._is_constant(node.id))
            or (isinstance(node, ast.Name) and self._is_deadline(node))
            for node in ast.walk(expression)
        )

    def _is_constant(self, name: str) -> bool:
        return name in self._numbers or (name.isupper() and name != "HANG_S")

    def _is_deadline(self, name: ast.Name) -> bool:
        """A time to which a number was added, as in `deadline = time.monotonic() + 5`."""
        function = self._scope_of[name][-1]
        return any(
            isinstance(target, ast.Name) and target.id == name.id and self._is_time(value) and self._adds_number(value)
            for node in ast.walk(function)
            for target, value in _assignments(node)
        )

    def _adds_number(self, value: ast.AST) -> bool:
        return any(
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Add)
            and any(
                _is_number(part) or (isinstance(part, ast.Name) and self._is_constant(part.id))
                for part in (node.left, node.right)
            )
            for node in ast.walk(value)
        )


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value


def _bound(target: ast.expr) -> Iterator[str]:
    """Return the names that an assignment gives a value; `self` in `self.began` is not one."""
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_about(node: ast.AST) -> bool:
    """Return whether a node is a call of `approx`, `isclose` or the like."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("approx", "isclose", "allclose")
