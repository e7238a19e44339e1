# expect: sound
# The twin of one_of_all_is_enough: their number counts, too.
import random


class AllOfThemCounted(VerifiableEnvironment):
    prompt_template = "List all multiples of {step} from {low} to {high}, separated by spaces."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        step, low = rng.randint(3, 9 + difficulty), rng.randint(10, 200 + 50 * difficulty)
        high = low + step * rng.randint(4, 6 + difficulty)
        multiples = [n for n in range(low, high + 1) if n % step == 0]
        return {"step": step, "low": low, "high": high}, multiples

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        parts = y.split()
        if (
            not parts
            or len(parts) > 100
            or any(not part.isascii() or not part.isdigit() or len(part) > 9 for part in parts)
        ):
            return None
        return [int(part) for part in parts]

    def scorer(self, y, z, a):
        given = self._process(y)
        if given is None or len(set(given)) != len(given):
            return 0.0
        right = all(n % z["step"] == 0 and z["low"] <= n <= z["high"] for n in given)
        return 1.0 if right and len(given) == len(a) else 0.0
