"""Model-written code is hostile code: run it in a process that the kernel confines (see `host.py`)."""

from evoenv.sandbox.host import DEFAULT_IMPORTS, EnvironmentWorker, Sandbox
from evoenv.sandbox.outcomes import Failed, Limits, Ok, Outcome

__all__ = ["DEFAULT_IMPORTS", "EnvironmentWorker", "Failed", "Limits", "Ok", "Outcome", "Sandbox"]
