# expect: L4.hidden-latent
# Stateful: a bonus is drawn and added to the answer, and only the object knows it.
import random


class QuizPoints(VerifiableEnvironment):
    prompt_template = "A team answers {right} questions right at {points} points each and {wrong} wrong at minus {minus}. What is the score, bonus included?"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        self.right, self.wrong = rng.randint(3, 100 + 30 * difficulty), rng.randint(0, 90)
        self.points, self.minus = rng.randint(2, 40), rng.randint(1, 20)
        self.bonus = rng.choice([0, 5, 10, 25])
        self.ref_answer = self.right * self.points - self.wrong * self.minus + self.bonus

    def _prompt_generate(self):
        return self.prompt_template.format(right=self.right, wrong=self.wrong, points=self.points, minus=self.minus)

    def _process(self, response):
        try:
            return int(response.strip())
        except ValueError:
            return None

    def scorer(self, parsed):
        return 1.0 if parsed == self.ref_answer else 0.0
