import random
import re


class RecipeOrder(VerifiableEnvironment):
    """Put the steps of a recipe in order."""

    prompt_template = (
        "A recipe has the steps {steps}. Some steps must come before others: {rules}. "
        "Give an order of all steps that keeps these rules, as letters separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = min(5 + difficulty, 20)
        letters = rng.sample("ABCDEFGHIJKLMNOPQRSTUVWXYZ", n)
        rules = set()
        while len(rules) < n - 1 + difficulty // 2:
            i, j = sorted(rng.sample(range(n), 2))
            rules.add((letters[i], letters[j]))
        rules = [list(rule) for rule in sorted(rules)]
        rng.shuffle(rules)
        shown = sorted(letters)
        return {"steps": shown, "rules": rules}, self._order(shown, rules)

    def _order(self, steps, rules):
        left, order = list(steps), []
        while left:
            ready = next(s for s in left if not any(b == s and a in left for a, b in rules))
            order.append(ready)
            left.remove(ready)
        return order

    def _prompt_generate(self, z):
        rules = ", ".join(f"{a} before {b}" for a, b in z["rules"])
        return self.prompt_template.format(steps=", ".join(z["steps"]), rules=rules)

    def _process(self, y):
        steps = y.split()
        if not steps or len(steps) > 100 or not all(re.fullmatch(r"[A-Z]", step) for step in steps):
            return None
        return steps

    def scorer(self, y, z, a):
        steps = self._process(y)
        if steps is None or sorted(steps) != z["steps"]:
            return 0.0
        place = {step: i for i, step in enumerate(steps)}
        return 1.0 if all(place[a] < place[b] for a, b in z["rules"]) else 0.0
