# expect: sound
# The twin of promises_one_solution: two more conditions leave one solution.
import random


class KeepsOneSolution(VerifiableEnvironment):
    prompt_template = (
        "Three boxes weigh {total} kg together, the first two {two} kg, and the last two {rest} kg. How heavy are they? There is exactly one solution. Give three whole "
        "numbers, separated by spaces, the weights of the first, second and third box."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        boxes = [rng.randint(2, 30 + 20 * difficulty) for _ in range(3)]
        z = {"total": sum(boxes), "two": boxes[0] + boxes[1], "rest": boxes[1] + boxes[2]}
        return z, boxes

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        parts = y.split()
        if len(parts) != 3 or any(not part.isascii() or not part.isdigit() or len(part) > 6 for part in parts):
            return None
        return [int(part) for part in parts]

    def scorer(self, y, z, a):
        boxes = self._process(y)
        if boxes is None or sum(boxes) != z["total"]:
            return 0.0
        return 1.0 if boxes[0] + boxes[1] == z["two"] and boxes[1] + boxes[2] == z["rest"] else 0.0
