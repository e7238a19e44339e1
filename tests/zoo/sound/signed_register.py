# expect: sound
from __future__ import annotations

import random
from typing import Any, Dict, List, Optional, Tuple

OPS = ("add", "sub", "mul", "neg")


def run(start: int, program: List[Tuple[str, int]]) -> int:
    value = start
    for op, arg in program:
        if op == "add":
            value += arg
        elif op == "sub":
            value -= arg
        elif op == "mul":
            value *= arg
        else:
            value = -value
    return value


class SignedRegister(VerifiableEnvironment):
    """Trace a register through a small program; the result is often negative."""

    prompt_template = "A register holds {start}. These instructions run in order:\n{program}\nWhat does it hold at the end?"

    def _generate(self, seed: int, difficulty: int) -> Tuple[Dict[str, Any], int]:
        rng = random.Random(seed)
        start = rng.randint(-20, 20)
        program = []
        for _ in range(3 + difficulty):
            op = rng.choice(OPS)
            program.append((op, 0 if op == "neg" else rng.randint(2, 9)))
        return {"start": start, "program": program}, run(start, program)

    def _prompt_generate(self, z: Dict[str, Any]) -> str:
        lines = ["neg" if op == "neg" else f"{op} {arg}" for op, arg in z["program"]]
        return self.prompt_template.format(start=z["start"], program="\n".join(lines))

    def _process(self, y: str) -> Optional[int]:
        text = y.strip()
        if len(text) > 100:
            return None
        try:
            return int(text)
        except ValueError:
            return None

    def scorer(self, y: str, z: Dict[str, Any], a: int) -> float:
        return float(self._process(y) == a)
