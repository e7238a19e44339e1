"""Asking the policy so that nothing it said is ever lost or asked for twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evoenv.pool.store import Asked, Purpose, Stage
from evoenv.records import Sample
from evoenv.stages.context import Run


def ask(run: Run, step: int, stage: Stage, asked: Sequence[Asked]) -> Iterator[Sample]:
    """Every sample of every request: first those that were kept before a stop, then the rest as they finish.

    A request that is only half answered is sampled again as a whole, since a policy promises the same samples
    only for the same request; what is already kept stays.
    """
    if not asked:
        return
    run.store.add_requests(step, asked)
    purposes: set[Purpose] = {item.purpose for item in asked}
    kept = {key: sample for purpose in sorted(purposes) for key, sample in run.store.samples(step, purpose).items()}
    wanted = [(item.request.id, index) for item in asked for index in range(item.request.count)]
    done = 0
    for key in wanted:
        if key in kept:
            done += 1
            yield kept[key]
    missing = {name for name, index in wanted if (name, index) not in kept}
    if not missing:
        return
    for sample in run.policy.sample([item.request for item in asked if item.request.id in missing]):
        if (sample.request_id, sample.index) in kept:
            continue
        run.store.add_sample(step, sample)
        done += 1
        run.observer.progress(step, stage, done, len(wanted))
        yield sample
