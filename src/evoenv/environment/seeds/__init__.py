"""The ten seed environments: first pool, few-shot examples and documentation of the contract.

The files are sources to be read and to be run in the sandbox, not modules to import: the base class they extend is
supplied where they are loaded.
"""

from __future__ import annotations

import re
from importlib import resources

from evoenv.errors import InputError

SEED_NAMES: tuple[str, ...] = (
    "Sorting",
    "SlidingWindow",
    "MonotonicStack",
    "Knapsack",
    "SubsetSum",
    "BoundedIntervalIntersection",
    "Bridge",
    "EuclidGame",
    "Fibonacci",
    "RecursiveFunction",
)
"""The class names, in the order of the paper's table."""


def seed_source(name: str) -> str:
    """Return the source text of one seed, by its class name."""
    if name not in SEED_NAMES:
        raise InputError(f"no seed environment is called {name!r}; the seeds are {', '.join(SEED_NAMES)}")
    stem = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return resources.files(__name__).joinpath(f"{stem}.py").read_text(encoding="utf-8")


def seed_sources() -> dict[str, str]:
    """Return all ten sources by class name, in the order of `SEED_NAMES`."""
    return {name: seed_source(name) for name in SEED_NAMES}
