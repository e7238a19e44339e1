"""L1: there is Python, it parses, it holds one environment class, and it uses only what environments need.

Static and cheap. A quality filter, not a boundary: what slips through meets the sandbox.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from evoenv.admission.source_tree import parse_source
from evoenv.records import Dialect, Finding
from evoenv.sandbox.guest.dialects import METHODS, dialect_of
from evoenv.sandbox.imports import DEFAULT_IMPORTS
from evoenv.validation.codes import finding

CONTRACT_IMPORTS = (
    "evoenv",
    "evoenv.environment",
    "evoenv.environment.base",
    "Gym.environment",
    "Gym.parameter_controller",
)
MAX_SOURCE_BYTES = 256 * 1024

FORBIDDEN_NAMES = frozenset(
    "eval exec compile open input __import__ globals locals vars breakpoint exit quit help memoryview "
    "__builtins__ __loader__ __spec__ copyright credits license".split()
)
NEVER_BOUND = frozenset("eval exec compile __import__ __builtins__".split())
"""Not excused even if the source rebinds them."""
HARMLESS_DUNDERS = frozenset(
    "__init__ __name__ __doc__ __len__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __str__ __repr__ __iter__ "
    "__next__ __contains__ __getitem__ __setitem__ __add__ __sub__ __mul__ __mod__ __floordiv__ __neg__ __bool__ "
    "__call__ __int__ __float__ __index__ __abs__ __and__ __or__ __xor__ __post_init__ __slots__ __future__ __all__ "
    "__annotations__ __main__".split()
)


@dataclass(frozen=True)
class SourceFacts:
    """What the source says about itself, without running it."""

    class_name: str | None = None
    dialect: Dialect | None = None


def check_source(source: str, allowed_imports: tuple[str, ...] = DEFAULT_IMPORTS) -> tuple[SourceFacts, list[Finding]]:
    """Return the class and dialect of a source, and every finding of the layer."""
    if not source.strip():
        return SourceFacts(), [finding("L1.no-code", "the source is empty; expected one environment class")]
    size = len(source.encode("utf-8", "replace"))
    if size > MAX_SOURCE_BYTES:
        return SourceFacts(), [
            finding("L1.too-large", f"the source has {size:,} bytes; the limit is {MAX_SOURCE_BYTES:,}")
        ]
    try:
        tree = parse_source(source)
    except SyntaxError as error:
        return SourceFacts(), [finding("L1.syntax", f"line {error.lineno}: {error.msg}")]
    except (MemoryError, RecursionError):
        return SourceFacts(), [finding("L1.syntax", "the source is nested too deeply for Python to parse")]
    except ValueError as error:  # NUL bytes
        return SourceFacts(), [finding("L1.syntax", f"the source is not valid Python text: {error}")]
    if not tree.body:
        return SourceFacts(), [finding("L1.no-code", "the source holds only comments; expected one environment class")]
    facts, findings = check_class(tree)
    findings += check_imports(tree, allowed_imports)
    findings += check_names(tree)
    return facts, findings


# --------------------------------------------------------------------------- the class


def _ancestry(cls: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """Return the class and its ancestors in the same file, each once, nearest first."""
    seen = {cls.name: cls}
    waiting = [cls]
    while waiting:
        for base in waiting.pop().bases:
            if isinstance(base, ast.Name) and base.id in classes and base.id not in seen:
                seen[base.id] = classes[base.id]
                waiting.append(classes[base.id])
    return list(seen.values())


def _methods(cls: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> dict[str, ast.FunctionDef]:
    """Collect the class's methods by name, those of base classes in the same file included."""
    methods: dict[str, ast.FunctionDef] = {}
    for ancestor in _ancestry(cls, classes):
        for node in ancestor.body:
            if isinstance(node, ast.FunctionDef):
                methods.setdefault(node.name, node)
    return methods


def _base_names(cls: ast.ClassDef) -> set[str]:
    names = {base.id for base in cls.bases if isinstance(base, ast.Name)}
    return names | {base.attr for base in cls.bases if isinstance(base, ast.Attribute)}


MAX_CLASSES = 200
"""More would take minutes to look through, base class by base class."""


def _looks_like_one(cls: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> bool:
    """Return whether a class derives from VerifiableEnvironment, or has two of the methods of one."""
    if any("VerifiableEnvironment" in _base_names(ancestor) for ancestor in _ancestry(cls, classes)):
        return True
    return len(_methods(cls, classes).keys() & set(METHODS)) >= 2


def _is_abstract(method: ast.FunctionDef) -> bool:
    names = {
        getattr(node, "id", getattr(node, "attr", ""))
        for decorator in method.decorator_list
        for node in ast.walk(decorator)
    }
    return "abstractmethod" in names


def check_class(tree: ast.Module) -> tuple[SourceFacts, list[Finding]]:
    """Check that there is exactly one environment class with all methods, in one of the three dialects."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if len(classes) > MAX_CLASSES:
        message = f"found {len(classes)} classes; expected one environment class with at most a few others"
        return SourceFacts(), [finding("L1.several-classes", message)]
    parents = {name for cls in classes.values() for name in _base_names(cls) & classes.keys()}
    environments = [
        cls
        for name, cls in classes.items()
        if name not in parents and name != "VerifiableEnvironment" and _looks_like_one(cls, classes)
    ]
    if not environments:
        seen = f"found the classes {', '.join(sorted(classes)[:5])}" if classes else "found no class"
        return SourceFacts(), [finding("L1.no-class", f"{seen}; expected one with the methods {', '.join(METHODS)}")]
    if len(environments) > 1:
        names = ", ".join(cls.name for cls in environments[:5])
        message = f"found {len(environments)} environment classes ({names}); expected one"
        return SourceFacts(environments[0].name), [finding("L1.several-classes", message)]
    cls = environments[0]
    methods = _methods(cls, classes)
    missing = [method for method in METHODS if method not in methods or _is_abstract(methods[method])]
    if missing:
        findings = [finding("L1.missing-method", f"{cls.name} has no method {method}") for method in missing]
        return SourceFacts(cls.name), findings
    dialect = recognise_statically(methods)
    if dialect is None:
        shapes = ", ".join(f"{name}({', '.join(_argument_names(methods[name]))})" for name in METHODS)
        return SourceFacts(cls.name), [finding("L1.signature", f"{cls.name} has {shapes}")]
    return SourceFacts(cls.name, dialect), []


def _argument_names(method: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in method.args.posonlyargs + method.args.args]


def _positional_range(method: ast.FunctionDef) -> tuple[int, float]:
    """Return the fewest and the most arguments that fit, `self` not counted (static methods have none)."""
    static = any(isinstance(node, ast.Name) and node.id == "staticmethod" for node in method.decorator_list)
    count = len(_argument_names(method)) - (0 if static else 1)
    fewest = max(0, count - len(method.args.defaults))
    return fewest, float("inf") if method.args.vararg else max(0, count)


def recognise_statically(methods: dict[str, ast.FunctionDef]) -> Dialect | None:
    """Recognise the dialect by signatures: the same rule that the worker applies to the loaded class."""
    return dialect_of({name: _positional_range(methods[name]) for name in METHODS})


# --------------------------------------------------------------------------- imports and names


def _imports(tree: ast.Module) -> Iterator[tuple[int, str, tuple[str, ...], int]]:
    """Yield (line, module, imported names, relative level) of every import statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, (), 0
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "", tuple(alias.name for alias in node.names), node.level


def check_imports(tree: ast.Module, allowed: tuple[str, ...]) -> list[Finding]:
    findings: list[Finding] = []
    for line, module, names, level in _imports(tree):
        if level and module in ("environment", "parameter_controller"):
            continue
        if module in CONTRACT_IMPORTS or module == "__future__":
            continue
        if level or module.partition(".")[0] not in allowed:
            findings.append(finding("L1.import", f"line {line}: imports {'.' * level}{module}"))
        for name in names:
            if _is_inside(module, name):
                findings.append(finding("L1.private-access", f"line {line}: imports {module}.{name}"))
    return findings


def _imported_modules(tree: ast.Module) -> set[str]:
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return bound


def _bound_names(tree: ast.Module) -> set[str]:
    """Collect the names that the source binds itself: a variable called `open` or `input` is not the builtin."""
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
    return bound


def _is_inside(module: str, name: str) -> bool:
    """Return whether a module's attribute is not one of its public names: `random._os`, `typing.sys`."""
    known = module in DEFAULT_IMPORTS and (module, name) != ("collections", "abc")
    borrowed = known and name in sys.stdlib_module_names and name != module
    return name.startswith("_") or borrowed


def _is_dunder(name: str) -> bool:
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def check_names(tree: ast.Module) -> list[Finding]:
    """Report names and attributes that no environment needs, one finding for each occurrence."""
    modules = _imported_modules(tree)
    forbidden = FORBIDDEN_NAMES - (_bound_names(tree) - NEVER_BOUND)
    findings: list[Finding] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if node.id in forbidden:
                findings.append(finding("L1.forbidden-name", f"line {node.lineno}: uses {node.id}"))
            elif _is_dunder(node.id) and node.id not in HARMLESS_DUNDERS:
                findings.append(finding("L1.dunder", f"line {node.lineno}: uses {node.id}"))
        elif isinstance(node, ast.Attribute):
            if _is_dunder(node.attr):
                if node.attr not in HARMLESS_DUNDERS:
                    findings.append(finding("L1.dunder", f"line {node.lineno}: reaches for .{node.attr}"))
            elif isinstance(node.value, ast.Name) and node.value.id in modules and _is_inside(node.value.id, node.attr):
                findings.append(
                    finding("L1.private-access", f"line {node.lineno}: reaches for {node.value.id}.{node.attr}")
                )
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and _is_dunder(node.value) and node.value not in HARMLESS_DUNDERS:
                findings.append(finding("L1.dunder", f"line {node.lineno}: spells out {node.value!r}"))
        elif isinstance(node, ast.MatchClass):
            findings += [
                finding("L1.dunder", f"line {node.lineno}: matches the attribute {name}")
                for name in node.kwd_attrs
                if _is_dunder(name)
            ]
    return findings
