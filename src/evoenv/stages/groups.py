"""What a step trains on, read back from the store: samples with their rewards, by role and request."""

from __future__ import annotations

from collections.abc import Container

from evoenv.ids import GeneratorRequestId
from evoenv.records import Group, Sample
from evoenv.store.store import Purpose, Store


def generator_groups(store: Store, step: int) -> list[Group]:
    """Return the generator's samples with the rewards of the candidates (or questions) that they are, by prompt."""
    rewards = store.generator_rewards(step)
    groups: list[Group] = []
    for request_id, samples in _by_request(store, step, "generate").items():
        request = GeneratorRequestId.parse(request_id)
        values = tuple(rewards[str(request.candidate(sample.index))] for sample in samples)
        groups.append(Group(request_id, "generator", samples, values))
    return groups


def solver_groups(store: Store, step: int, only: Container[str] | None = None) -> list[Group]:
    """Return the solver's samples with their scores, by request; `only` these, if others are not all answered yet."""
    scores = store.scores(step, "solve")
    return [
        Group(request_id, "solver", samples, tuple(scores[request_id, sample.index].value for sample in samples))
        for request_id, samples in _by_request(store, step, "solve").items()
        if only is None or request_id in only
    ]


def _by_request(store: Store, step: int, purpose: Purpose) -> dict[str, tuple[Sample, ...]]:
    """Return the samples of each request in order, without those that failed; their texts stay in the store."""
    samples: dict[str, list[Sample]] = {request_id: [] for request_id in store.requests(step, purpose)}
    for sample in store.samples(step, purpose, texts=False).values():
        if sample.finish_reason != "error":
            samples[sample.request_id].append(sample)
    return {request_id: tuple(members) for request_id, members in samples.items()}
