import random
import re


class WaitingRoom(VerifiableEnvironment):
    """Order in which patients are called."""

    prompt_template = (
        "A doctor calls patients by urgency, the highest first; of equally urgent ones the one who came first. All are "
        "waiting already, and they came in this order (number:urgency): {patients}. In which order are they called? "
        "Answer with the numbers in order, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = rng.sample(range(10, 99), 4 + difficulty)
        patients = [[number, rng.randint(1, 5)] for number in numbers]
        called = sorted(patients, key=lambda patient: (patient[1], patient[0]), reverse=True)
        return {"patients": patients}, [number for number, _ in called]

    def _prompt_generate(self, z):
        return self.prompt_template.format(patients=", ".join(f"{n}:{u}" for n, u in z["patients"]))

    def _process(self, y):
        tokens = y.split()
        if not tokens or len(tokens) > 200 or not all(re.fullmatch(r"[0-9]{1,4}", token) for token in tokens):
            return None
        return [int(token) for token in tokens]

    def scorer(self, y, z, a):
        called = self._process(y)
        return 1.0 if called is not None and called == list(a) else 0.0
