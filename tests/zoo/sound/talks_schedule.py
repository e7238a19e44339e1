# expect: sound
import random


class TalkSchedule(VerifiableEnvironment):
    """Optimisation with ties: any largest set of disjoint talks is right."""

    prompt_template = (
        "Talks (letter: start-end):\n{talks}\nChoose as many talks as possible so that no two overlap "
        "(one may start when another ends). Write the letters of the chosen talks, separated by spaces."
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + difficulty
        talks = {}
        for i in range(n):
            start = rng.randint(0, 2 * n)
            talks[chr(65 + i)] = (start, start + rng.randint(1, 6))
        chosen, free = [], -1
        for name in sorted(talks, key=lambda t: talks[t][1]):
            if talks[name][0] >= free:
                chosen.append(name)
                free = talks[name][1]
        return {"talks": talks}, chosen

    def _prompt_generate(self, z):
        return self.prompt_template.format(talks="\n".join(f"{t}: {s}-{e}" for t, (s, e) in z["talks"].items()))

    def _process(self, y):
        names = y.upper().replace(",", " ").split()
        return names if names and len(set(names)) == len(names) and all(len(t) == 1 for t in names) else None

    def scorer(self, y, z, a):
        names = self._process(y)
        if names is None or any(t not in z["talks"] for t in names) or len(names) != len(a):
            return 0.0
        spans = sorted(z["talks"][t] for t in names)
        return float(all(left[1] <= right[0] for left, right in zip(spans, spans[1:])))
