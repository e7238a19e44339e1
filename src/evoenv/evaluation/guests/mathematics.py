"""Symbolic equivalence by math-verify, inside a sandbox worker. A runtime for `Sandbox(runtime=…)`.

sympy hangs, grows and recurses on what models write: here that ends a worker, never an evaluation. All that sympy
imports lazily is imported before the file system is given up.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

math_verify: Any = importlib.import_module("math_verify")
sympy: Any = importlib.import_module("sympy")
clear_cache: Any = importlib.import_module("sympy.core.cache").clear_cache

NOT_NEEDED = frozenset(
    "algebras benchmarks categories codegen conftest crypto deprecated diffgeom external galgebra holonomic "
    "interactive liealgebras parsing physics plotting printing sandbox stats testing tests this unify vector".split()
)
DEPRECATED = frozenset(
    "sympy.core.compatibility sympy.core.trace sympy.utilities.pytest sympy.utilities.randtest "
    "sympy.utilities.runtests sympy.utilities.tmpfiles".split()
)
SAMPLES = (
    (r"\frac{1}{2}", "0.5"),
    (r"x^2+2x+1", r"(x+1)^2"),
    (r"\{1,2\}", r"\{2,1\}"),
    (r"[0,1)", r"(0,1)"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
    (r"x<5", r"(-\infty,5)"),
    (r"\sin(x)", r"\cos(x)"),
    (r"\int_0^1 x dx", r"\sum_{i=1}^{3} i"),
    (r"28\%", "28"),
)
DELIMITED = re.compile(r"\$|\\\(|\\\[|\\begin\{(?:align|equation|gather)")


def import_lazy_parts(package: Any, prefix: str = "sympy.") -> None:
    """Import every module that comparing answers may ask for; areas that it never needs are not looked into."""
    for module in pkgutil.iter_modules(package.__path__, prefix):
        name = module.name
        if name in DEPRECATED or name.endswith("_doc") or name.rpartition(".")[2] in NOT_NEEDED:
            continue
        found = importlib.import_module(name)
        if module.ispkg:
            import_lazy_parts(found, f"{name}.")


def parsed(text: str) -> list[Any]:
    """Parse a text as mathematics: between dollars, unless it brings its own delimiters or that says nothing."""
    forms = [text] if DELIMITED.search(text) else [f"${text}$", text]
    found: list[Any] = []
    for form in forms:
        found = math_verify.parse(form, parsing_timeout=None)
        if any(not isinstance(value, str) for value in found):
            break
    return found


def equivalent(reference: str, answer: str) -> bool:
    right = parsed(reference)
    given = parsed(answer)
    return bool(right and given and math_verify.verify(right, given, timeout_seconds=None))


class Runtime:
    def handle(self, op: str, args: dict[str, Any], items: list[Any]) -> Iterator[Any]:
        if op == "load":
            yield ["ok", {}]
            return
        for reference, answer in items:
            try:
                result: list[Any] = ["ok", equivalent(reference, answer)]
            except BaseException as error:
                result = ["err", type(error).__name__, str(error)[:400], None]
            # What was cached for one answer must not decide how much memory the next one has.
            clear_cache()
            yield result


logging.disable(logging.CRITICAL)
import_lazy_parts(sympy)
for pair in SAMPLES:
    equivalent(*pair)
