"""EvoEnv: a language model writes the Python environments that train it.

    import evoenv

    report = evoenv.validate(Path("my_env.py"))
    config = evoenv.load_config(evoenv.preset("nano"), overrides=["run.steps=4"])
    result = evoenv.train(config, "runs/mine")
    evoenv.evaluate(result.directory, "corpus:held-out").accuracy

The names in `__all__` are the public surface; docs/library.md shows them at work. Each is imported when it is first
used, so that `import evoenv` costs nothing and loads neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from evoenv.api import RunResult, evaluate, synthesise, train
    from evoenv.checking import validate
    from evoenv.config import Config, load_config
    from evoenv.engines.scripted import ScriptedPolicy
    from evoenv.environment.base import VerifiableEnvironment
    from evoenv.errors import (
        BudgetExhausted,
        ConfigError,
        EndpointError,
        EvoEnvError,
        InputError,
        ModelError,
        PolicyError,
        SandboxError,
        SandboxUnavailable,
        StoreError,
    )
    from evoenv.evaluation.evaluate import Evaluation
    from evoenv.exchange.bundle import PoolEntry, load_entries
    from evoenv.ports import Policy
    from evoenv.presets import preset, preset_names
    from evoenv.records import (
        Calibration,
        Candidate,
        Decision,
        Finding,
        Instance,
        Message,
        Novelty,
        Request,
        Review,
        Sample,
        Score,
        StepSummary,
        ValidationReport,
        environment_id,
    )
    from evoenv.sandbox.host import Limits, Sandbox
    from evoenv.stages.context import Observer

_MODULES: dict[str, tuple[str, ...]] = {
    "evoenv.api": ("RunResult", "evaluate", "synthesise", "train"),
    "evoenv.checking": ("validate",),
    "evoenv.config": ("Config", "load_config"),
    "evoenv.engines.scripted": ("ScriptedPolicy",),
    "evoenv.environment.base": ("VerifiableEnvironment",),
    "evoenv.errors": (
        "BudgetExhausted",
        "ConfigError",
        "EndpointError",
        "EvoEnvError",
        "InputError",
        "ModelError",
        "PolicyError",
        "SandboxError",
        "SandboxUnavailable",
        "StoreError",
    ),
    "evoenv.evaluation.evaluate": ("Evaluation",),
    "evoenv.exchange.bundle": ("PoolEntry", "load_entries"),
    "evoenv.ports": ("Policy",),
    "evoenv.presets": ("preset", "preset_names"),
    "evoenv.records": (
        "Calibration",
        "Candidate",
        "Decision",
        "Finding",
        "Instance",
        "Message",
        "Novelty",
        "Request",
        "Review",
        "Sample",
        "Score",
        "StepSummary",
        "ValidationReport",
        "environment_id",
    ),
    "evoenv.sandbox.host": ("Limits", "Sandbox"),
    "evoenv.stages.context": ("Observer",),
}
"""Where each public name is defined: the imports above, for the interpreter. A test compares the two."""

_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "BudgetExhausted",
    "Calibration",
    "Candidate",
    "Config",
    "ConfigError",
    "Decision",
    "EndpointError",
    "Evaluation",
    "EvoEnvError",
    "Finding",
    "InputError",
    "Instance",
    "Limits",
    "Message",
    "ModelError",
    "Novelty",
    "Observer",
    "Policy",
    "PolicyError",
    "PoolEntry",
    "Request",
    "Review",
    "RunResult",
    "Sample",
    "Sandbox",
    "SandboxError",
    "SandboxUnavailable",
    "Score",
    "ScriptedPolicy",
    "StepSummary",
    "StoreError",
    "ValidationReport",
    "VerifiableEnvironment",
    "__version__",
    "environment_id",
    "evaluate",
    "load_config",
    "load_entries",
    "preset",
    "preset_names",
    "synthesise",
    "train",
    "validate",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'evoenv' has no attribute {name!r}; its public names are in evoenv.__all__")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
