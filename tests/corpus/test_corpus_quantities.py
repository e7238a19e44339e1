"""What the parts compute, against independent brute force: other algorithms, straight from the words."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from evoenv.corpus import Author, worked_solution
from evoenv.corpus.catalogue.families import COMPUTATIONS, PAIRED
from evoenv.corpus.catalogue.parts import evaluate
from evoenv.corpus.compose.chains import run_chain, run_pieces
from evoenv.corpus.compose.screen import load

Slots = dict[str, Any]


def _subsets(items: list[int]) -> list[tuple[int, ...]]:
    return [chosen for size in range(len(items) + 1) for chosen in itertools.combinations(items, size)]


def _paths(rows: list[list[int]], i: int = 0, j: int = 0) -> list[int]:
    last = len(rows) - 1
    if (i, j) == (last, last):
        return [rows[i][j]]
    further = (_paths(rows, i + 1, j) if i < last else []) + (_paths(rows, i, j + 1) if j < last else [])
    return [rows[i][j] + rest for rest in further]


def _edits(s: str, t: str) -> int:
    if not s or not t:
        return len(s) + len(t)
    return min(_edits(s[1:], t[1:]) + (s[0] != t[0]), _edits(s[1:], t) + 1, _edits(s, t[1:]) + 1)


def _is_subsequence(short: tuple[str, ...], long: str) -> bool:
    letters = iter(long)
    return all(letter in letters for letter in short)


def _lead(row: tuple[int, ...]) -> int:
    return max(row[0] - _lead(row[1:]), row[-1] - _lead(row[:-1])) if row else 0


def _wins(n: int, moves: tuple[int, ...]) -> bool:
    return any(move <= n and not _wins(n - move, moves) for move in moves)


def _grundy(n: int, moves: tuple[int, ...]) -> int:
    reached = {_grundy(n - move, moves) for move in moves if move <= n}
    return next(value for value in itertools.count() if value not in reached)


def _nim_first_wins(heaps: tuple[int, ...]) -> bool:
    return any(not _nim_first_wins(after) for after in _nim_moves(heaps))


def _nim_moves(heaps: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(*heaps[:i], left, *heaps[i + 1 :]) for i, heap in enumerate(heaps) for left in range(heap)]


def _reachable(n: int, edges: list[tuple[int, int]], start: int) -> set[int]:
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for u, v in edges:
            for a, b in ((u, v), (v, u)):
                if a == here and b not in seen:
                    seen.add(b)
                    waiting.append(b)
    return seen


def _survivor(n: int, k: int) -> int:
    circle, place = list(range(n)), 0
    while len(circle) > 1:
        place = (place + k - 1) % len(circle)
        circle.pop(place)
    return circle[0]


def _remaining_brackets(text: str) -> int:
    while "()" in text:
        text = text.replace("()", "")
    return len(text)


def _covered(spans: list[list[int]]) -> int:
    return sum(any(left <= x and x + 1 <= right for left, right in spans) for x in range(100))


def _disjoint(spans: tuple[list[int], ...]) -> bool:
    return all(p[1] < q[0] or q[1] < p[0] for p, q in itertools.combinations(spans, 2))


def _longest(items: list[Any], fits: Callable[[Any], bool]) -> int:
    return max(size for size in range(len(items) + 1) for c in itertools.combinations(items, size) if fits(c))


def _coins(n: int, coins: tuple[int, ...]) -> list[tuple[int, ...]]:
    counts = [range(n // coin + 1) for coin in coins]
    return [c for c in itertools.product(*counts) if sum(a * b for a, b in zip(c, coins, strict=True)) == n]


BRUTE: dict[str, Callable[[Slots], Any]] = {
    "inversions": lambda s: sum(s["XS"][i] > s["XS"][j] for j in range(len(s["XS"])) for i in range(j)),
    "longest-increasing": lambda s: _longest(s["XS"], lambda c: all(a < b for a, b in itertools.pairwise(c))),
    "best-stretch": lambda s: max(
        sum(s["XS"][i:j]) for i in range(len(s["XS"])) for j in range(i + 1, len(s["XS"]) + 1)
    ),
    "apart-sum": lambda s: max(
        sum(s["XS"][i] for i in c)
        for c in _subsets(list(range(len(s["XS"]))))
        if all(b - a > 1 for a, b in itertools.pairwise(c))
    ),
    "subset-sums": lambda s: len({sum(c) for c in _subsets(s["XS"])}),
    "half-split": lambda s: "yes" if any(abs(sum(s["XS"]) - 2 * sum(c)) <= 1 for c in _subsets(s["XS"])) else "no",
    "ends-game": lambda s: _lead(tuple(s["XS"])),
    "nim-moves": lambda s: sum(not _nim_first_wins(after) for after in _nim_moves(tuple(s["XS"]))),
    "horner": lambda s: sum(v * s["K"] ** i for i, v in enumerate(reversed(s["XS"]))) % 97,
    "product-modulo": lambda s: math.prod(s["XS"]) % s["K"],
    "alternating-sum": lambda s: sum(v if i % 2 == 0 else -v for i, v in enumerate(s["XS"])),
    "next-greater": lambda s: [
        min([w for w in s["XS"][i + 1 :] if w > v][:1], default=0) for i, v in enumerate(s["XS"])
    ],
    "records": lambda s: len(set(itertools.accumulate(s["XS"], max))),
    "common-subsequence": lambda s: _longest(list(s["S"]), lambda c: _is_subsequence(c, s["T"])),
    "edit-distance": lambda s: _edits(s["S"], s["T"]),
    "palindromes": lambda s: sum(
        s["S"][i : j + 1] == "".join(reversed(s["S"][i : j + 1])) for j in range(len(s["S"])) for i in range(j + 1)
    ),
    "bracket-repairs": lambda s: _remaining_brackets(s["S"]),
    "gcd": lambda s: max(d for d in range(1, s["P"] + 1) if s["P"] % d == 0 and s["Q"] % d == 0),
    "lcm": lambda s: next(m for m in itertools.count(1) if m % s["P"] == 0 and m % s["Q"] == 0),
    "prime-factors": lambda s: next(
        list(c)
        for size in range(1, 8)
        for c in itertools.combinations_with_replacement(
            [p for p in range(2, 60) if all(p % d for d in range(2, p))], size
        )
        if math.prod(c) == s["N"]
    ),
    "power-modulo": lambda s: s["B"] ** s["E"] % s["M"],
    "stairs": lambda s: sum(
        sum(c) == s["N"] for size in range(s["N"] + 1) for c in itertools.product(range(1, s["K"] + 1), repeat=size)
    ),
    "coin-ways": lambda s: len(_coins(s["N"], (1, s["P"], s["Q"]))),
    "fewest-coins": lambda s: min(sum(c) for c in _coins(s["N"], (1, s["P"], s["Q"]))),
    "partitions": lambda s: len(_coins(s["N"], tuple(range(1, s["K"] + 1)))),
    "grid-paths": lambda s: sum(sum(c) == s["P"] for c in itertools.product((0, 1), repeat=s["P"] + s["Q"])),
    "take-away": lambda s: "yes" if _wins(s["N"], (s["P"], s["Q"])) else "no",
    "lost-heaps": lambda s: sum(not _wins(n, (1, s["P"], s["Q"])) for n in range(s["N"] + 1)),
    "grundy": lambda s: _grundy(s["N"], (1, s["P"], s["Q"])),
    "last-in-circle": lambda s: _survivor(s["N"], s["K"]),
    "components": lambda s: len({frozenset(_reachable(s["N"], s["EDGES"], v)) for v in range(s["N"])}),
    "reachable": lambda s: len(_reachable(s["N"], s["EDGES"], 0)),
    "covered-length": lambda s: _covered(s["SPANS"]),
    "most-overlap": lambda s: max(sum(left <= x <= right for left, right in s["SPANS"]) for x in range(100)),
    "most-disjoint": lambda s: _longest(s["SPANS"], _disjoint),
    "most-meetings": lambda s: _longest(s["SPANS"], _disjoint),
    "cheapest-path": lambda s: min(_paths(s["ROWS"])),
    "fullest-load": lambda s: max(sum(c) for c in _subsets(s["XS"]) if sum(c) <= s["C"]),
    "best-apart": lambda s: BRUTE["apart-sum"](s),
}
VALUE_OF: dict[str, Callable[[Any, Slots], Any]] = {
    "most-meetings": lambda answer, _: len(answer),
    "fullest-load": lambda answer, _: sum(answer),
    "best-apart": lambda answer, slots: sum(slots["XS"][i] for i in answer),
}
"""Where many answers are best, their values are compared."""

SMALL = {"N": (1, 9), "P": (1, 4), "Q": (2, 5), "K": (2, 3), "B": (2, 6), "E": (1, 6), "M": (2, 9), "C": (9, 20)}


def _random_slots(rng: random.Random, name: str) -> Slots:
    size, n = rng.randint(2, 6), rng.randint(3, 6)
    low = -6 if name in ("best-stretch", "alternating-sum", "inversions", "longest-increasing", "records") else 1
    top = 4 if name == "nim-moves" else 9
    slots: Slots = {slot: rng.randint(*ends) for slot, ends in SMALL.items()}
    if name == "prime-factors":
        slots["N"] = rng.randint(2, 58)
    slots["XS"] = [rng.randint(low, top) for _ in range(3 if name == "nim-moves" else size)]
    letters = "()" if name.startswith("bracket") else "abc"
    slots["S"], slots["T"] = ("".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(2))
    if "EDGES" in COMPUTATIONS[name].codes[0]:
        slots["N"] = n
        slots["EDGES"] = [e for e in itertools.combinations(range(n), 2) if rng.random() < 0.35]
    slots["SPANS"] = [sorted(rng.sample(range(14), 2)) for _ in range(size)]
    slots["ROWS"] = [[rng.randint(1, 9) for _ in range(size)] for _ in range(size)]
    return slots


@pytest.mark.parametrize("name", BRUTE)
def test_every_way_to_write_a_quantity_agrees_with_brute_force(name: str) -> None:
    rng = random.Random(name)
    part = COMPUTATIONS[name]
    for _ in range(25):
        slots = _random_slots(rng, name)
        for code in part.codes:
            computed, _ = evaluate(part, slots, code)
            assert VALUE_OF.get(name, lambda answer, _: answer)(computed, slots) == BRUTE[name](slots), slots


def test_alternative_codes_of_a_part_compute_the_same() -> None:
    rng = random.Random(0)
    several = [part for part in COMPUTATIONS.values() if len(part.codes) > 1]
    assert len(several) >= 5
    for part in several:
        for _ in range(20):
            slots = _random_slots(rng, part.name)
            results = [evaluate(part, slots, code)[0] for code in part.codes]
            assert all(result == results[0] for result in results), (part.name, slots)


@pytest.mark.parametrize("family", sorted(name for name in PAIRED if COMPUTATIONS[name].made_of))
def test_a_family_computes_what_the_steps_give_that_it_is_made_of(family: str) -> None:
    author = Author(2, "paired")
    for index in range(3):
        program = author.compose_family(family, index)
        environment = load(program.source)
        for seed in range(5):
            z, _ = environment._generate(seed, seed % 3)
            (step,) = (taken for taken in run_chain(program.parts, z) if taken.computation.name == family)
            pieces = run_pieces(step)
            assert [piece.computation.name for piece in pieces] == list(COMPUTATIONS[family].made_of)
            assert pieces[-1].value == step.value, z


def test_a_pairing_is_worked_step_by_step() -> None:
    program = next(p for i in range(99) if len((p := Author(0, "paired").compose_family("even-sum", i)).steps) == 1)
    z = {key: [4, 7, 2] for key in load(program.source)._generate(0, 0)[0]}
    expected = ["given: 4 7 2", "keep-even: 4 2", "sum: 4 6 = 6", "<answer>6</answer>"]
    assert worked_solution(program, z, 6, restate=True).split("\n") == expected


@pytest.mark.parametrize(
    ("name", "slots", "expected"),
    [
        ("middle", {"XS": [5, 1, 9, 7]}, 7),
        ("widest-gap", {"XS": [9, 1, 4]}, 5),
        ("ranks", {"XS": [3, 1, 3]}, [3, 1, 3]),
        ("run-length-code", {"S": "aabccc"}, "a2b1c3"),
        ("caesar", {"S": "xyz", "K": 2}, "zab"),
        ("swap-pairs", {"S": "abcde"}, "badce"),
        ("collatz-steps", {"N": 6}, 8),
        ("euclid-steps", {"P": 21, "Q": 13}, 6),
        ("totient", {"N": 12}, 4),
        ("sum-of-three", {"A": 0, "B": 1, "C": 1, "N": 6}, 13),
        ("weighted-recurrence", {"A": 1, "B": 3, "P": 3, "N": 3}, 21),
        ("two-remainders", {"P": 5, "Q": 4, "R": 3, "S": 1}, 13),
        ("subtree-sizes", {"PARENTS": [0, 0, 1, 1]}, [5, 3, 1, 1, 1]),
        ("depths", {"PARENTS": [0, 0, 1, 3]}, [0, 1, 1, 2, 3]),
        ("any-order", {"N": 3, "EDGES": [(2, 0), (0, 1)]}, [2, 0, 1]),
        ("any-path", {"N": 4, "EDGES": [(0, 1), (0, 2), (2, 3)]}, [0, 2, 3]),
        ("falls", {"XS": [5, 1, 9, 7]}, 2),
        ("valleys", {"XS": [5, 1, 9, 7, 8]}, 2),
        ("below-average", {"XS": [1, 1, 10]}, 2),
        ("bottom-sum", {"XS": [5, 1, 9, 7], "K": 2}, 6),
        ("second-smallest", {"XS": [5, 1, 1]}, 1),
        ("low-records", {"XS": [5, 7, 3, 3, 1]}, 3),
        ("running-minimum", {"XS": [5, 7, 3, 4]}, [5, 5, 3, 3]),
        ("losses", {"XS": [1, 5], "YS": [2, 5]}, 2),
        ("row-maxima", {"ROWS": [[1, 4], [3, 2]]}, [4, 3]),
        ("column-minima", {"ROWS": [[1, 4], [3, 2]]}, [1, 2]),
        ("column-maxima", {"ROWS": [[1, 4], [3, 2]]}, [3, 4]),
        ("can-jump", {"XS": [2, 8, 1, 5]}, "yes"),
        ("can-jump", {"XS": [1, 8, 1, 5]}, "no"),
    ],
)
def test_worked_by_hand(name: str, slots: Slots, expected: Any) -> None:
    assert evaluate(COMPUTATIONS[name], slots)[0] == expected
