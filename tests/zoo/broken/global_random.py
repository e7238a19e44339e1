# expect: L3.instance-unstable
# The seed is ignored; the instance comes from the global generator.
import random


class MarbleBag(VerifiableEnvironment):
    prompt_template = "A bag holds {red} red, {blue} blue and {green} green marbles. How many must you draw blindly to be sure of two of one colour and one of another?"

    def _generate(self, seed, difficulty):
        top = 5 + 3 * difficulty
        red, blue, green = (random.randint(2, top) for _ in range(3))
        return {"red": red, "blue": blue, "green": green}, max(red, blue, green) + 1

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
