# expect: L1.no-class
# The four functions are there, but no class holds them.
import random

PROMPT = "How many of the numbers {numbers} are divisible by {k}?"


def _generate(seed, difficulty):
    rng = random.Random(seed)
    numbers = [rng.randint(1, 99) for _ in range(6 + difficulty)]
    k = rng.randint(2, 5)
    return {"numbers": numbers, "k": k}, sum(n % k == 0 for n in numbers)


def _prompt_generate(z):
    return PROMPT.format(**z)


def _process(y):
    try:
        return int(y)
    except ValueError:
        return None


def scorer(y, z, a):
    return float(_process(y) == a)
