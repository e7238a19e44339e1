"""Staged validation: ℓ(e) is the highest of five layers that a source passes. `validate` runs them in order."""
