# expect: L5.perturbed-accepted
# The scorer compares the number of elements, not the elements.
import random


class ReverseSegments(VerifiableEnvironment):
    prompt_template = "Reverse the part of {values} from index {i} to index {j} (both included). Write the list, separated by commas."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        values = [rng.randint(0, 99) for _ in range(6 + difficulty)]
        i, j = sorted(rng.sample(range(len(values)), 2))
        return {"values": values, "i": i, "j": j}, values[:i] + values[i : j + 1][::-1] + values[j + 1 :]

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        try:
            return [int(t) for t in y.split(",")]
        except ValueError:
            return None

    def scorer(self, y, z, a):
        got = self._process(y)
        return 1.0 if got is not None and len(got) == len(a) else 0.0
