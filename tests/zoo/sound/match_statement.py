# expect: sound
import random
from collections import deque


class Mixed:
    """A mixin with a parser for one integer."""

    @classmethod
    def _parse_integer(cls, text):
        text = text.strip()
        if (sign := text[:1]) in ("-", "+"):
            text = text[1:]
        if not (text.isascii() and text.isdigit() and len(text) < 12):
            return None
        return -int(text) if sign == "-" else int(text)


class StackMachine(Mixed, VerifiableEnvironment):
    """Written in modern Python: match, walrus, a mixin, a nested class, an own constructor."""

    class Limits:
        smallest, largest = 1, 12

    prompt_template = "A stack machine runs: {program}. What is on top of the stack at the end?"

    def __init__(self):
        super().__init__()
        self.limits = self.Limits()

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        program = [f"push {rng.randint(self.limits.smallest, self.limits.largest)}" for _ in range(3)]
        depth = 3
        for _ in range(3 + difficulty):
            word = rng.choice(["add", "sub", "swap", "dup"]) if depth >= 2 else "push"
            if word == "push":
                word = f"push {rng.randint(self.limits.smallest, self.limits.largest)}"
            depth += {"add": -1, "sub": -1, "swap": 0, "dup": 1}.get(word, 1)
            program.append(word)
        return {"program": program}, self._run(program)

    def _run(self, program):
        stack = deque()
        for line in program:
            match line.split():
                case ["push", n]:
                    stack.append(int(n))
                case ["add"]:
                    stack.append(stack.pop() + stack.pop())
                case ["sub"]:
                    top = stack.pop()
                    stack.append(stack.pop() - top)
                case ["swap"]:
                    stack[-1], stack[-2] = stack[-2], stack[-1]
                case ["dup"]:
                    stack.append(stack[-1])
        return stack[-1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(program="; ".join(z["program"]))

    def _process(self, y):
        return self._parse_integer(y)

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
