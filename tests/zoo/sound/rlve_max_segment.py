# expect: sound
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class MaxSegment_Environment(VerifiableEnvironment):
    """RLVE-Gym shape with a graded reward in [-1, 1]; the reference is a full answer."""

    prompt_template = (
        "You are given an array A of {N} integers: {array}\n"
        "Choose indices l and r with 0 <= l <= r < {N} such that A[l] + A[l+1] + ... + A[r] is as large as possible.\n"
        "**Output Format:** the two integers l and r, separated by a space."
    )

    def __init__(self, wrong_format=-1.0, invalid_solution=-0.5, rewarding_strategy="(answer/gold)^beta",
                 rewarding_weight=+1.0, rewarding_beta=5.0, **kwargs):
        super().__init__(**kwargs)
        self.rewards = {
            "wrong_format": wrong_format,
            "invalid_solution": invalid_solution,
            "rewarding_strategy": rewarding_strategy,
            "rewarding_weight": rewarding_weight,
            "rewarding_beta": rewarding_beta,
        }

    def _generate(self) -> None:
        assert "N" in self.parameter, "N is required in parameter"
        N = self.parameter["N"]
        assert N >= 3, "N should be at least 3"
        A = self.parameter["A"] = [random.randint(-N * 3, N * 3) for _ in range(N)]
        A[random.randrange(N)] = random.randint(1, N * 3)
        best, where = None, None
        for l in range(N):
            total = 0
            for r in range(l, N):
                total += A[r]
                if best is None or total > best:
                    best, where = total, (l, r)
        self.parameter["gold_answer"] = best
        self.parameter["reference_answer"] = "{} {}".format(*where)

    def _prompt_generate(self) -> str:
        N = self.parameter["N"]
        return self.prompt_template.format(N=N, array=" ".join(map(str, self.parameter["A"])))

    def _process(self, answer: Optional[str]) -> Optional[List]:
        if answer is not None:
            answer = answer.strip()
            try:
                return list(map(int, answer.split()))
            except ValueError:
                return None
        else:
            return None

    def scorer(self, output: str) -> float:
        processed_result = self.processor(output)
        if processed_result is None:
            return self.rewards["wrong_format"]
        if len(processed_result) != 2:
            return self.rewards["invalid_solution"]
        l, r = processed_result
        if not (0 <= l <= r < self.parameter["N"]):
            return self.rewards["invalid_solution"]
        answer, gold = sum(self.parameter["A"][l : r + 1]), self.parameter["gold_answer"]
        assert answer <= gold
        if self.rewards["rewarding_strategy"] == "(answer/gold)^beta":
            return self.rewards["rewarding_weight"] * (max(0, answer) / gold) ** self.rewards["rewarding_beta"]
        elif self.rewards["rewarding_strategy"] == "gold=answer":
            return self.rewards["rewarding_weight"] * (answer == gold)
        raise NotImplementedError("Unknown rewarding strategy: {}".format(self.rewards["rewarding_strategy"]))


class MaxSegment_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.N = 4

    def update(self) -> None:
        self.N = int(self.N * 1.1 + 1)

    def get_parameter_list(self) -> List[Dict]:
        return [dict(N=self.N)]
