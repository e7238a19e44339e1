import random
import re


class StackOfPlates(VerifiableEnvironment):
    """Follow a stack through pushes and pops."""

    prompt_template = (
        "Numbered plates are put on a stack and taken off again: {moves} (+k puts plate k on top, - takes the top plate "
        "off). Which plates are on the stack at the end? Answer with their numbers from bottom to top, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        plates = rng.sample(range(1, 60), 6 + 2 * difficulty)
        moves, stack = [], []
        for plate in plates:
            moves.append(plate)
            stack.append(plate)
            if len(stack) > 2 and rng.random() < 0.5:
                moves.append(0)
                stack.pop()
        return {"moves": moves}, stack

    def _prompt_generate(self, z):
        return self.prompt_template.format(moves=" ".join(f"+{move}" if move else "-" for move in z["moves"]))

    def _process(self, y):
        tokens = y.split()
        if not tokens or len(tokens) > 200 or not all(re.fullmatch(r"[0-9]{1,4}", token) for token in tokens):
            return None
        return [int(token) for token in tokens]

    def scorer(self, y, z, a):
        stack = self._process(y)
        return 1.0 if stack is not None and stack == list(a) else 0.0
