"""From the words of a command to a suite."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from evoenv.errors import InputError
from evoenv.evaluation.benchmarks import GRADERS, BenchmarkSuite, Fields, GraderName, benchmark_suite
from evoenv.evaluation.environments import EnvironmentSuite, environment_suite
from evoenv.evaluation.held_out import PREFIX, HeldOutSuite, held_out_suite
from evoenv.evaluation.mathematics import require_math_verify


def find_suite(
    text: str,
    *,
    difficulties: Sequence[int],
    instances: int,
    seed: int,
    programs: int | None = None,
    per_family: int | None = None,
    fields: Fields = Fields(),  # noqa: B008 - frozen
    limit: int | None = None,
    allow_degraded: bool = False,
    grades: bool = True,
) -> EnvironmentSuite | BenchmarkSuite | HeldOutSuite:
    """Open a JSONL file of problems (`math:FILE`, `choice:FILE`, `program:FILE`, FILE.jsonl), else environments.

    What a grader needs is asked for here, before anybody is evaluated.
    """
    kind, _, rest = text.partition(":")
    if kind == PREFIX and rest:
        return held_out_suite(text, Path(rest), seed=seed, limit=limit)
    grader: GraderName | Literal["auto"] | None = next((name for name in GRADERS if name == kind and rest), None)
    if grader is None and text.endswith(".jsonl"):
        grader, rest = "auto", text
    if grader is not None:
        suite = benchmark_suite(
            Path(rest),
            name=text,
            grader=grader,
            fields=fields,
            limit=limit,
            seed=seed,
            allow_degraded=allow_degraded,
        )
        if grades and any(problem.grader == "math" for problem in suite.problems):
            require_math_verify()
        return suite
    if Path(text).suffix in (".json", ".csv", ".parquet"):
        raise InputError(f"{text} is no suite yet; `evoenv eval convert {text} -o FILE.jsonl` makes one of it")
    return environment_suite(
        text, difficulties=difficulties, instances=instances, seed=seed, programs=programs, per_family=per_family
    )


def results_name(text: str) -> str:
    """Turn a suite's words into the name of a file; a path keeps its last part and gets a digest of the whole."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text.rstrip("/").rpartition("/")[2]).strip("-.")[:60]
    if re.fullmatch(r"seeds|corpus:[a-z-]+", text):
        return text.replace(":", "-")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain.removesuffix('.jsonl').removesuffix('.py') or 'suite'}-{digest}"
