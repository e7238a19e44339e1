"""Learning: group advantages, the role-conditioned GRPO loss, the update, its checkpoints.

Import the module that you need (`evoenv.training.update` has the `Trainer`): `advantages` runs without torch,
and importing this package must not pull torch in.
"""
