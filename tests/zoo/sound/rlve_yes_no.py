# expect: sound
import random
from typing import Dict, List, Optional

from Gym.environment import VerifiableEnvironment
from Gym.parameter_controller import ParameterController


class Bipartite_Environment(VerifiableEnvironment):
    prompt_template = "An undirected graph has the vertices 0 to {last} and the edges {edges}. Can its vertices be split into two groups so that every edge connects the groups? Output `Yes` or `No`."

    def __init__(self, wrong_format: float = -1.0, correct_answer: float = +1.0, wrong_answer: float = 0.0, **kwargs):
        super().__init__(**kwargs)
        self.rewards = {"wrong_format": wrong_format, "correct_answer": correct_answer, "wrong_answer": wrong_answer}

    def _generate(self) -> None:
        N = self.parameter["N"]
        side = [random.randint(0, 1) for _ in range(N)]
        side[0], side[1] = 0, 1
        across = [(u, v) for v in range(N) for u in range(v) if side[u] != side[v]]
        within = [(u, v) for v in range(N) for u in range(v) if side[u] == side[v]]
        edges = random.sample(across, min(len(across), 2 * N))
        if random.random() < 0.7 and within:
            edges += random.sample(within, min(len(within), 2))
        random.shuffle(edges)
        self.parameter["edges"] = edges
        colour = {}
        good = True
        for root in range(N):
            stack = [(root, 0)] if root not in colour else []
            while stack:
                v, c = stack.pop()
                if v in colour:
                    good = good and colour[v] == c
                    continue
                colour[v] = c
                stack += [(b if a == v else a, 1 - c) for a, b in edges if v in (a, b)]
        self.parameter["reference_answer"] = "Yes" if good else "No"

    def _prompt_generate(self) -> str:
        edges = " ".join("({}, {})".format(u, v) for u, v in self.parameter["edges"])
        return self.prompt_template.format(last=self.parameter["N"] - 1, edges=edges)

    def _process(self, answer: Optional[str]) -> Optional[str]:
        return answer.strip() if answer is not None else None

    def scorer(self, output: str) -> float:
        result = self.processor(output)
        if result is None:
            return self.rewards["wrong_format"]
        if result not in ("Yes", "No"):
            return self.rewards["wrong_format"]
        return self.rewards["correct_answer" if result == self.parameter["reference_answer"] else "wrong_answer"]


class Bipartite_ParameterController(ParameterController):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.N = 5

    def update(self) -> None:
        self.N += 1

    def get_parameter_list(self) -> List[Dict]:
        return [dict(N=self.N)]
