"""Does the prompt show as many things as it says? Part of L4.

"You have 6 cards with numbers [3, 9, 1, 4, 4, 8, 2]" leaves open what to count. Such a figure is written into the
prompt where the size grows with the level: right at first, wrong from then on. Two readings are sure enough to refuse:

- the figure is the same in all instances, and is the number of things at one level and never at another;
- things are presented ("Here are 5 numbers: […]"), and at some level the number is never right.

Other figures before a list may count something else (nodes before edges, how many are to be chosen), and say nothing.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evoenv.admission.source_tree import parse_quietly
from evoenv.records import Finding
from evoenv.validation.codes import finding
from evoenv.validation.evidence import READ, Drawn

ENOUGH = 3
"""Instances of a level, at least, that must agree."""

_VALUES = r"(?:numbers|integers|values|labels|names|letters|words|strings|elements|items|digits)"
_STATED = re.compile(
    rf"""(?P<presents>\b(?:(?:here|there)\ (?:are|is)|you\ (?:have|are\ given|get)|given|consider)\s+(?:the\ )?)?
    (?<![\w.×*/^-])(?<!x\ )(?<!×\ )(?<!by\ )(?<!of\ )(?P<stated>[0-9]{{1,4}})
    \s+(?P<things>[a-z]+(?:\s[a-z]+){{0,2}}?)
    (?:\s(?:with|having|named|labelled|labeled)\s(?:the\s)?(?:following\s)?{_VALUES})?
    (?P<colon>:)?\s*(?=\[)""",
    re.IGNORECASE | re.VERBOSE,
)
_OTHERWISE = re.compile(
    r"\b(?:of|from|in|among|out|between|within|by|range|with|having|and|or|whose|as)\b", re.IGNORECASE
)
"""Words after which the list is of something else than what was counted."""
_BRACKET = re.compile(r"[\[\]]")
_CONSTANT = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.USub, ast.Load)
_ANOTHER = re.compile(r"[^.?!\n\[\]]{0,80}+\[|\s*+(?:,|;|and\b|or\b)?\s*+(?:[A-Za-z]\w*+\s*+[=:]\s*+)?\[")
"""A second list: in the same sentence, or at the beginning of the next line. Nothing is read twice: a prompt may be
20,000 spaces long."""
AT_MOST = 8
"""Figures before a bracket that are looked at: each may have to be read to the end of the prompt."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many things one instance says that it shows, and how many it shows."""

    stated: int
    shown: int
    presented: bool


def check_counts(drawn: Sequence[Drawn]) -> list[Finding]:
    """Report a figure before a list that cannot be the number of things in it."""
    found: defaultdict[str, defaultdict[int, list[tuple[Drawn, Count]]]] = defaultdict(lambda: defaultdict(list))
    instances: defaultdict[int, int] = defaultdict(int)
    for instance in drawn:
        instances[instance.difficulty] += 1
        for things, count in counts(instance.prompt).items():
            found[things][instance.difficulty].append((instance, count))
    for things, by_level in found.items():
        # What only some instances of a level show is no part of the template.
        whole = {level: row for level, row in by_level.items() if ENOUGH <= len(row) == instances[level]}
        wrong = [row for row in whole.values() if all(count.stated != count.shown for _, count in row)]
        if wrong and (_fixed_and_once_right(whole) or all(count.presented for row in wrong for _, count in row)):
            instance, count = wrong[0][0]
            seen = f"difficulty {instance.difficulty}, seed {instance.seed}: the prompt says {count.stated} {things}"
            return [finding("L4.count-contradicted", f"{seen} and shows {count.shown}", instance.replay)]
    return []


def _fixed_and_once_right(by_level: Mapping[int, Sequence[tuple[Drawn, Count]]]) -> bool:
    """Return whether all instances name the same number, and it is right in all of some level."""
    stated = {count.stated for row in by_level.values() for _, count in row}
    return len(stated) == 1 and any(all(count.stated == count.shown for _, count in row) for row in by_level.values())


def counts(prompt: str) -> dict[str, Count]:
    """Find the things that are counted right before they are listed, by their name; the first of each name."""
    found: dict[str, Count] = {}
    for match in itertools.islice(_STATED.finditer(prompt[:READ]), AT_MOST):
        things = match["things"]
        shown = listed(prompt[match.end() : READ])
        if shown is None or _OTHERWISE.search(things):
            continue
        presented = match["presents"] is not None and match["colon"] is not None
        found.setdefault(things, Count(int(match["stated"]), shown, presented))
    return found


def listed(text: str) -> int | None:
    """Count the elements of the list that the text begins with; None if it is not whole, or the first of several."""
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket[0] == "[" else -1
        if depth == 0:
            # What only looks like a list is none; a bracket in quotes ends it too early, and is left alone as well.
            tree = parse_quietly(text[: bracket.end()])
            shown = _elements(tree) if tree is not None else None
            return shown if not _ANOTHER.match(text, bracket.end()) else None
    return None


def _elements(tree: ast.Module) -> int | None:
    """Count the elements of a list of constants, cut short nowhere; None if it is anything else."""
    match tree.body:
        case [ast.Expr(ast.List(elements))]:
            parts = [part for element in elements for part in ast.walk(element)]
            plain = all(isinstance(part, _CONSTANT) for part in parts)
            cut = any(isinstance(part, ast.Constant) and part.value is ... for part in parts)
            return len(elements) if plain and not cut else None
        case _:
            return None
