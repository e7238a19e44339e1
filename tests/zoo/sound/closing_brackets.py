# expect: sound
import random


class ClosingBrackets(VerifiableEnvironment):
    """The answer consists of punctuation only."""

    prompt_template = "Which closing brackets must follow {text} so that all brackets are matched? Write just them, without spaces."
    PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        text, stack = "", []
        while len(text) < 5 + difficulty or not stack:
            if stack and rng.random() < 0.35:
                text += stack.pop()
            else:
                c = rng.choice("([{<")
                text += c
                stack.append(self.PAIRS[c])
        return {"text": text}, "".join(reversed(stack))

    def _prompt_generate(self, z):
        return self.prompt_template.replace("{text}", z["text"])

    def _process(self, y):
        text = y.strip()
        return text if text and set(text) <= set(")]}>") else None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
