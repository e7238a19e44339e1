"""Computations on a few single numbers: number theory, modular arithmetic, recurrences, counting, games.

Their slots are drawn one by one, so their sentences show every value and no introduction is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evoenv.corpus.catalogue.parts import Computation, texts


def numbers(
    name: str,
    area: str,
    draws: Mapping[str, tuple[int, str]],
    code: str | Iterable[str],
    *sentences: str,
    **options: Any,
) -> Computation:
    options = {"takes": "scalars", "gives": "int", **options}
    takes, gives = options.pop("takes"), options.pop("gives")
    return Computation(name, area, takes, gives, texts(code), sentences, draws=draws, **options)


def touch(name: str, code: str, *sentences: str, **options: Any) -> Computation:
    """Make a computation that is a last touch on a resulting number."""
    return Computation(name, "arithmetic", "int", "int", (code,), sentences, last=True, **options)


_THEORY, _MODULAR, _RECURRENCE = "number theory", "modular arithmetic", "recurrences"

TOUCHES: tuple[Computation, ...] = (
    touch(
        "modulo",
        "OUT = N % K",
        "Reduce the result modulo {K}.",
        "Give the remainder of the result on division by {K}.",
        params={"K": (5, 12)},
        needs=frozenset({"unsigned"}),
    ),
    touch("plus", "OUT = N + K", "Add {K} to the result.", "Increase the result by {K}.", params={"K": (2, 20)}),
    touch("minus", "OUT = N - K", "Subtract {K} from the result.", "Lower the result by {K}.", params={"K": (2, 9)}),
    touch("times", "OUT = K * N", "Multiply the result by {K}.", "Give {K} times the result.", params={"K": (2, 6)}),
    touch("squared", "OUT = N * N", "Square the result.", "Multiply the result by itself."),
    touch(
        "digit-total",
        "OUT = sum(map(int, str(N)))",
        "Give the sum of the digits of the result.",
        "Add up the digits of the result.",
        needs=frozenset({"unsigned", "big"}),
    ),
)

SCALARS: tuple[Computation, ...] = (
    numbers(
        "gcd",
        _THEORY,
        {"P": (4, "12 + 6 * difficulty"), "Q": (4, "12 + 6 * difficulty")},
        "OUT = math.gcd(P, Q)",
        "Find the greatest common divisor of {P} and {Q}.",
        "What is the largest integer that divides both {P} and {Q}?",
    ),
    numbers(
        "lcm",
        _THEORY,
        {"P": (2, "9 + 3 * difficulty"), "Q": (2, "9 + 3 * difficulty")},
        "OUT = P * Q // math.gcd(P, Q)",
        "Find the least common multiple of {P} and {Q}.",
        "What is the smallest positive integer that both {P} and {Q} divide?",
        trail="[P * Q, math.gcd(P, Q)]",
    ),
    numbers(
        "euclid-steps",
        _THEORY,
        {"P": (4, "15 + 9 * difficulty"), "Q": (3, "12 + 9 * difficulty")},
        "OUT, u, v = 0, P, Q\nwhile v:\n    OUT, u, v = OUT + 1, v, u % v",
        "Start with ({P}, {Q}) and replace (u, v) by (v, u mod v) until v is 0: how many replacements are made?",
        "How many divisions does Euclid's algorithm make for the pair ({P}, {Q})?",
    ),
    numbers(
        "divisor-count",
        _THEORY,
        {"N": (6, "20 + 15 * difficulty")},
        "OUT = sum(N % v == 0 for v in range(1, N + 1))",
        "How many positive divisors does {N} have?",
        "Count the positive integers that divide {N}.",
        trail="[v for v in range(1, N + 1) if N % v == 0]",
    ),
    numbers(
        "divisor-sum",
        _THEORY,
        {"N": (6, "20 + 10 * difficulty")},
        "OUT = sum(v for v in range(1, N + 1) if N % v == 0)",
        "Add up the positive divisors of {N}.",
        "Find the sum of all positive integers that divide {N}.",
        trail="[v for v in range(1, N + 1) if N % v == 0]",
    ),
    numbers(
        "divisors",
        _THEORY,
        {"N": (6, "20 + 10 * difficulty")},
        "OUT = [v for v in range(1, N + 1) if N % v == 0]",
        "List the positive divisors of {N} in increasing order.",
        "Write down all positive integers that divide {N}, smallest first.",
        gives="ints",
        adds=frozenset({"positive", "distinct"}),
        least=2,
    ),
    numbers(
        "prime-factors",
        _THEORY,
        {"N": (8, "24 + 12 * difficulty")},
        "OUT, n, v = [], N, 2\nwhile n > 1:\n    if n % v:\n        v += 1\n    else:\n"
        "        OUT.append(v)\n        n //= v",
        "List the prime factors of {N} in increasing order, repeated ones repeatedly.",
        "Write {N} as a product of primes and list them, smallest first.",
        gives="ints",
        adds=frozenset({"positive", "short"}),
    ),
    numbers(
        "totient",
        _THEORY,
        {"N": (5, "15 + 8 * difficulty")},
        "OUT = sum(math.gcd(v, N) == 1 for v in range(1, N + 1))",
        "How many integers from 1 to {N} have no common divisor with {N} except 1?",
        "Count the positive integers up to {N} that are coprime to {N}.",
        trail="[v for v in range(1, N + 1) if math.gcd(v, N) == 1]",
    ),
    numbers(
        "prime-count",
        _THEORY,
        {"N": (6, "20 + 10 * difficulty")},
        "OUT = sum(all(v % u for u in range(2, v)) for v in range(2, N + 1))",
        "How many prime numbers are at most {N}?",
        "Count the primes from 2 to {N}.",
        trail="[v for v in range(2, N + 1) if all(v % u for u in range(2, v))]",
    ),
    numbers(
        "multiples-of-either",
        _THEORY,
        {"N": (10, "20 + 15 * difficulty"), "P": (2, "5 + difficulty"), "Q": (2, "5 + difficulty")},
        "OUT = sum(v % P == 0 or v % Q == 0 for v in range(1, N + 1))",
        "How many integers from 1 to {N} are divisible by {P} or by {Q}?",
        "Count the positive integers up to {N} that {P} or {Q} divides.",
        trail="[v for v in range(1, N + 1) if v % P == 0 or v % Q == 0]",
    ),
    numbers(
        "digits",
        _THEORY,
        {"N": (100, "999 * (difficulty + 1) ** 3")},
        "OUT = [int(c) for c in str(N)]",
        "List the digits of {N} from left to right.",
        "Write the decimal digits of {N} as a list.",
        gives="ints",
        least=3,
        needs=frozenset({"inner"}),
    ),
    numbers(
        "binary",
        _THEORY,
        {"N": (5, "15 + 10 * difficulty")},
        "OUT = bin(N)[2:]",
        "Write {N} in binary, without leading zeros.",
        "What is the base-2 form of {N}?",
        gives="word",
        needs=frozenset({"final"}),
    ),
    numbers(
        "bit-count",
        _THEORY,
        {"N": (5, "20 + 20 * difficulty")},
        'OUT = bin(N).count("1")',
        "How many ones does {N} have in binary?",
        "Count the digits 1 in the base-2 form of {N}.",
        trail="[int(c) for c in bin(N)[2:]]",
    ),
    numbers(
        "collatz-steps",
        _RECURRENCE,
        {"N": (3, "12 + 4 * difficulty")},
        "OUT, v = 0, N\nwhile v > 1:\n    OUT, v = OUT + 1, v // 2 if v % 2 == 0 else 3 * v + 1",
        "Start with {N}; halve an even number, replace an odd number v by 3 * v + 1: how many steps until 1?",
        "How many Collatz steps lead from {N} to 1?",
    ),
    numbers(
        "power-modulo",
        _MODULAR,
        {"B": (2, "5 + difficulty"), "E": (2, "3 + 2 * difficulty"), "M": (5, "9 + 3 * difficulty")},
        ("OUT = pow(B, E, M)", "OUT = 1\nfor _ in range(E):\n    OUT = OUT * B % M"),
        "Find {B} to the power {E}, modulo {M}.",
        "What remainder does {B} ** {E} leave on division by {M}?",
        trail="[pow(B, v, M) for v in range(1, E + 1)]",
    ),
    numbers(
        "affine-modulo",
        _MODULAR,
        {
            "A": (2, "6 + difficulty"),
            "X": (2, "6 + 2 * difficulty"),
            "B": (1, "9 + difficulty"),
            "M": (5, "9 + 4 * difficulty"),
        },
        "OUT = (A * X + B) % M",
        "Find ({A} * {X} + {B}) modulo {M}.",
        "What is the remainder of {A} * {X} + {B} on division by {M}?",
        trail="[A * X, A * X + B]",
    ),
    numbers(
        "congruence",
        _MODULAR,
        {},
        "OUT = next(v for v in range(M) if A * v % M == B)",
        "Find the smallest v >= 0 for which {A} * v leaves remainder {B} modulo {M}.",
        "What is the least non-negative integer v with {A} * v = {B} modulo {M}?",
        takes="congruence",
        trail="[A * v % M for v in range(OUT + 1)]",
    ),
    numbers(
        "two-remainders",
        _MODULAR,
        {},
        "OUT = next(v for v in range(P * Q) if v % P == R and v % Q == S)",
        "Find the smallest v >= 0 with v = {R} modulo {P} and v = {S} modulo {Q}.",
        "What is the least non-negative integer that leaves remainder {R} on division by {P}"
        " and remainder {S} on division by {Q}?",
        takes="residues",
        trail="[v for v in range(R, OUT + 1, P)]",
    ),
    numbers(
        "affine-steps",
        _RECURRENCE,
        {"X": (1, "5 + difficulty"), "P": (2, "3"), "Q": (1, "5 + difficulty"), "N": (2, "2 + difficulty")},
        "OUT = X\nfor _ in range(N):\n    OUT = P * OUT + Q",
        "Start with {X} and do this {N} times: multiply by {P}, then add {Q}.",
        "Let x = {X} and replace x by {P} * x + {Q} again and again, {N} times: what is x?",
        trail="list(itertools.accumulate(range(N), lambda v, _: P * v + Q, initial=X))[1:]",
    ),
    numbers(
        "sum-of-two",
        _RECURRENCE,
        {"A": (1, "5 + difficulty"), "B": (1, "5 + difficulty"), "N": (2, "3 + 2 * difficulty")},
        "u, v = A, B\nfor _ in range(N):\n    u, v = v, u + v\nOUT = u",
        "A sequence has the terms number 0 and 1 equal to {A} and {B},"
        " and every later term is the sum of the two before it: find term number {N}.",
        "With f(0) = {A}, f(1) = {B} and f(n) = f(n - 1) + f(n - 2), what is f({N})?",
    ),
    numbers(
        "weighted-recurrence",
        _RECURRENCE,
        {"A": (1, "3 + difficulty"), "B": (1, "3 + difficulty"), "P": (2, "3"), "N": (2, "2 + difficulty")},
        "u, v = A, B\nfor _ in range(N):\n    u, v = v, P * v - u\nOUT = u",
        "With f(0) = {A}, f(1) = {B} and f(n) = {P} * f(n - 1) - f(n - 2), what is f({N})?",
        "Terms number 0 and 1 are {A} and {B}, and each later term is {P} times the one before"
        " minus the one before that: find term number {N}.",
        adds=frozenset({"signed"}),
    ),
    numbers(
        "sum-of-three",
        _RECURRENCE,
        {
            "A": (0, "2 + difficulty"),
            "B": (1, "3 + difficulty"),
            "C": (1, "4 + difficulty"),
            "N": (3, "4 + difficulty"),
        },
        "u, v, w = A, B, C\nfor _ in range(N):\n    u, v, w = v, w, u + v + w\nOUT = u",
        "With f(0) = {A}, f(1) = {B}, f(2) = {C} and f(n) = f(n - 1) + f(n - 2) + f(n - 3), what is f({N})?",
        "A sequence starts with term number 0, then 1 and 2, equal to {A}, {B}, {C},"
        " and every later term is the sum of the three before it: find term number {N}.",
    ),
    numbers(
        "square-map",
        _RECURRENCE,
        {
            "X": (2, "5 + difficulty"),
            "C": (1, "5 + difficulty"),
            "M": (7, "15 + 5 * difficulty"),
            "N": (2, "2 + difficulty"),
        },
        "OUT = X\nfor _ in range(N):\n    OUT = (OUT * OUT + C) % M",
        "Start with {X} and do this {N} times: square, add {C}, reduce modulo {M}.",
        "Let x = {X} and replace x by (x * x + {C}) mod {M}, {N} times in all: what is x?",
        trail="list(itertools.accumulate(range(N), lambda v, _: (v * v + C) % M, initial=X))[1:]",
    ),
    numbers(
        "half-or-more",
        _RECURRENCE,
        {"X": (5, "15 + 5 * difficulty"), "C": (1, "5 + difficulty"), "N": (2, "2 + difficulty")},
        "OUT = X\nfor _ in range(N):\n    OUT = OUT // 2 if OUT % 2 == 0 else OUT + C",
        "Start with {X} and do this {N} times: halve the number if it is even, otherwise add {C}.",
        "Let x = {X}; replace x by x / 2 if it is even and by x + {C} if it is odd, {N} times: what is x?",
        trail="list(itertools.accumulate(range(N), lambda v, _: v // 2 if v % 2 == 0 else v + C, initial=X))[1:]",
    ),
    numbers(
        "last-in-circle",
        _RECURRENCE,
        {"N": (3, "5 + 2 * difficulty"), "K": (2, "3 + difficulty")},
        "OUT = 0\nfor v in range(2, N + 1):\n    OUT = (OUT + K) % v",
        "There are {N} people in a circle, numbered from 0; counting starts at number 0 and whoever is counted as"
        " number {K} leaves, again and again: who is last?",
        "In the Josephus problem with {N} people numbered from 0 and a count of {K}, who remains?",
    ),
    numbers(
        "stairs",
        "dynamic programming",
        {"N": (3, "4 + difficulty"), "K": (2, "3")},
        "ways = [1]\nfor _ in range(N):\n    ways.append(sum(ways[-K:]))\nOUT = ways[N]",
        "In how many ways can {N} stairs be climbed, taking from 1 to {K} stairs at a time?",
        "Count the ways to write {N} as an ordered sum of integers from 1 to {K}.",
        trail="ways",
    ),
    numbers(
        "coin-ways",
        "dynamic programming",
        {"N": (5, "8 + 3 * difficulty"), "P": (2, "3"), "Q": (4, "5 + difficulty")},
        "ways = [1] + [0] * N\nfor coin in (1, P, Q):\n    for v in range(coin, N + 1):\n"
        "        ways[v] += ways[v - coin]\nOUT = ways[N]",
        "In how many ways can {N} be paid with coins of 1, {P} and {Q}, when order does not matter?",
        "Count the ways to pay {N} with coins of the values 1, {P} and {Q}, without regard to order.",
        trail="ways",
    ),
    numbers(
        "fewest-coins",
        "dynamic programming",
        {"N": (6, "12 + 4 * difficulty"), "P": (3, "4 + difficulty"), "Q": (5, "7 + difficulty")},
        "least = [0]\nfor v in range(1, N + 1):\n"
        "    least.append(1 + min(least[v - coin] for coin in (1, P, Q) if coin <= v))\nOUT = least[N]",
        "What is the least number of coins of 1, {P} and {Q} that pay exactly {N}?",
        "Pay {N} with as few coins of the values 1, {P} and {Q} as possible: how many are needed?",
        trail="least",
    ),
    numbers(
        "partitions",
        "dynamic programming",
        {"N": (4, "6 + difficulty"), "K": (2, "3 + difficulty // 2")},
        "ways = [1] + [0] * N\nfor part in range(1, K + 1):\n    for v in range(part, N + 1):\n"
        "        ways[v] += ways[v - part]\nOUT = ways[N]",
        "In how many ways can {N} be written as a sum of positive integers up to {K}, without regard to order?",
        "Count the partitions of {N} into parts of size at most {K}.",
        trail="ways",
    ),
    numbers(
        "grid-paths",
        "dynamic programming",
        {"P": (2, "3 + difficulty"), "Q": (2, "3 + difficulty")},
        (
            "OUT = math.comb(P + Q, P)",
            "row = [1] * (Q + 1)\nfor _ in range(P):\n    row = list(itertools.accumulate(row))\nOUT = row[-1]",
        ),
        "In how many ways can one walk {P} steps down and {Q} steps right, in any order?",
        "Count the shortest paths across a grid that lead {P} steps down and {Q} steps to the right.",
    ),
    numbers(
        "take-away",
        "games",
        {"N": (4, "12 + 6 * difficulty"), "P": (1, "4"), "Q": (2, "6 + difficulty")},
        "win = []\nfor v in range(N + 1):\n    win.append(not all(win[v - t] for t in (P, Q) if t <= v))\n"
        'OUT = "yes" if win[N] else "no"',
        "Two players in turn take {P} or {Q} stones from a heap of {N}, and whoever cannot move loses:"
        " can the first player force a win?",
        "From {N} stones, players alternately remove exactly {P} or {Q}; a player who cannot do so loses:"
        " does the first player win?",
        gives="yesno",
        trail="[int(v) for v in win]",
    ),
    numbers(
        "lost-heaps",
        "games",
        {"N": (5, "9 + 4 * difficulty"), "P": (2, "3"), "Q": (4, "6 + difficulty")},
        "win = [False]\nfor v in range(1, N + 1):\n    win.append(not all(win[v - t] for t in (1, P, Q) if t <= v))\n"
        "OUT = N + 1 - sum(win)",
        "Players in turn take 1, {P} or {Q} stones and whoever cannot move loses:"
        " from how many heap sizes from 0 to {N} does the first player lose?",
        "Count the losing heaps with 0 to {N} stones, when 1, {P} or {Q} stones may be taken and the last stone wins.",
        trail="[int(v) for v in win]",
    ),
    numbers(
        "grundy",
        "games",
        {"N": (4, "9 + 3 * difficulty"), "P": (2, "3"), "Q": (4, "6 + difficulty")},
        "values = []\nfor v in range(N + 1):\n    seen = {values[v - t] for t in (1, P, Q) if t <= v}\n"
        "    values.append(min({0, 1, 2, 3} - seen))\nOUT = values[N]",
        "A move takes 1, {P} or {Q} stones: find the Grundy value of a heap of {N} stones.",
        "What is the Sprague-Grundy number of {N} stones, when 1, {P} or {Q} may be taken?",
        trail="values",
    ),
)
