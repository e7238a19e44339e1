"""Tasks with many right answers: the scorer verifies conditions, or compares with the best possible value."""

from __future__ import annotations

from typing import Any

from evoenv.corpus.catalogue.parts import Computation


def search(name: str, takes: str, gives: str, code: str, check: str, *sentences: str, **options: Any) -> Computation:
    return Computation(name, "feasibility", takes, gives, (code,), sentences, check=check, **options)


SEARCHES: tuple[Computation, ...] = (
    search(
        "any-divisor",
        "composite",
        "int",
        "OUT = next(v for v in range(N - 1, 1, -1) if N % v == 0)",
        'v = self._process(y)\nreturn float(v is not None and 1 < v < z["N"] and z["N"] % v == 0)',
        "Find a divisor of {N} that is greater than 1 and less than {N}.",
        "Give any integer strictly between 1 and {N} that divides {N}.",
    ),
    search(
        "any-square-root",
        "square-mod",
        "int",
        "OUT = next(v for v in range(M) if v * v % M == R)",
        'v = self._process(y)\nreturn float(v is not None and 0 <= v < z["M"] and v * v % z["M"] == z["R"])',
        "Find an integer v with 0 <= v < {M} whose square leaves remainder {R} modulo {M}.",
        "Give any v from 0 up to but not including {M} such that v * v = {R} modulo {M}.",
        trail="[v * v % M for v in range(OUT + 1)]",
    ),
    search(
        "any-pair",
        "pair-sum",
        "ints",
        "OUT = next([v, w] for v, w in itertools.combinations(XS, 2) if v + w == T)",
        "v = self._process(y)\nif v is None or len(v) != 2 or v[0] == v[1]:\n    return 0.0\n"
        'return float(set(v) <= set(z["XS"]) and sum(v) == z["T"])',
        "Find two different numbers of the list with sum {T}.",
        "Choose two different numbers from the list that add up to {T}.",
        trail="[T - v for v in XS]",
    ),
    search(
        "any-two-squares",
        "two-squares",
        "ints",
        "OUT = next([v, w] for v in range(1, N) for w in range(1, N) if v * v + w * w == N)",
        "v = self._process(y)\nif v is None or len(v) != 2 or min(v) < 1:\n    return 0.0\n"
        'return float(v[0] * v[0] + v[1] * v[1] == z["N"])',
        "Find two positive integers whose squares add up to {N}.",
        "Write {N} as a sum of two squares and give the two positive integers that are squared.",
    ),
    search(
        "any-combination",
        "combination",
        "ints",
        "OUT = next([v, (T - P * v) // Q] for v in range(T) if (T - P * v) % Q == 0)",
        "v = self._process(y)\nif v is None or len(v) != 2 or min(v) < 0:\n    return 0.0\n"
        'return float(z["P"] * v[0] + z["Q"] * v[1] == z["T"])',
        "Find integers x >= 0 and y >= 0, in this order, with {P} * x + {Q} * y = {T}.",
        "How many pieces of size {P} and how many of size {Q} make {T} in all, in one possible way?",
        trail="[(T - P * v) % Q for v in range(OUT[0] + 1)]",
    ),
    search(
        "any-order",
        "dag",
        "ints",
        "OUT = []\nwhile len(OUT) < N:\n"
        "    free = [v for v in range(N) if all(u in OUT for u, w in EDGES if w == v)]\n"
        "    OUT.append(next(v for v in free if v not in OUT))",
        'v = self._process(y)\nif v is None or sorted(v) != list(range(z["N"])):\n    return 0.0\n'
        'return float(all(v.index(p) < v.index(q) for p, q in z["EDGES"]))',
        "Put all tasks into an order that respects every pair.",
        "Give a possible order of all tasks.",
    ),
    search(
        "any-path",
        "connected",
        "ints",
        "OUT = [N - 1]\nwhile OUT[0]:\n    OUT = [u for u, v in EDGES if v == OUT[0]] + OUT",
        'v = self._process(y)\nif not v or v[0] != 0 or v[-1] != z["N"] - 1:\n    return 0.0\n'
        'return float(all((min(e), max(e)) in z["EDGES"] for e in zip(v, v[1:])))',
        "Find a path from vertex 0 to the vertex with the largest number and list its vertices.",
        "List the vertices on a way along edges that starts at vertex 0 and ends at the last vertex.",
    ),
    search(
        "fullest-load",
        "budget",
        "ints",
        "loads = {0: []}\nfor v in XS:\n"
        "    loads = {u + v: c + [v] for u, c in loads.items() if u + v <= C} | loads\nOUT = loads[max(loads)]",
        'v = self._process(y)\nif not v or Counter(v) - Counter(z["XS"]) or sum(v) > z["C"]:\n    return 0.0\n'
        "return sum(v) / sum(a)",
        "Choose items, each at most once, with a total of at most {C} that is as large as possible.",
        "Fill a box of size {C} as far as possible with some of the items and list those used.",
    ),
    search(
        "best-apart",
        "ints",
        "ints",
        "skip, take = [], []\nfor i, v in enumerate(XS):\n"
        "    skip, take = max(skip, take, key=lambda c: sum(XS[j] for j in c)), skip + [i]\n"
        "OUT = max(skip, take, key=lambda c: sum(XS[j] for j in c))",
        'v = self._process(y)\nif not v or v[0] < 0 or v[-1] >= len(z["XS"]):\n    return 0.0\n'
        "if any(q - p < 2 for p, q in zip(v, v[1:])):\n    return 0.0\n"
        'return sum(z["XS"][i] for i in v) / sum(z["XS"][i] for i in a)',
        "Choose positions, counted from 0 and listed in increasing order, of which no two are neighbours,"
        " with the largest sum of numbers.",
        "Give positions from 0 on, increasing and never adjacent, whose numbers have the greatest possible total.",
        needs=frozenset({"positive"}),
    ),
    search(
        "most-meetings",
        "spans",
        "ints",
        "OUT, end = [], -1\nfor i in sorted(range(len(SPANS)), key=lambda i: SPANS[i][1]):\n"
        "    if SPANS[i][0] > end:\n        OUT, end = OUT + [i], SPANS[i][1]",
        'v = self._process(y)\nif not v or len(set(v)) < len(v) or not set(v) <= set(range(len(z["SPANS"]))):\n'
        "    return 0.0\n"
        'row = sorted(z["SPANS"][i] for i in v)\nif any(q[0] <= p[1] for p, q in zip(row, row[1:])):\n    return 0.0\n'
        "return len(v) / len(a)",
        "Choose as many intervals as possible of which no two share a point, ends included,"
        " and list their positions from 0.",
        "Give the positions, counted from 0, of a largest set of intervals without common points, ends included.",
    ),
)
