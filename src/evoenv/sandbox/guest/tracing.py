"""Counterfactual runs of `_generate`: change one random draw, or one use of seed or difficulty, and look again.

If a changed run renders the same prompt but has another answer, the prompt does not determine the task:
the oracle used a value that the solver never sees. No source analysis can prove that; two runs do.

Every logical draw is numbered where it is made. Perturbing draw k changes that draw alone: the stream
behind it stays aligned, so that all other draws keep their values.
"""

from __future__ import annotations

import ast
import random
from typing import Any

SITE_FUNCTION = "__evoenv_argument__"


FIRST_DRAWS = 8
"""How many draws are kept: enough to tell one stream of random numbers from another."""


class Trace:
    """Which draw or which use of an argument to change in the run at hand."""

    def __init__(self) -> None:
        self.draws = 0
        self.sites = 0
        self.reset()

    def reset(self, draw: int = -1, site: int = -1, shift: int = 0) -> None:
        self.draws, self.draw, self.site, self.shift = 0, draw, site, shift
        self.first: list[str] = []

    def _hit(self, value: float) -> bool:
        self.draws += 1
        if self.draws <= FIRST_DRAWS:
            self.first.append(str(value))
        return self.draws - 1 == self.draw

    def below(self, value: int, n: int) -> int:
        if self._hit(value) and n > 1:
            return (value + 1 + self.shift % (n - 1)) % n
        return value

    def bits(self, value: int, k: int) -> int:
        if self._hit(value & 0xFFFF) and k > 0:
            return value ^ (1 << (self.shift % k))
        return value

    def real(self, value: float) -> float:
        # By a lot, or by so little that a prompt which rounds shows no difference but the oracle sees one.
        return (value + (1e-4 if self.shift else 0.382)) % 1.0 if self._hit(value) else value

    def argument(self, site: int, value: int) -> int:
        return value + 1 + self.shift if site == self.site else value

    def knobs(self, parameter: dict[str, Any]) -> dict[str, Any]:
        """Return an RLVE-Gym environment's knobs, one of which may be changed: its difficulty arrives this way."""
        whole = [key for key, value in parameter.items() if type(value) is int]
        self.sites = max(self.sites, len(whole))
        if 0 <= self.site < len(whole):
            parameter[whole[self.site]] += 1 + self.shift
        return parameter


TRACE = Trace()


class TracingRandom(random.Random):
    """`random.Random` with the same numbers, each of which can be changed alone."""

    def random(self) -> float:
        return TRACE.real(super().random())

    def getrandbits(self, k: int, /) -> int:
        return TRACE.bits(super().getrandbits(k), k)

    def _randbelow(self, n: int) -> int:
        # The same rejection loop as the base class, on the raw bits: a perturbed draw must not be rejected
        # and drawn again, which would shift every later number.
        draw, k = super().getrandbits, n.bit_length()
        value = draw(k)
        while value >= n:
            value = draw(k)
        return TRACE.below(value, n)


GLOBAL_FUNCTIONS = (
    "seed random uniform triangular randint choice randrange sample shuffle choices normalvariate lognormvariate "
    "expovariate vonmisesvariate gammavariate gauss betavariate paretovariate weibullvariate getstate setstate "
    "getrandbits randbytes"
).split()


def install() -> None:
    """Put the tracing generator in the place of `random.Random` and of the module's global functions."""
    shared = TracingRandom()
    random.Random = TracingRandom  # type: ignore[misc]
    random._inst = shared
    for name in GLOBAL_FUNCTIONS:
        setattr(random, name, getattr(shared, name))


class _ArgumentSites(ast.NodeTransformer):
    """Numbers every use of the seed and of the difficulty inside one `_generate`."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.names or not isinstance(node.ctx, ast.Load):
            return node
        call = ast.Call(
            func=ast.Name(id=SITE_FUNCTION, ctx=ast.Load()), args=[ast.Constant(value=TRACE.sites), node], keywords=[]
        )
        TRACE.sites += 1
        return ast.copy_location(call, node)


def mark_argument_sites(tree: ast.Module) -> ast.Module:
    """Rewrite each reading of `_generate`'s seed and difficulty into a traced call, in its helpers too."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    names = {
        argument.arg
        for node in functions
        if node.name == "_generate" and len(node.args.args) >= 3
        for argument in node.args.args[1:3]
    }
    marked: set[ast.FunctionDef] = set()
    for node in functions:
        own = names & {argument.arg for argument in node.args.args}
        inside = any(node in ast.walk(other) for other in marked)
        if own and not inside:
            marked.add(node)
            node.body = [_ArgumentSites(own).visit(statement) for statement in node.body]
    return ast.fix_missing_locations(tree)


def scope() -> dict[str, Any]:
    return {SITE_FUNCTION: TRACE.argument}
