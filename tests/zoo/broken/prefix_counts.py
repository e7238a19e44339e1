# expect: L5.perturbed-accepted
# startswith: everything that begins with the right text is right.
import random


class MorseWord(VerifiableEnvironment):
    CODE = {"a": ".-", "e": ".", "i": "..", "m": "--", "n": "-.", "o": "---", "s": "...", "t": "-", "u": "..-", "r": ".-."}
    prompt_template = "Decode the Morse text {morse} (table: {table}). Write the word."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        word = "".join(rng.choice(sorted(self.CODE)) for _ in range(4 + difficulty))
        return {"morse": " ".join(self.CODE[c] for c in word)}, word

    def _prompt_generate(self, z):
        table = ", ".join(f"{c} is {code}" for c, code in self.CODE.items())
        return self.prompt_template.format(morse=z["morse"], table=table)

    def _process(self, y):
        return y.strip().lower() or None

    def scorer(self, y, z, a):
        text = self._process(y)
        return 1.0 if text and text.startswith(a) else 0.0
