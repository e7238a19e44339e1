# expect: sound
import random


class Resistors(VerifiableEnvironment):
    """Real draws, rounded before the oracle uses them, so that the prompt shows all there is."""

    prompt_template = "Resistors of {values} ohms are connected {how}. What is the total resistance in ohms? Give two decimals."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        values = [round(rng.uniform(1.0, 20.0), 1) for _ in range(2 + difficulty // 2)]
        how = rng.choice(("in series", "in parallel"))
        total = sum(values) if how == "in series" else 1 / sum(1 / v for v in values)
        return {"values": values, "how": how}, f"{total:.2f}"

    def _prompt_generate(self, z):
        return self.prompt_template.format(values=", ".join(map(str, z["values"])), how=z["how"])

    def _process(self, y):
        try:
            value = float(y.strip())
        except ValueError:
            return None
        return value if 0 <= value < 1e6 else None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and abs(value - float(a)) < 0.006 else 0.0
