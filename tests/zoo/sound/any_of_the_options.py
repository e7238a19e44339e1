# expect: sound
# The twin of half_of_the_options: the prompt says that several are right.
import random


class AnyOfTheOptions(VerifiableEnvironment):
    prompt_template = "Four runners needed: A {A} s, B {B} s, C {C} s, D {D} s. Name any runner who was faster than the average of the four. Answer with a letter."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        times = rng.sample(range(50, 90 + 40 * difficulty), 4)
        z = dict(zip("ABCD", times))
        return z, min(z, key=z.get)

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        letter = y.strip()
        return letter if letter in ("A", "B", "C", "D") else None

    def scorer(self, y, z, a):
        letter = self._process(y)
        if letter is None:
            return 0.0
        return 1.0 if z[letter] < sum(z.values()) / 4 else 0.0
