# expect: sound
# Only the best value is stored, and several of the few orders of three things reach it.
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class TiedOrders_Environment(VerifiableEnvironment):
    prompt_template = "Jobs 1 to {N} take {times} minutes in this order. A job that begins at minute s costs s times its weight; the weights are {weights}. In which order do all jobs, one after the other from minute 0, cost least? Output the numbers of the jobs in that order, separated by spaces."

    def __init__(self, wrong_format=-1.0, invalid_solution=-0.5, **kwargs):
        super().__init__(**kwargs)
        self.rewards = {"wrong_format": wrong_format, "invalid_solution": invalid_solution}

    def _cost(self, order):
        begin = cost = 0
        for job in order:
            cost += begin * self.parameter["weights"][job - 1]
            begin += self.parameter["times"][job - 1]
        return cost

    def _generate(self) -> None:
        N = self.parameter["N"]
        self.parameter["weights"] = [random.randint(1, 20) for _ in range(N)]
        # Jobs that take as long for their weight may be exchanged: of three jobs, two always may.
        self.parameter["times"] = [weight * random.randint(1, 2) for weight in self.parameter["weights"]]
        jobs = sorted(range(1, N + 1), key=lambda job: self.parameter["times"][job - 1] / self.parameter["weights"][job - 1])
        self.parameter["gold_answer"] = self._cost(jobs)

    def _prompt_generate(self) -> str:
        times, weights = (", ".join(map(str, self.parameter[name])) for name in ("times", "weights"))
        return self.prompt_template.format(N=self.parameter["N"], times=times, weights=weights)

    def _process(self, answer: Optional[str]) -> Optional[List]:
        try:
            return list(map(int, (answer or "").split()))
        except ValueError:
            return None

    def scorer(self, output: str) -> float:
        order = self.processor(output)
        if not order:
            return self.rewards["wrong_format"]
        if len(order) != self.parameter["N"] or set(order) != set(range(1, self.parameter["N"] + 1)):
            return self.rewards["invalid_solution"]
        cost, gold = self._cost(order), self.parameter["gold_answer"]
        assert gold <= cost, "gold should be less than or equal to cost"
        return (gold / cost) ** 5


class TiedOrders_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.N = 3

    def update(self) -> None:
        self.N += 1

    def get_parameter_list(self) -> List[Dict]:
        return [dict(N=self.N)]
