"""Each source is validated once in a session: what a run does with a verdict needs no second look at the same source.

Most tests of the loop let a script propose the same dozen sources again and again. The first verdict on each is a real
one, by a real sandbox; how verdicts come about is tested in `validation/`, which this does not touch. Tests in which
a verdict has to take its time ask for `validated_anew`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evoenv.records import ValidationReport


@pytest.fixture(scope="session", autouse=True)
def _each_source_is_validated_once() -> Iterator[None]:
    from evoenv.stages import synthesis

    validate = synthesis.validate
    verdicts: dict[tuple[Any, ...], ValidationReport] = {}

    def remembered(source: str, sandbox: Any, *, layer_seconds: float) -> ValidationReport:
        key = source, sandbox.modules, sandbox.limits, sandbox.layers, layer_seconds
        if key not in verdicts:
            verdicts[key] = validate(source, sandbox, layer_seconds=layer_seconds)
        return verdicts[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthesis, "validate", remembered)
        yield


@pytest.fixture(scope="module")
def validated_anew() -> Iterator[None]:
    """Let runs validate every source each time that it is proposed, as they do outside the tests."""
    from evoenv.stages import synthesis
    from evoenv.validation.validate import validate

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthesis, "validate", validate)
        yield
