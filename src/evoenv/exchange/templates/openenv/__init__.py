"""Verified environments behind one OpenEnv server: the client and its models."""

from .client import EvoEnvClient
from .models import EvoEnvAction, EvoEnvObservation

__all__ = ["EvoEnvAction", "EvoEnvClient", "EvoEnvObservation"]
