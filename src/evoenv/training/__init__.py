"""Learning: the role-conditioned GRPO loss, the update, its checkpoints: what engines share.

Import the module that you need (`evoenv.training.update` has the `Trainer`): importing this package must not pull
torch in. What is trained on is decided before, in `evoenv.objective`.
"""
