# expect: sound
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class LatticePaths_Environment(VerifiableEnvironment):
    """Only gold_answer is stored, and the gold value is what the solver must write."""

    prompt_template = (
        "A robot stands in the lower left corner of a grid of {N} by {M} points and walks one step right or up at a time. "
        "It must not visit these points: {blocked}. Points are (column, row), counted from 0; it starts at (0, 0).\n"
        "How many paths to the point ({last_col}, {last_row}) are there?"
    )

    def __init__(self, wrong_format: float = -1.0, correct_answer: float = +1.0, wrong_answer: float = 0.0, **kwargs):
        super().__init__(**kwargs)
        self.rewards = {"wrong_format": wrong_format, "correct_answer": correct_answer, "wrong_answer": wrong_answer}

    def _generate(self) -> None:
        N = self.parameter["N"]
        M = self.parameter["M"] = random.randint(3, N)
        while True:
            inner = [(c, r) for c in range(N) for r in range(M) if 0 < c + r < N + M - 2]
            blocked = sorted(random.sample(inner, random.randint(1, 3)))
            ways = [[0] * M for _ in range(N)]
            ways[0][0] = 1
            for c in range(N):
                for r in range(M):
                    if (c, r) in blocked:
                        ways[c][r] = 0
                        continue
                    if c:
                        ways[c][r] += ways[c - 1][r]
                    if r:
                        ways[c][r] += ways[c][r - 1]
            if ways[N - 1][M - 1] > 0:
                break
        self.parameter["blocked"] = blocked
        self.parameter["gold_answer"] = ways[N - 1][M - 1]

    def _prompt_generate(self) -> str:
        p = self.parameter
        blocked = " ".join("({}, {})".format(c, r) for c, r in p["blocked"])
        return self.prompt_template.format(N=p["N"], M=p["M"], blocked=blocked, last_col=p["N"] - 1, last_row=p["M"] - 1)

    def _process(self, answer: Optional[str]) -> Optional[int]:
        if answer is None:
            return None
        try:
            return int(answer.strip())
        except ValueError:
            return None

    def scorer(self, output: str) -> float:
        result = self.processor(output)
        if result is None:
            return self.rewards["wrong_format"]
        if result == self.parameter["gold_answer"]:
            return self.rewards["correct_answer"]
        return self.rewards["wrong_answer"]


class LatticePaths_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.N = 4

    def update(self):
        self.N += 1

    def get_parameter_list(self) -> List[Dict]:
        return [dict(N=self.N)]
