"""The error tree.

    EvoEnvError
    ├── InputError            a file, flag or argument the user can mend            (exit code 2)
    ├── ConfigError           a configuration that cannot run; stops before work    (exit code 2)
    ├── SandboxError          isolation is missing, broken, or was refused
    │   ├── SandboxUnavailable    a layer the run insists on is not there
    │   └── MachineTooSlow        no verdict: other programs took the CPU time that validation needs
    ├── ModelError            weights or tokenizer: not found, damaged, unfit
    ├── PolicyError           sampling or updating failed
    │   ├── EndpointError         a server refused, vanished or misbehaved
    │   └── BudgetExhausted       a token or money budget is used up (a clean stop)
    └── StoreError            the run directory: locked, corrupt, full, of another version

A bad *candidate* is never an exception: it is a record with findings. Messages say what was got, what
was expected and what to do next.
"""

from __future__ import annotations


class EvoEnvError(Exception):
    """Base of every error EvoEnv raises on purpose; the command line prints it as one line."""

    exit_code = 1


class InputError(EvoEnvError):
    exit_code = 2


class ConfigError(EvoEnvError):
    exit_code = 2


class SandboxError(EvoEnvError):
    pass


class SandboxUnavailable(SandboxError):
    pass


class MachineTooSlow(SandboxError):
    pass


class ModelError(EvoEnvError):
    pass


class PolicyError(EvoEnvError):
    pass


class EndpointError(PolicyError):
    pass


class BudgetExhausted(PolicyError):
    pass


class StoreError(EvoEnvError):
    pass


class OlderRun(StoreError):
    """The run was written by an older version, and may not be brought up to date in its place."""
