# expect: L5.no-reference
# Only the best score is stored; nobody can write down an answer that is known to reach it.
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class Codeword_Environment(VerifiableEnvironment):
    prompt_template = "Find a word of exactly {N} lower-case letters. A letter at place i (from 0) earns these points: {table}; other letters earn 0. Output a word with the most points."

    def __init__(self, wrong_format=-1.0, invalid_solution=-0.5, **kwargs):
        super().__init__(**kwargs)
        self.rewards = {"wrong_format": wrong_format, "invalid_solution": invalid_solution}

    def _generate(self) -> None:
        N = self.parameter["N"]
        letters = "cdefghijkmnopqstuvwxyz"
        self.parameter["table"] = [{c: random.randint(1, 99) for c in random.sample(letters, 5)} for _ in range(N)]
        self.parameter["gold_answer"] = sum(max(row.values()) for row in self.parameter["table"])

    def _prompt_generate(self) -> str:
        rows = "; ".join("place {}: {}".format(i, row) for i, row in enumerate(self.parameter["table"]))
        return self.prompt_template.format(N=self.parameter["N"], table=rows)

    def _process(self, answer: Optional[str]) -> Optional[str]:
        return answer.strip() if answer is not None and answer.strip().isalpha() else None

    def scorer(self, output: str) -> float:
        word = self.processor(output)
        if word is None:
            return self.rewards["wrong_format"]
        if len(word) != self.parameter["N"]:
            return self.rewards["invalid_solution"]
        points = sum(row.get(c, 0) for row, c in zip(self.parameter["table"], word))
        return (points / self.parameter["gold_answer"]) ** 3


class Codeword_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.N = 12

    def update(self) -> None:
        self.N += 2

    def get_parameter_list(self) -> List[Dict]:
        return [dict(N=self.N)]
