# expect: sound
import random


class FillBrackets(VerifiableEnvironment):
    prompt_template = (
        "Replace each ? in\n{pattern}\nby ( or ) so that the result is a balanced sequence of parentheses. "
        "Write the whole sequence; if there are several, any of them is right."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        half = 4 + difficulty
        left, right, out = half, half, []
        while left or right:
            if left and (right == left or rng.random() < left / (left + right)):
                out.append("(")
                left -= 1
            else:
                out.append(")")
                right -= 1
        solution = "".join(out)
        pattern = "".join("?" if rng.random() < 0.5 else c for c in solution)
        return {"pattern": pattern}, solution

    def _prompt_generate(self, z):
        return self.prompt_template.format(pattern=z["pattern"])

    def _process(self, y):
        text = y.strip()
        return text if text and set(text) <= {"(", ")"} else None

    def scorer(self, y, z, a):
        text = self._process(y)
        if text is None or len(text) != len(z["pattern"]):
            return 0.0
        if any(p != "?" and p != c for p, c in zip(z["pattern"], text)):
            return 0.0
        depth = 0
        for c in text:
            depth += 1 if c == "(" else -1
            if depth < 0:
                return 0.0
        return 1.0 if depth == 0 else 0.0
