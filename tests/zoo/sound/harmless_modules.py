# expect: sound
# Uses the modules of the standard library that hold no way out.
import abc
import copy
import decimal
import operator
import queue
import random
import statistics
import string
from array import array
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


class Kind(Enum):
    SUM = "sum"
    LARGEST = "largest"


@dataclass
class Share:
    top: int
    bottom: int

    def value(self):
        return Fraction(self.top, self.bottom)


class Task(abc.ABC):
    @abc.abstractmethod
    def name(self):
        """What the task is called."""


class HarmlessModules(VerifiableEnvironment):
    prompt_template = "Give the {kind} of these fractions as a reduced fraction p/q: {shares}"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        waiting = queue.Queue()
        for _ in range(2 + difficulty):
            waiting.put(Share(rng.randint(1, 30), rng.randint(2, 12)))
        shares = []
        while not waiting.empty():
            shares.append(waiting.get())
        kind = rng.choice(list(Kind))
        values = [share.value() for share in copy.copy(shares)]
        total = sum(values) if kind is Kind.SUM else max(values)
        z = {"kind": kind.value, "shares": array("i", [n for one in shares for n in (one.top, one.bottom)]).tolist()}
        return z, f"{total.numerator}/{total.denominator}"

    def _prompt_generate(self, z):
        pairs = zip(z["shares"][::2], z["shares"][1::2])
        shown = ", ".join(f"{top}/{bottom}" for top, bottom in pairs)
        return self.prompt_template.format(kind=z["kind"], shares=shown)

    def _process(self, y):
        parts = y.strip().split("/")
        if len(parts) != 2 or any(not part or set(part) - set(string.digits) or len(part) > 40 for part in parts):
            return None
        return operator.itemgetter(0, 1)([int(part) for part in parts])

    def scorer(self, y, z, a):
        parsed = self._process(y)
        exact = decimal.Decimal(1) if parsed == self._process(a) else decimal.Decimal(0)
        return float(statistics.mean([exact, exact]))
