"""What kind of task an environment sets, as a set of tags, and how many kinds a run has reached.

A tag is given if one of its words stands in what the environment says of its task (the prompt template without its
fields, the name of its class, the first sentence of the class's docstring), or if one of its marks stands in the code
(a name that is used, a module that is imported, a shape of the syntax tree). Marks are only what tells the task: how an
oracle works (bit masks, sets, queues) or how instances are drawn (shuffling) says nothing about it. The rules are few
and blunt on purpose: they compare runs, they do not judge environments. `RULES` is the documentation; docs/tags.md is
made from it.

A *tag prototype* is registered whenever an environment's tags have Jaccard similarity below 0.5 to those of
every prototype so far, in order of admission; their number is a lower bound on the distinct families.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evoenv.admission.source_tree import parse_quietly

PROTOTYPE_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class Rule:
    """Words are matched from a word's start in the lower-case text; marks are exact."""

    tag: str
    words: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


RULES: tuple[Rule, ...] = (
    Rule("arithmetic", ("add up", "product of", "multiply", "sum of", "evaluate")),
    Rule("array", ("array", "list of", "elements")),
    Rule("binary-search", ("binary search",), ("import:bisect",)),
    Rule("bitwise", ("xor", "bitwise", "bits", "binary representation")),
    Rule(
        "combinatorics",
        ("binomial", "combinations", "arrangements"),
        ("name:comb", "name:combinations", "name:factorial"),
    ),
    Rule("counting", ("count", "how many", "number of")),
    Rule("cycle", ("cycle", "circular", "cyclic")),
    Rule("decision", ("yes or no", "who wins", "true or false", "determine whether", "is it possible")),
    Rule("digits", ("digit",)),
    Rule("distance", ("distance", "apart")),
    Rule(
        "dynamic-programming",
        ("knapsack", "longest common", "edit distance"),
        ("name:dp", "name:lru_cache", "name:memo"),
    ),
    Rule("feasibility", ("satisf", "find any", "any valid", "such that", "any of them", "add up to exactly")),
    Rule("game", ("game", "player", "optimal play", "optimally", "winner")),
    Rule("geometry", ("triangle", "rectangle", "polygon", "coordinate", "distance between", "points")),
    Rule("graph", ("graph", "edge", "vertex", "vertices", "node"), ("name:adj", "name:graph")),
    Rule("greedy-queue", ("priority",), ("import:heapq",)),
    Rule("grid", ("grid", "matrix", "board", "row and column")),
    Rule("interval", ("interval", "segment", "overlap")),
    Rule("logic", ("knight", "liar", "truth", "statement", "boolean")),
    Rule("maximisation", ("maxim", "the largest", "the greatest", "longest", "as large as", "as many as")),
    Rule("minimisation", ("minim", "the smallest", "fewest", "shortest", "as small as", "as few as")),
    Rule("modular", ("modulo", " mod ", "remainder"), ("name:MOD", "name:mod", "name:modulus")),
    Rule(
        "number-theory",
        ("prime", "divisor", "divisible", "gcd", "greatest common", "coprime", "factor"),
        ("name:gcd", "name:lcm"),
    ),
    Rule("pair", ("pair", "matching", "couple")),
    Rule("partition", ("partition", "split into", "divide into")),
    Rule("path", ("path", "route", "walk from", "reach")),
    Rule("permutation", ("permutation", "rearrange"), ("name:permutations",)),
    Rule("recurrence", ("recurrence", "fibonacci", "a[n]", "f(n")),
    Rule("recursion", ("recursive", "f(m, n)"), ("shape:recursion",)),
    Rule("sampling", ("probability", "expected", "random")),
    Rule("sequence", ("sequence", "subsequence", "consecutive", "contiguous")),
    Rule("set", ("set of", "union", "intersection", "distinct")),
    Rule("simulation", ("simulate", "after each", "operations", "instructions", "steps")),
    Rule("sorting", ("sort", "ascending", "descending", "increasing order", "decreasing order")),
    Rule("stack", ("stack", "bracket", "parenthes")),
    Rule("string", ("string", "characters", "letters", "palindrome", "substring", "word")),
    Rule("subset", ("subset", "choose items", "pick items", "select")),
    Rule("traversal", ("traversal", "breadth", "depth-first"), ("name:bfs", "name:dfs")),
    Rule("tree", ("tree", "root", "leaf", "ancestor")),
    Rule("window", ("window", "subarray")),
)

_FIELD = re.compile(r"\{[^{}]{0,80}\}")
"""A template's field: `{count}` is the name of a value, not a word of the task."""
_NEXT_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")

_PATTERNS = [
    (rule, re.compile("|".join(rf"(?<![a-z]){re.escape(word.strip())}" for word in rule.words)) if rule.words else None)
    for rule in RULES
]


def tags_of(template: str, source: str) -> frozenset[str]:
    """Tag one environment by its prompt template and its code; code that does not parse adds nothing."""
    tree = parse_quietly(source)
    said = f"{_FIELD.sub(' ', template)} {_self_description(tree)}"
    text = " ".join(said.lower().split())
    marks = _marks(tree)
    return frozenset(
        rule.tag
        for rule, pattern in _PATTERNS
        if (pattern is not None and pattern.search(text)) or not marks.isdisjoint(rule.marks)
    )


def _self_description(tree: ast.Module | None) -> str:
    """Return the words of the class's name and the first sentence of its docstring."""
    parts: list[str] = []
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.ClassDef):
            parts.append(_NEXT_WORD.sub(" ", node.name))
            parts.append(_SENTENCE_END.split(ast.get_docstring(node) or "", maxsplit=1)[0])
    return " ".join(parts)


def _marks(tree: ast.Module | None) -> set[str]:
    if tree is None:
        return set()
    marks: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                marks.add(f"name:{name}")
            case ast.Import(names=names):
                marks.update(f"import:{item.name}" for item in names)
            case ast.ImportFrom(module=str(module)):
                marks.add(f"import:{module}")
            case ast.FunctionDef(name=name) if _calls(node, name):
                marks.add("shape:recursion")
    return marks


def _calls(function: ast.FunctionDef, name: str) -> bool:
    """Return whether the function calls its own name, plainly or as a method."""
    return any(
        isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id == name)
            or (isinstance(node.func, ast.Attribute) and node.func.attr == name)
        )
        for node in ast.walk(function)
    )


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Compute the share of what both have in what either has; two empty sets are the same set."""
    union = len(left | right)
    return len(left & right) / union if union else 1.0


def seed_distance(tags: frozenset[str], seeds: Iterable[frozenset[str]]) -> float | None:
    """Compute the paper's d_seed: the Jaccard distance to the nearest original environment; None if there is none."""
    return min((1.0 - jaccard(tags, other) for other in seeds), default=None)


def is_prototype(tags: frozenset[str], prototypes: Sequence[frozenset[str]]) -> bool:
    return all(jaccard(tags, other) < PROTOTYPE_THRESHOLD for other in prototypes)


def prototypes_of(tag_sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return the prototypes of a stream of environments in order of admission."""
    prototypes: list[frozenset[str]] = []
    for tags in tag_sets:
        if is_prototype(tags, prototypes):
            prototypes.append(tags)
    return prototypes
