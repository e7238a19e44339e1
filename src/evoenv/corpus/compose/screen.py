"""Run our own programs in this process: to screen out pointless compositions, and to solve and break instances.

Only for sources that this package wrote itself. Anything else belongs in the sandbox.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from evoenv.corpus.catalogue.parts import Part
from evoenv.corpus.compose.chains import idle_step
from evoenv.sandbox.guest.contract import VerifiableEnvironment

LEVELS, SEEDS = (1, 2, 3, 5, 8), 8
TOO_OFTEN = 0.75
"""A rule over the prompt's numbers that is right this often makes a task pointless."""
LOPSIDED = 0.6
"""So does an answer that is right this often: guessing it would pay."""
ENDS = 4
"""Numbers from either end of the prompt that are tried as answers."""

_NUMBER = re.compile(r"-?\d+")


def load(source: str) -> Any:
    """Make an environment object from a source of our own."""
    names: dict[str, Any] = {"VerifiableEnvironment": VerifiableEnvironment}
    exec(compile(source, "<corpus program>", "exec"), names)
    made = [
        value
        for value in names.values()
        if isinstance(value, type) and issubclass(value, VerifiableEnvironment) and value is not VerifiableEnvironment
    ]
    return made[0]()


def answer_text(answer: Any) -> str:
    """Write an answer as the prompts ask for it."""
    return " ".join(map(str, answer)) if isinstance(answer, list) else str(answer)


def pointless(source: str, parts: Sequence[Part] = ()) -> str:
    """Say why a program is no task: constant, solved by a glance, failing, or with an idle step. Empty if it is one."""
    environment = load(source)
    instances: list[dict[str, Any]] = []
    answers: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    total = 0
    for level in LEVELS:
        for seed in range(SEEDS):
            try:
                z, a = environment._generate(1000 * level + seed, level)
            except Exception as error:  # whatever goes wrong, the composition is at fault
                return f"_generate fails with {error!r}"
            total += 1
            instances.append(z)
            text = answer_text(a)
            answers[text] += 1
            numbers = _NUMBER.findall(environment._prompt_generate(z))
            rules.update({name for name, value in _glances(numbers) if value == text})
    answer, count = answers.most_common(1)[0]
    if count >= LOPSIDED * total:
        return f"the answer is {answer} for {count} of {total} instances"
    for name, count in rules.most_common(1):
        if count >= TOO_OFTEN * total:
            return f"{name} is the answer for {count} of {total} instances"
    idle = idle_step(parts, instances, TOO_OFTEN) if parts else ""
    return f"the step {idle} hardly ever changes anything" if idle else ""


def _glances(numbers: list[str]) -> list[tuple[str, str]]:
    """List the answers that a look at the prompt's numbers suggests, each with its rule."""
    if not numbers:
        return []
    values = [int(number) for number in numbers]
    seen = [(f"number {i}", number) for i, number in enumerate(numbers[:ENDS])]
    seen += [(f"number {i} from the end", number) for i, number in enumerate(numbers[::-1][:ENDS])]
    computed = {
        "the largest": max(values),
        "the smallest": min(values),
        "the count": len(values),
        "the sum": sum(values),
    }
    return seen + [(name, str(value)) for name, value in computed.items()]
