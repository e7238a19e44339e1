"""Ask a policy only for what is missing: nothing that it said is lost or asked for twice.

Runs, evaluations and review audits keep samples as they come, each in its own place. Stopped and begun again, they ask
with these functions for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from evoenv.errors import PolicyError
from evoenv.records import Request, Sample

SampleKey: TypeAlias = tuple[str, int]
"""The id of a request and the index of one of its samples."""
Ask: TypeAlias = Callable[[Sequence[Request]], Iterator[Sample]]
"""What answers requests: `policy.sample`, or something around it."""


def keys_of(request: Request) -> list[SampleKey]:
    """List the samples that a request wants."""
    return [(request.id, index) for index in request.wanted or range(request.count)]


def missing_request(request: Request, kept: Container[SampleKey]) -> Request | None:
    """Return a request for the samples that are still missing, or None if all are kept."""
    indices = tuple(index for index in range(request.count) if (request.id, index) not in kept)
    if len(indices) == request.count:
        return request
    return replace(request, wanted=indices) if indices else None


def ask_for_missing(ask: Ask, requests: Sequence[Request], kept: Container[SampleKey], advice: str) -> Iterator[Sample]:
    """Yield every sample that is not kept, once, in the order in which they finish.

    Keeping them is the caller's; a policy that draws again what is kept does no harm. If the policy leaves samples out,
    a PolicyError at the end names the first, with `advice` on what to do.
    """
    missing = [rest for request in requests if (rest := missing_request(request, kept)) is not None]
    if not missing:
        return
    wanted = {key for request in missing for key in keys_of(request)}
    for sample in ask(missing):
        key = (sample.request_id, sample.index)
        if key in wanted:
            wanted.discard(key)
            yield sample
    if wanted:
        raise left_out(wanted, advice)


def left_out(keys: Collection[SampleKey], advice: str) -> PolicyError:
    """Make the error for samples that a policy was asked for and did not give."""
    request_id, index = min(keys)
    return PolicyError(
        f"the policy left {len(keys)} samples out, the first is number {index} of {request_id}; {advice}"
    )
