"""The base class that environment files extend (it lives beside the worker, which adapts the dialects)."""

from evoenv.sandbox.guest.contract import ParameterController, VerifiableEnvironment

__all__ = ["ParameterController", "VerifiableEnvironment"]
