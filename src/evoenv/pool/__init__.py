"""P, S and C: the pool's state and rotation (pure), tags and prototypes (pure)."""
