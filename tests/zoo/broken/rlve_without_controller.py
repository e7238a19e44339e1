# expect: L2.needs-parameters
# RLVE-Gym's shape, but nothing maps the difficulty to the knob N.
import random
from typing import List, Optional

from Gym.environment import VerifiableEnvironment


class Rotation_Environment(VerifiableEnvironment):
    prompt_template = "Rotate the list {A} to the left by {K} places. Output the numbers separated by spaces."

    def _generate(self) -> None:
        N = self.parameter["N"]
        A = self.parameter["A"] = [random.randint(0, 99) for _ in range(N)]
        K = self.parameter["K"] = random.randint(1, N - 1)
        self.parameter["reference_answer"] = " ".join(map(str, A[K:] + A[:K]))

    def _prompt_generate(self) -> str:
        return self.prompt_template.format(A=self.parameter["A"], K=self.parameter["K"])

    def _process(self, answer: Optional[str]) -> Optional[List[int]]:
        try:
            return list(map(int, answer.split())) if answer else None
        except ValueError:
            return None

    def scorer(self, output: str) -> float:
        result = self.processor(output)
        if result is None:
            return -1.0
        return 1.0 if result == list(map(int, self.parameter["reference_answer"].split())) else 0.0
