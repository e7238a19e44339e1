"""ℓ(e): run the layers in order and stop at the first that finds something."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

from evoenv.records import Finding, ValidationReport
from evoenv.sandbox.imports import DEFAULT_IMPORTS
from evoenv.validation.codes import finding
from evoenv.validation.evidence import Caller, Evidence
from evoenv.validation.l1_source import check_source
from evoenv.validation.l2_execution import check_execution
from evoenv.validation.l3_determinism import check_determinism
from evoenv.validation.l4_variation import check_variation
from evoenv.validation.l5_scorer import check_scorer
from evoenv.validation.wire import checked_description

LAYER_SECONDS = 30.0


class SandboxLike(Protocol):
    @property
    def layers(self) -> Sequence[str]: ...

    def open(
        self,
        source: str,
        *,
        controller: str | None = None,
        parameters: list[dict[str, Any]] | None = None,
        allowed_imports: Sequence[str] = DEFAULT_IMPORTS,
        instrument: bool = False,
        twin: bool = False,
    ) -> Caller: ...


def validate(
    source: str,
    sandbox: SandboxLike,
    *,
    controller: str | None = None,
    parameters: list[dict[str, Any]] | None = None,
    allowed_imports: tuple[str, ...] = DEFAULT_IMPORTS,
    layer_seconds: float = LAYER_SECONDS,
    levels: int | None = None,
) -> ValidationReport:
    """Validate one source and return the verdict. Never raises for anything that the source does.

    `layer_seconds` is CPU time of the source's workers, so that a busy machine does not change the verdict. Raises
    MachineTooSlow if the machine cannot provide it. `levels`: how many the environment has, if its importer knows.
    """
    started, host_cpu = time.perf_counter(), time.thread_time()
    workers: list[Caller] = []

    def report(layer: int, findings: list[Finding], **facts: Any) -> ValidationReport:
        return ValidationReport(
            layer,
            tuple(findings),
            class_name=source_facts.class_name,
            dialect=source_facts.dialect,
            seconds=time.perf_counter() - started,
            cpu_seconds=time.thread_time() - host_cpu + sum(worker.cpu_s for worker in workers),
            sandbox=tuple(sandbox.layers),
            **facts,
        )

    def open_worker(**options: Any) -> Caller:
        workers.append(
            sandbox.open(
                source, controller=controller, parameters=parameters, allowed_imports=allowed_imports, **options
            )
        )
        return workers[-1]

    source_facts, findings = check_source(source, allowed_imports)
    if controller is not None and not findings:
        findings = check_controller(controller, allowed_imports)
    if findings:
        return report(0, findings)
    worker = open_worker()
    try:
        evidence = Evidence(worker, open_worker, spent=lambda: sum(worker.cpu_s for worker in workers))
        if levels is not None:
            evidence.levels = tuple(range(max(1, levels)))
        family = None
        layer = 0
        for check in (check_execution, check_determinism, check_variation):
            layer += 1
            evidence.begin_layer(layer_seconds)
            findings = check(evidence)
            if findings:
                break
        else:
            evidence.begin_layer(layer_seconds)
            family, findings = check_scorer(evidence)
            layer = 4 if findings else 5
    finally:
        worker.close()
    template = checked_description(worker.description).get("template")
    return report(
        layer,
        findings,
        family=family.name if family is not None else None,
        instance_space=evidence.spaces,
        prompt_template=template or (evidence.drawn[0].prompt if evidence.drawn else ""),
    )


def check_controller(source: str, allowed_imports: tuple[str, ...]) -> list[Finding]:
    """Check that a controller file obeys the same rules for imports and names; the worker finds its class."""
    findings = check_source(source, allowed_imports)[1]
    unwanted = ("L1.no-class", "L1.missing-method", "L1.signature", "L1.several-classes")
    return [
        finding(fault.code, f"in the controller: {fault.message}") for fault in findings if fault.code not in unwanted
    ]
