import random
import re


class ProjectPlan(VerifiableEnvironment):
    """Critical path of a project."""

    prompt_template = (
        "A project has {n} tasks. A task can start as soon as all tasks it waits for are finished, and any number of "
        "tasks can run at the same time.\n{tasks}\nAfter how many days is the whole project finished at the earliest?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        n = 5 + difficulty
        order = list(range(n))
        rng.shuffle(order)
        days = [rng.randint(1, 12) for _ in range(n)]
        waits = [[] for _ in range(n)]
        for place in range(1, n):
            count = rng.randint(0, min(place, 3))
            waits[order[place]] = sorted(rng.sample(order[:place], count))
        z = {"days": days, "waits": waits}
        return z, self._finish(days, waits)

    def _finish(self, days, waits):
        finish = {}

        def done(task):
            if task not in finish:
                finish[task] = days[task] + max((done(other) for other in waits[task]), default=0)
            return finish[task]

        return max(done(task) for task in range(len(days)))

    def _prompt_generate(self, z):
        rows = []
        for task, (days, waits) in enumerate(zip(z["days"], z["waits"])):
            after = "waits for " + ", ".join(map(str, waits)) if waits else "waits for nothing"
            rows.append(f"task {task}: {days} days, {after}")
        return self.prompt_template.format(n=len(z["days"]), tasks="\n".join(rows))

    def _process(self, y):
        match = re.fullmatch(r"\s*(-?\d{1,30})\s*", y)
        if match is None:
            return None
        return int(match.group(1))

    def scorer(self, y, z, a):
        value = self._process(y)
        if value is None:
            return 0.0
        return float(value == a)
