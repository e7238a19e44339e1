import random


class PrinterQueue(VerifiableEnvironment):
    prompt_template = (
        "One printer has to print these jobs, one after the other without a break:\n{jobs}\n"
        "A job that is finished after t minutes costs t times its penalty. "
        "What is the lowest total cost over all orders of the jobs?"
    )

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        jobs = [[rng.randint(1, 9 + difficulty), rng.randint(1, 9)] for _ in range(3 + difficulty)]
        clock = cost = 0
        for minutes, penalty in sorted(jobs, key=lambda job: job[0]):
            clock += minutes
            cost += clock * penalty
        return {"jobs": jobs}, cost

    def _prompt_generate(self, z):
        rows = [f"job {i}: {m} minutes, penalty {p}" for i, (m, p) in enumerate(z["jobs"], 1)]
        return self.prompt_template.format(jobs="\n".join(rows))

    def _process(self, y):
        """The answer as an integer, or None when it is not one."""
        text = y.strip().replace(",", "")
        try:
            return int(text)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        parsed = self._process(y)
        return 1.0 if parsed is not None and parsed == a else 0.0
