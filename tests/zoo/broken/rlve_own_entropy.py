# expect: L3.instance-unstable
# A generator of its own, seeded by the operating system.
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class Triples_Environment(VerifiableEnvironment):
    prompt_template = "How many triples i < j < k of the array {A} have A[i] < A[j] < A[k]? Output a single integer."

    def _generate(self) -> None:
        rng = random.Random()
        A = self.parameter["A"] = [rng.randint(1, 30) for _ in range(self.parameter["N"])]
        n = len(A)
        self.parameter["reference_answer"] = sum(
            A[i] < A[j] < A[k] for k in range(n) for j in range(k) for i in range(j)
        )

    def _prompt_generate(self) -> str:
        return self.prompt_template.format(A=self.parameter["A"])

    def _process(self, answer: Optional[str]) -> Optional[int]:
        try:
            return int(answer.strip()) if answer is not None else None
        except ValueError:
            return None

    def scorer(self, output: str) -> float:
        result = self.processor(output)
        if result is None:
            return -1.0
        return 1.0 if result == self.parameter["reference_answer"] else 0.0


class Triples_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.N = 5

    def update(self) -> None:
        self.N += 1

    def get_parameter_list(self) -> List[Dict]:
        return [dict(N=self.N)]
