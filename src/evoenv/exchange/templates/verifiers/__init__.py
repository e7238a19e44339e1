"""Verified environments as a taskset for verifiers."""

from .taskset import EvoEnvTaskset

__all__ = ["EvoEnvTaskset"]
