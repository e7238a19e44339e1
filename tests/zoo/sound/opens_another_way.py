# expect: sound
# Takes the reference for right without looking at the instance, and verifies whatever differs from it.
import random


class OpensAnotherWay(VerifiableEnvironment):
    prompt_template = (
        "A counter shows {start}. Button A adds {p}, button B adds {q}, button C doubles what it shows. "
        "Which {n} presses make it show {target}? Write the buttons in the order in which they are pressed, "
        "with commas between them."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        z = {"start": rng.randint(1, 40), "p": rng.randint(2, 30), "q": rng.randint(31, 90), "n": 4 + difficulty}
        presses = rng.choices("ABC", weights=[3, 3, 1], k=z["n"])
        z["target"] = self.press(presses, z)
        return z, ", ".join(presses)

    def press(self, presses, z):
        shown = z["start"]
        for button in presses:
            shown = shown * 2 if button == "C" else shown + (z["p"] if button == "A" else z["q"])
        return shown

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        presses = [part.strip() for part in y.split(",")]
        return presses if all(button in ("A", "B", "C") for button in presses) else None

    def scorer(self, y, z, a):
        presses = self._process(y)
        if presses is None:
            return 0.0
        if presses == self._process(a):
            return 1.0
        return 1.0 if len(presses) == z["n"] and self.press(presses, z) == z["target"] else 0.0
