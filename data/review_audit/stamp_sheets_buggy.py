import random
import re


class StampSheets(VerifiableEnvironment):
    prompt_template = (
        "Stamps come in values of {stamps} cents. In how many ways can you make up a postage of {postage} cents? "
        "Any number of each stamp may be used, and the order of the stamps does not matter."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        stamps = sorted(rng.sample(range(1, 8 + difficulty), 3 + difficulty // 3))
        postage = rng.randint(14, 24) + 5 * difficulty
        ways = [1] + [0] * postage
        for value in range(1, postage + 1):
            for stamp in stamps:
                if stamp <= value:
                    ways[value] += ways[value - stamp]
        return {"stamps": stamps, "postage": postage}, ways[postage]

    def _prompt_generate(self, z):
        return self.prompt_template.format(stamps=", ".join(map(str, z["stamps"])), postage=z["postage"])

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
