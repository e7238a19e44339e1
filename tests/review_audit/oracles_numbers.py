"""What the prompts of the shipped set ask for, found by trying everything: numbers, words, games, chances, bits."""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

Z = dict[str, Any]


def text_of(fraction: Fraction) -> str:
    return f"{fraction.numerator}/{fraction.denominator}"


# --------------------------------------------------------------------------- number theory


def primes_between(z: Z) -> int:
    return sum(
        all(number % divisor for divisor in range(2, number)) for number in range(max(2, z["low"]), z["high"] + 1)
    )


def blinking_lights(z: Z) -> int:
    longest = max(z["periods"])
    return next(t for t in itertools.count(longest, longest) if all(t % period == 0 for period in z["periods"]))


def count_divisors(z: Z) -> int:
    number = z["number"]
    small = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    return len({*small, *(number // divisor for divisor in small)})


def modular_inverse(z: Z) -> int | None:
    p, a = z["p"], z["a"]
    if any(p % divisor == 0 for divisor in range(2, p)):
        return None  # the prompt says that p is a prime
    return next(x for x in range(1, p) if a * x % p == 1)


def digit_sums(z: Z) -> int:
    digits = str(z["a"] * z["b"])
    while len(digits) > 1:
        digits = str(sum(map(int, digits)))
    return int(digits)


def last_one_standing(z: Z) -> int:
    inside = [True] * z["n"]
    place, counted = -1, 0
    while sum(inside) > 1:
        place = (place + 1) % z["n"]
        counted += inside[place]
        if counted == z["k"]:
            inside[place], counted = False, 0
    return inside.index(True) + 1


def tour_distance(z: Z) -> int:
    metres = sum(Fraction(speed * 1000, 60) * minutes for speed, minutes in z["legs"])
    assert metres.denominator == 1
    return int(metres)


def number_machine(z: Z, modulus: int = 9973) -> int:
    value = z["start"]
    for _ in range(z["rounds"]):
        value = value * z["factor"] + z["step"]
        value -= value // modulus * modulus
    return value


def warehouse_code(z: Z) -> int:
    return sum(sum(z["crates"][start:]) for start in range(len(z["crates"])))


def faulty_scale(z: Z) -> int:
    multiples = set(range(0, 10_000, z["base"]))
    (odd,) = [weight for weight in z["weights"] if weight not in multiples]
    return odd


def hailstones(z: Z) -> int:
    def steps(number: int) -> int:
        return 0 if number == 1 else 1 + steps(3 * number + 1 if number % 2 else number // 2)

    return steps(z["start"])


def largest_factor(z: Z) -> int:
    number, factor = z["number"], 2
    while number > 1:
        if number % factor:
            factor += 1
        else:
            number //= factor
    return factor


def bus_timetable(z: Z) -> int:
    wait = 0
    for interval, arrival in zip(z["intervals"], z["arrivals"], strict=True):
        wait += next(minute for minute in itertools.count(0, interval) if minute >= arrival) - arrival
    return wait


# --------------------------------------------------------------------------- strings


def typo_distance(z: Z) -> int:
    @cache
    def steps(s: str, t: str) -> int:
        if not s or not t:
            return len(s) + len(t)
        return min(
            steps(s[1:], t) + 1,
            steps(s, t[1:]) + 1,
            steps(s[1:], t[1:]) + (s[0] != t[0]),
        )

    return steps(z["first"], z["second"])


def shared_passage(z: Z) -> int:
    first, second = z["first"], z["second"]
    return max(j - i for i in range(len(first)) for j in range(i, len(first) + 1) if first[i:j] in second)


def mirror_words(z: Z) -> int:
    text = z["text"]
    blocks = (text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1))
    return max(len(block) for block in blocks if block == block[::-1])


def class_election(z: Z) -> str:
    ballots = z["ballots"]
    most = max(ballots.count(name) for name in ballots)
    return sorted(name for name in ballots if ballots.count(name) == most)[0]


def secret_message(z: Z) -> str:
    wheel = string.ascii_uppercase
    shift, letters = z["shift"], []
    for letter in z["message"]:
        place = wheel.index(letter)
        for _ in range(shift):
            place = 0 if place == 25 else place + 1
        letters.append(wheel[place])
        shift += z["step"]
    return "".join(letters)


def motif_count(z: Z) -> int:
    size = len(z["motif"])
    return sum(z["text"][i : i + size] == z["motif"] for i in range(len(z["text"])))


def league_table(z: Z) -> int:
    """The place of the first team with as many points in the sorted list."""
    own = z["points"][z["teams"].index(z["team"])]
    return sorted(z["points"], reverse=True).index(own) + 1


# --------------------------------------------------------------------------- games


def winning_moves(z: Z) -> int:
    return sum(not _wins(after) for after in _after_a_move(tuple(z["heaps"])))


@cache
def _wins(heaps: tuple[int, ...]) -> bool:
    """Whether the player to move wins; kept, because instances share most of their positions."""
    return any(not _wins(after) for after in _after_a_move(heaps))


def _after_a_move(heaps: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [tuple(sorted((*heaps[:i], left, *heaps[i + 1 :]))) for i, heap in enumerate(heaps) for left in range(heap)]


def take_away(z: Z) -> int:
    @cache
    def wins(heap: int) -> bool:
        return any(move <= heap and not wins(heap - move) for move in z["moves"])

    return sum(not wins(heap) for heap in range(1, z["limit"] + 1))


def row_of_coins(z: Z) -> int:
    @cache
    def best(coins: tuple[int, ...]) -> int:
        """What the player to move gets out of this row."""
        if not coins:
            return 0
        return sum(coins) - min(best(coins[1:]), best(coins[:-1]))

    return best(tuple(z["coins"]))


def stack_of_plates(z: Z) -> list[int]:
    moves = list(z["moves"])
    while 0 in moves:
        place = moves.index(0)
        del moves[place - 1 : place + 1]
    return moves


# --------------------------------------------------------------------------- chances and bits


def drawer_of_socks(z: Z) -> str:
    socks = [colour for colour, count in zip(z["colours"], z["counts"], strict=True) for _ in range(count)]
    draws = list(itertools.permutations(range(len(socks)), 2))
    return text_of(Fraction(sum(socks[i] == socks[j] for i, j in draws), len(draws)))


def dice_tower(z: Z) -> int:
    rolls = itertools.product(range(1, z["faces"] + 1), repeat=z["dice"])
    return sum(sum(roll) >= z["target"] for roll in rolls)


def spaced_seats(z: Z) -> int:
    free = sum(
        all(b - a > 1 for a, b in itertools.pairwise(seats))
        for seats in itertools.combinations(range(z["seats"]), z["people"])
    )
    return free * len(list(itertools.permutations(range(z["people"]))))


def bulb_test(z: Z) -> str:
    """By following the draws one after the other."""
    chance, missed = Fraction(0), Fraction(1)
    for drawn in range(z["tries"]):
        left = z["good"] + z["bad"] - drawn
        chance += missed * Fraction(z["good"], left)
        missed *= Fraction(left - z["good"], left)
    return text_of(chance)


def binary_ones(z: Z) -> int:
    return "".join(f"{number:b}" for number in range(1, z["n"] + 1)).count("1")


def strongest_pair(z: Z) -> int:
    return max(a ^ b for a in z["numbers"] for b in z["numbers"])


def mirrored_bits(z: Z, width: int | None = None) -> int:
    return int(format(z["value"], f"0{width or z['width']}b")[::-1], 2)


ASKED: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        primes_between, blinking_lights, count_divisors, modular_inverse, digit_sums, last_one_standing, tour_distance,
        number_machine, warehouse_code, faulty_scale, hailstones, largest_factor, bus_timetable, typo_distance,
        shared_passage, mirror_words, class_election, secret_message, motif_count, league_table, winning_moves,
        take_away, row_of_coins, stack_of_plates, drawer_of_socks, dice_tower, spaced_seats, bulb_test, binary_ones,
        strongest_pair, mirrored_bits,
    )
}  # fmt: skip
