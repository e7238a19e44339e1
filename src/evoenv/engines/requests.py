"""Checks of requests that hold for every policy, made before any work."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

from evoenv.errors import InputError, PolicyError
from evoenv.objective import TRAINED_ROLES
from evoenv.ports import Policy, Sampling
from evoenv.records import Request


def check_requests(requests: Sequence[Request], earlier: Container[str] = ()) -> None:
    """Raise InputError, naming the request, if one makes no sense, or has the id of another or of an `earlier` one."""
    seen: set[str] = set()
    for request in requests:
        _check_request(request)
        if request.id in seen or request.id in earlier:
            raise InputError(f"two requests of one sampling session share the id {request.id!r}; ids must differ")
        seen.add(request.id)


def check_submission(session: Sampling, policy: Policy, requests: Sequence[Request], earlier: Container[str]) -> None:
    """Refuse what a session cannot take: it is closed, or a request makes no sense or cannot be met."""
    if session.closed:
        raise PolicyError("this sampling session is closed; open another one")
    check_requests(requests, earlier)
    policy.check(requests)


def wanted_indices(request: Request) -> Sequence[int]:
    """List the samples to draw: all of them, or those that a run stopped half-way still lacks."""
    return request.wanted or range(request.count)


def _check_request(request: Request) -> None:
    wrong = ""
    if not request.messages:
        wrong = "has no messages"
    elif request.count < 1:
        wrong = f"asks for {request.count} samples; expected 1 or more"
    elif not set(request.wanted) <= set(range(request.count)):
        wrong = f"wants the samples {list(request.wanted)}; expected numbers from 0 to {request.count - 1}"
    elif request.max_tokens < 1:
        wrong = f"has max_tokens = {request.max_tokens}; expected 1 or more"
    elif not (math.isfinite(request.temperature) and request.temperature >= 0):
        wrong = f"has temperature {request.temperature}; expected a number >= 0"
    elif not 0 < request.top_p <= 1:
        wrong = f"has top_p = {request.top_p}; expected 0 < top_p <= 1"
    elif "" in request.stop:
        wrong = "has an empty stop string, which every text contains"
    elif request.trains and request.role not in TRAINED_ROLES:
        wrong = f"is to be trained on; only {' and '.join(TRAINED_ROLES)} are"
    if wrong:
        raise InputError(f"request {request.id!r} ({request.role}) {wrong}")
