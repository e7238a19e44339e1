"""Which environments of a suite are trained on: an accuracy on those is not a held-out one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from evoenv.environment.held_out import identities_of
from evoenv.evaluation.environments import EnvironmentSuite, SuiteEnvironment
from evoenv.evaluation.held_out import HeldOutSuite
from evoenv.evaluation.suite import Suite

NAMES_SHOWN = 8


def environments_of(suite: Suite) -> Sequence[SuiteEnvironment]:
    """Return the environments that a suite asks; none if it is a file of problems."""
    return suite.environments if isinstance(suite, EnvironmentSuite | HeldOutSuite) else ()


def shared_names(suite: Suite, trained: Collection[str]) -> list[str]:
    """Name the environments of a suite that are among the `trained`, which are given by their identities."""
    return [
        environment.label
        for environment in environments_of(suite)
        if not identities_of(environment.source, environment.controller).isdisjoint(trained)
    ]


def identities(sources: Iterable[str]) -> set[str]:
    """Return all that identifies some environments."""
    return {identity for source in sources for identity in identities_of(source)}


def in_words(shared: Mapping[str, Sequence[str]]) -> str:
    """Write `2 environments of the suite seeds (Bridge, Sorting)`, for every suite that shares some."""
    parts = []
    for suite, names in shared.items():
        more = f", … and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        count = "1 environment" if len(names) == 1 else f"{len(names)} environments"
        parts.append(f"{count} of the suite {suite} ({', '.join(names[:NAMES_SHOWN])}{more})")
    return " and ".join(parts)
