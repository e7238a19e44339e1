"""What a step trains on: EvoEnv's own loop and the curricula that it is compared with, on one trainer.

| name | a step |
|---|---|
| `evoenv` | the paper's iteration: `evoenv.evolve` |
| `untrained` | nothing |
| `fixed` | solver groups on a fixed set of environments at one difficulty |
| `rlve` | solver groups on a fixed set of environments, each at its own moving difficulty |
| `dapo` | solver groups on a file of problems, filled up with groups that have a signal; overlong shaping |
| `r-zero` | questions by a challenger, labelled by the majority of the solver's own answers |

Each says what a step collects and what it trains on (`stages.curriculum.Curriculum`); `evoenv.evolve` learns from that
and finishes the step. All use the same stages in the same store: every one of them can be killed, resumed, watched and
reported on like `evoenv`.
"""

from __future__ import annotations

import logging
from pathlib import Path

from evoenv.config import Config, to_mapping
from evoenv.curricula import dapo, fixed, r_zero, rlve, untrained
from evoenv.curricula.problems import read_problems
from evoenv.curricula.recipes import recipe
from evoenv.environment.sets import check_environments
from evoenv.errors import ConfigError
from evoenv.evaluation.mathematics import require_math_verify
from evoenv.evolve import EVOENV
from evoenv.stages.curriculum import Curriculum

logger = logging.getLogger(__name__)

CURRICULA: dict[str, Curriculum] = {
    item.name: item
    for item in (
        EVOENV,
        Curriculum("untrained", untrained.collect, untrained.groups, environments=False, trains=False),
        Curriculum("fixed", fixed.collect, fixed.groups),
        Curriculum("rlve", rlve.collect, rlve.groups),
        Curriculum("dapo", dapo.collect, dapo.groups, environments=False),
        Curriculum("r-zero", r_zero.collect, r_zero.groups, environments=False),
    )
}


def curriculum_of(config: Config) -> Curriculum:
    return CURRICULA[config.curriculum.name]


def check_curriculum(config: Config) -> None:
    """Refuse, before any work, settings under which the chosen curriculum cannot run or is not itself."""
    chosen = curriculum_of(config)
    if chosen.name == "untrained" and config.run.tokens_at_least:
        raise ConfigError(
            f"curriculum.name is untrained and run.tokens_at_least is {config.run.tokens_at_least}: a run that asks "
            "nobody would never get there; leave run.tokens_at_least out"
        )
    if chosen.environments:
        check_environments(config.curriculum.environments, config.validation.modules)
    wanted = {"fixed": "fixed", "rlve": "adaptive"}.get(chosen.name)
    if wanted and config.solver.difficulty_rule != wanted:
        raise ConfigError(
            f"curriculum.name is {chosen.name} and solver.difficulty_rule is {config.solver.difficulty_rule!r}; "
            f"this curriculum is defined by {wanted!r}: set it so, or choose another curriculum"
        )
    tree = to_mapping(config)
    for section, values in recipe(chosen.name).items():
        if other := [key for key, value in values.items() if tree[section][key] != value]:
            logger.warning(
                "curriculum.name is %s, whose own rule has another %s: this is a variant of it", chosen.name,
                ", ".join(f"{section}.{key} ({values[key]})" for key in other),
            )  # fmt: skip
    if chosen.name == "dapo":
        if not config.curriculum.problems:
            raise ConfigError(
                "curriculum.name is dapo, which trains on a file of problems; name one: "
                "--set curriculum.problems=FILE.jsonl"
            )
        require_math_verify()
        fields = config.curriculum.problem_field, config.curriculum.answer_field
        read_problems(Path(config.curriculum.problems), *fields)
