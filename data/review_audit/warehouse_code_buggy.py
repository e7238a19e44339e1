import random


class WarehouseCode(VerifiableEnvironment):
    """Checksum of a list of crates."""

    prompt_template = (
        "Crates hold {crates} parts. The checksum is the sum over all crates of position times parts, with positions "
        "counted from 1. What is the checksum? Answer with one whole number, for example {example}."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        crates = [rng.randint(10, 40 + 10 * difficulty) for _ in range(4 + 2 * difficulty)]
        checksum = sum(position * parts for position, parts in enumerate(crates, 1))
        example = checksum
        return {"crates": crates, "example": example}, checksum

    def _prompt_generate(self, z):
        return self.prompt_template.format(crates=", ".join(map(str, z["crates"])), example=z["example"])

    def _process(self, y):
        try:
            return int(y.strip())
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return 1.0 if self._process(y) == a else 0.0
