"""P, S and C: the pool's state and rotation (pure), tags and prototypes (pure), and the run's store (SQLite)."""
