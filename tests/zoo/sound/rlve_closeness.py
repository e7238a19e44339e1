# expect: sound
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class PairCounting_Environment(VerifiableEnvironment):
    """A count graded by (min/max)^beta, with several knobs per level."""

    prompt_template = "In the array A = {A}, how many pairs (i, j) with i < j satisfy (A[i] + A[j]) mod {M} = {K}? Output a single integer."

    def __init__(self, wrong_format: float = -1.0, rewarding_strategy: str = "(min/max)^beta",
                 rewarding_weight: float = +1.0, rewarding_beta: float = 10.0, **kwargs):
        super().__init__(**kwargs)
        self.rewards = {
            "wrong_format": wrong_format,
            "rewarding_strategy": rewarding_strategy,
            "rewarding_weight": rewarding_weight,
            "rewarding_beta": rewarding_beta,
        }

    def _generate(self) -> None:
        N, M = self.parameter["N"], self.parameter["M"]
        while True:
            A = [random.randint(0, 10 * M) for _ in range(N)]
            K = random.randrange(M)
            count = sum((A[i] + A[j]) % M == K for j in range(N) for i in range(j))
            if count:
                break
        self.parameter["A"], self.parameter["K"] = A, K
        self.parameter["reference_answer"] = count

    def _prompt_generate(self) -> str:
        return self.prompt_template.format(A=self.parameter["A"], M=self.parameter["M"], K=self.parameter["K"])

    def _process(self, answer: Optional[str]) -> Optional[int]:
        if answer is not None:
            answer = answer.strip()
            try:
                int_answer = int(answer)
                return int_answer
            except ValueError:
                return None
        else:
            return None

    def scorer(self, output: str) -> float:
        processed_result = self.processor(output)
        if processed_result is not None:
            if processed_result <= 0:
                return self.rewards["wrong_format"]
            if self.rewards["rewarding_strategy"] == "(min/max)^beta":
                a, b = self.parameter["reference_answer"], processed_result
                return self.rewards["rewarding_weight"] * (((min(a, b) / max(a, b))) ** self.rewards["rewarding_beta"])
            elif self.rewards["rewarding_strategy"] == "gold=answer":
                return self.rewards["rewarding_weight"] * (processed_result == self.parameter["reference_answer"])
            else:
                raise NotImplementedError("Unknown rewarding strategy: {}".format(self.rewards["rewarding_strategy"]))
        else:
            return self.rewards["wrong_format"]


class PairCounting_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.N = 6

    def update(self) -> None:
        self.N = int(self.N * 1.1 + 1)

    def get_parameter_list(self) -> List[Dict]:
        return [dict(N=self.N, M=M) for M in (2, 3, 5)]
