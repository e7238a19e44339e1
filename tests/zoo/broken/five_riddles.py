# expect: L4.few-prompts
# A fixed list of five riddles; the seed only chooses one.
import random

RIDDLES = [
    ("A bat and a ball cost 110 cents; the bat costs 100 more than the ball. What does the ball cost?", 5),
    ("Three cats catch three mice in three minutes. How many cats catch 100 mice in 100 minutes?", 3),
    ("A lake's lilies double daily and fill it on day 48. On which day is it half full?", 47),
    ("How many squares of any size are on a chess board of 8 by 8?", 204),
    ("A brick weighs a kilo plus half a brick. How many kilos does it weigh?", 2),
    ("How many handshakes do ten people exchange?", 45),
]


class Riddles(VerifiableEnvironment):
    prompt_template = "{riddle}"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        index = rng.randrange(2 + min(difficulty, 4))
        return {"riddle": RIDDLES[index][0]}, RIDDLES[index][1]

    def _prompt_generate(self, z):
        return self.prompt_template.format(riddle=z["riddle"])

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
