# expect: L5.malformed-rewarded
# The rewards were mixed up: a malformed answer earns more than a wrong one.
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class ModInverse_Environment(VerifiableEnvironment):
    prompt_template = "Find the integer x with 0 < x < {P} and {A} * x mod {P} = 1. Output a single integer."

    def __init__(self, wrong_format: float = +0.5, correct_answer: float = +1.0, wrong_answer: float = -1.0, **kwargs):
        super().__init__(**kwargs)
        self.rewards = {"wrong_format": wrong_format, "correct_answer": correct_answer, "wrong_answer": wrong_answer}

    def _generate(self) -> None:
        low = self.parameter["LOW"]
        P = low + 1
        while any(P % d == 0 for d in range(2, int(P**0.5) + 1)):
            P += 1
        for _ in range(random.randint(0, 9)):
            P += 1
            while any(P % d == 0 for d in range(2, int(P**0.5) + 1)):
                P += 1
        self.parameter["P"] = P
        self.parameter["A"] = random.randint(2, P - 2)
        self.parameter["reference_answer"] = pow(self.parameter["A"], -1, P)

    def _prompt_generate(self) -> str:
        return self.prompt_template.format(A=self.parameter["A"], P=self.parameter["P"])

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


class ModInverse_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.LOW = 10

    def update(self) -> None:
        self.LOW *= 2

    def get_parameter_list(self) -> List[Dict]:
        return [dict(LOW=self.LOW)]
