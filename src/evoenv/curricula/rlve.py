"""`rlve`: RLVE's adaptive difficulty over a fixed set of environments.

Each environment has a top level h, from 0. A group draws its environment uniformly and its level d uniformly from
{max(0, h − 3) … h}. All samples at d = h are counted, those of groups without signal included; once there are 8·n of
them (n: responses per prompt), h rises by one if at least 90% were fully right, and the counters start again either
way. h never falls. The rule itself is `pool.state.Difficulty`, which the store keeps per environment.

RLVE's own training also draws three times the prompts and drops groups without signal until its batch is full. Here
every curriculum but DAPO, whose rule that is, draws `solver.prompts` groups a step.
"""

from __future__ import annotations

from evoenv.curricula import fixed

# `check_curriculum` insists on solver.difficulty_rule = "adaptive": then this is the rule above.
collect = fixed.collect
groups = fixed.groups
