# expect: sound
# The twin of one_answer_per_level: the waggons decide the answer.
import random


class AnswerVariesWithinLevel(VerifiableEnvironment):
    prompt_template = (
        "A train has these waggons: {waggons}. How many of the numbers are larger than the first, times the last?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        waggons = [rng.randint(10, 99) for _ in range(4 + difficulty)]
        return {"waggons": waggons}, sum(n > waggons[0] for n in waggons) * waggons[-1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(waggons=", ".join(map(str, z["waggons"])))

    def _process(self, y):
        text = y.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
