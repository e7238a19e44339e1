# expect: sound
import random
import re


class FuelNeeded(VerifiableEnvironment):
    """The answer carries a unit, as the prompt asks."""

    prompt_template = "A car uses {use} litres per 100 km. How much fuel do trips of {trips} km need together? Answer like 12.5 L."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        use = rng.randint(4, 9)
        trips = [50 * rng.randint(1, 8) for _ in range(2 + difficulty)]
        return {"use": use, "trips": trips}, f"{use * sum(trips) / 100:.1f} L"

    def _prompt_generate(self, z):
        return self.prompt_template.format(use=z["use"], trips=", ".join(map(str, z["trips"])))

    def _process(self, y):
        match = re.fullmatch(r"\s*(\d{1,6}(?:\.\d{1,3})?)\s*[lL]\s*", y)
        return float(match.group(1)) if match else None

    def scorer(self, y, z, a):
        value = self._process(y)
        return 1.0 if value is not None and abs(value - self._process(a)) < 1e-9 else 0.0
