# expect: L4.hidden-latent
# The controller's knob MOD decides the answer, and the prompt never shows it.
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class DotProduct_Environment(VerifiableEnvironment):
    prompt_template = "Compute the dot product of A = {A} and B = {B}. Output the remainder modulo MOD."

    def __init__(self, wrong_format=-1.0, correct_answer=+1.0, wrong_answer=0.0, **kwargs):
        super().__init__(**kwargs)
        self.rewards = {"wrong_format": wrong_format, "correct_answer": correct_answer, "wrong_answer": wrong_answer}

    def _generate(self) -> None:
        N, MOD = self.parameter["N"], self.parameter["MOD"]
        A = self.parameter["A"] = [random.randint(1, 30) for _ in range(N)]
        B = self.parameter["B"] = [random.randint(1, 30) for _ in range(N)]
        self.parameter["reference_answer"] = sum(a * b for a, b in zip(A, B)) % MOD

    def _prompt_generate(self) -> str:
        return self.prompt_template.format(A=self.parameter["A"], B=self.parameter["B"])

    def _process(self, answer: Optional[str]) -> Optional[int]:
        try:
            return int(answer.strip()) if answer is not None else None
        except ValueError:
            return None

    def scorer(self, output: str) -> float:
        result = self.processor(output)
        if result is None:
            return self.rewards["wrong_format"]
        return self.rewards["correct_answer" if result == self.parameter["reference_answer"] else "wrong_answer"]


class DotProduct_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.N = 3

    def update(self) -> None:
        self.N += 1

    def get_parameter_list(self) -> List[Dict]:
        return [dict(N=self.N, MOD=mod) for mod in (97, 101, 1009)]
