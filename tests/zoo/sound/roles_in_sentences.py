# expect: sound
# Picks names and roles out of sentences: other words and marks do not matter, the roles do.
import random


class RolesInSentences(VerifiableEnvironment):
    prompt_template = (
        "{first} and {second} are each a poet or a judge. Poets speak the truth, judges lie. {first} says: "
        '"{claim}". {second} {fact}. Who is what? Answer like "Ann is a poet, and Bob is a judge."'
    )
    names = ["Ann", "Bob", "Cleo", "Dora", "Emil", "Finn", "Gil", "Hugo", "Ida", "Jon", "Kim", "Lea"]

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        first, second = rng.sample(self.names, 2)
        other = rng.choice(["poet", "judge"])
        claimed = rng.choice(["poet", "judge"])
        numbers = [rng.randint(2, 9 * 10**difficulty) for _ in range(2)]
        total = sum(numbers) + (other == "judge")
        fact = f"says: {numbers[0]} + {numbers[1]} = {total}"
        z = {"first": first, "second": second, "claim": f"{second} is a {claimed}", "fact": fact}
        return z, f"{first} is a {'poet' if claimed == other else 'judge'}, and {second} is a {other}."

    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)

    def _process(self, y):
        name, roles = None, set()
        for word in y.lower().replace(".", " ").replace(",", " ").split():
            if word in ("poet", "judge"):
                if name is not None:
                    roles.add((name, word))
                name = None
            elif word not in ("is", "a", "an", "and"):
                name = word
        return sorted(roles) or None

    def scorer(self, y, z, a):
        roles = self._process(y)
        return 1.0 if roles is not None and roles == self._process(a) else 0.0
