# expect: sound
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class ShelfOrder_Environment(VerifiableEnvironment):
    """Only the best cost is stored; an answer that reaches it must be searched for."""

    prompt_template = (
        "Books 0 to {last} have the weights {weights}. They are carried one after another; carrying a book as the k-th "
        "(k counts from 1) costs k times its weight. Find an order with the smallest total cost.\n"
        "**Output Format:** the book numbers in the order of carrying, separated by spaces."
    )

    def __init__(self, wrong_format=-1.0, invalid_solution=-0.5, rewarding_strategy="(gold/answer)^beta",
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
        N = self.parameter["N"]
        weights = self.parameter["weights"] = [random.randint(1, 10 * N) for _ in range(N)]
        self.parameter["gold_answer"] = sum(k * w for k, w in enumerate(sorted(weights, reverse=True), 1))

    def _prompt_generate(self) -> str:
        return self.prompt_template.format(
            last=self.parameter["N"] - 1,
            weights=" ".join("w[{}]={}".format(i, w) for i, w in enumerate(self.parameter["weights"])),
        )

    def _process(self, answer: Optional[str]) -> Optional[List]:
        if answer is not None:
            try:
                return list(map(int, answer.strip().split()))
            except ValueError:
                return None
        return None

    def scorer(self, output: str) -> float:
        order = self.processor(output)
        if order is None:
            return self.rewards["wrong_format"]
        if sorted(order) != list(range(self.parameter["N"])):
            return self.rewards["invalid_solution"]
        answer = sum(k * self.parameter["weights"][i] for k, i in enumerate(order, 1))
        gold = self.parameter["gold_answer"]
        assert gold <= answer
        if self.rewards["rewarding_strategy"] == "(gold/answer)^beta":
            return self.rewards["rewarding_weight"] * ((gold / answer) ** self.rewards["rewarding_beta"])
        elif self.rewards["rewarding_strategy"] == "gold=answer":
            return self.rewards["rewarding_weight"] * (gold == answer)
        raise NotImplementedError


class ShelfOrder_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.N = 3

    def update(self) -> None:
        self.N = int(self.N * 1.1 + 1)

    def get_parameter_list(self) -> List[Dict]:
        return [dict(N=self.N)]
