# expect: L2.score-range
# RLVE-Gym's scores live in [-1, 1]; this one pays a bonus of 2 for the right answer.
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class PowerTower_Environment(VerifiableEnvironment):
    prompt_template = "Compute {base}^{exponent} mod {MOD}. Output one integer."

    def __init__(self, wrong_format=-1.0, correct_answer=+2.0, wrong_answer=0.0, **kwargs):
        super().__init__(**kwargs)
        self.rewards = {"wrong_format": wrong_format, "correct_answer": correct_answer, "wrong_answer": wrong_answer}

    def _generate(self) -> None:
        limit = self.parameter["MAX"]
        self.parameter["base"] = random.randint(2, limit)
        self.parameter["exponent"] = random.randint(2, limit)
        self.parameter["MOD"] = random.randint(5, limit + 5)
        self.parameter["reference_answer"] = pow(
            self.parameter["base"], self.parameter["exponent"], self.parameter["MOD"]
        )

    def _prompt_generate(self) -> str:
        p = self.parameter
        return self.prompt_template.format(base=p["base"], exponent=p["exponent"], MOD=p["MOD"])

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


class PowerTower_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.MAX = 10

    def update(self) -> None:
        self.MAX *= 2

    def get_parameter_list(self) -> List[Dict]:
        return [dict(MAX=self.MAX)]
