# expect: L4.hidden-latent
# The controller raises the knob STEP with the level; the answer depends on it and the prompt does not show it.
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class SkipSum_Environment(VerifiableEnvironment):
    prompt_template = "Walk through A = {A} from the left with a fixed step, starting at index 0. Output the sum of the visited numbers."

    def _generate(self) -> None:
        A = self.parameter["A"] = [random.randint(1, 50) for _ in range(self.parameter["N"])]
        self.parameter["reference_answer"] = sum(A[:: self.parameter["STEP"]])

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


class SkipSum_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.N, self.STEP = 8, 2

    def update(self) -> None:
        self.N, self.STEP = self.N + 2, self.STEP + 1

    def get_parameter_list(self) -> List[Dict]:
        return [dict(N=self.N, STEP=self.STEP)]
