# expect: L5.answer-in-prompt
# The prompt prints the solution as a Python list; the answer is wanted with spaces.
import random


class TrainOrder(VerifiableEnvironment):
    prompt_template = "Trains arrive at minutes {arrivals} and each stays {stay} minutes at the only platform, first come first served. At which minutes do they leave? Separate by spaces. (Check: {check})"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        arrivals = sorted(rng.sample(range(0, 60), 4 + difficulty))
        stay, free, leave = rng.randint(3, 12), 0, []
        for t in arrivals:
            free = max(free, t) + stay
            leave.append(free)
        return {"arrivals": arrivals, "stay": stay, "leave": leave}, leave

    def _prompt_generate(self, z):
        return self.prompt_template.format(arrivals=z["arrivals"], stay=z["stay"], check=z["leave"])

    def _process(self, y):
        try:
            return [int(t) for t in y.split()] or None
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
