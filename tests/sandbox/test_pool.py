"""The pool of workers: least recently used goes first, deaths stay where they happened."""

from __future__ import annotations

import threading

from evoenv.sandbox.host import Failed, Ok, Sandbox
from evoenv.sandbox.pool import Job, WorkerPool

COUNTER = """
import os
calls = 0
def count(what):
    global calls
    calls += 1
    if what == "die": os._exit(1)
    return [NAME, calls]
"""


def source(name: str) -> str:
    return f"NAME = {name!r}\n" + COUNTER


def test_a_worker_is_kept_between_jobs(raw: Sandbox) -> None:
    with WorkerPool(raw, capacity=2) as pool:
        job = Job(source("a"), "count", ["x"])
        assert pool.run([job]) == [[Ok(["a", 1])]]
        assert pool.run([job, job]) == [[Ok(["a", 2])], [Ok(["a", 3])]]


def test_the_least_recently_used_worker_makes_room(raw: Sandbox) -> None:
    with WorkerPool(raw, capacity=2) as pool:
        for name in ("a", "b", "a", "c"):  # b is the one not used lately
            pool.run([Job(source(name), "count", ["x"])])
        assert pool.run([Job(source("a"), "count", ["x"])]) == [[Ok(["a", 3])]]
        assert pool.run([Job(source("b"), "count", ["x"])]) == [[Ok(["b", 1])]]


def test_many_environments_run_at_once_and_results_keep_their_order(raw: Sandbox) -> None:
    with WorkerPool(raw, capacity=8) as pool:
        names = [f"env{index}" for index in range(8)]
        results = pool.run([Job(source(name), "count", ["x", "y"]) for name in names])
        assert results == [[Ok([name, 1]), Ok([name, 2])] for name in names]


def test_a_death_is_reported_and_the_worker_lives_again(raw: Sandbox) -> None:
    with WorkerPool(raw) as pool:
        jobs = [Job(source("a"), "count", ["x", "die", "y"]), Job(source("b"), "count", ["x"])]
        first, second = pool.run(jobs)
        assert [type(outcome) for outcome in first] == [Ok, Failed, Ok]
        assert first[1].message == "call 2 of 3 (count) ended the worker: it exited with status 1"  # type: ignore[union-attr]
        assert second == [Ok(["b", 1])]
        assert isinstance(pool.run([jobs[1]])[0][0], Ok)


def test_instances_and_scores_of_real_environments(sandbox: Sandbox, addition: str) -> None:
    with WorkerPool(sandbox) as pool:
        (instance,) = pool.instances(addition, [3], 1)
        assert instance is not None
        assert [score.value for score in pool.score(addition, [(3, 1, str(instance.reference)), (3, 1, "")])] == [
            1.0,
            0.0,
        ]


def test_two_borrowers_of_one_source_do_not_wait_for_each_other(raw: Sandbox) -> None:
    with WorkerPool(raw) as pool, pool.worker(source("a")) as one, pool.worker(source("a")) as two:
        assert one is not two


def test_options_make_another_worker(sandbox: Sandbox, addition: str) -> None:
    with WorkerPool(sandbox) as pool:
        with pool.worker(addition) as one:
            pass
        with pool.worker(addition, twin=True) as two:
            pass
        assert one is not two


def test_a_pool_used_from_many_threads_stays_within_its_capacity(raw: Sandbox) -> None:
    with WorkerPool(raw, capacity=3) as pool:
        errors: list[BaseException] = []

        def use(offset: int) -> None:
            try:
                for index in range(12):
                    pool.run([Job(source(f"env{(index + offset) % 6}"), "count", ["x"])])
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=use, args=(offset,)) for offset in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(pool._idle) <= 3


def test_a_closed_pool_closes_its_workers(raw: Sandbox) -> None:
    pool = WorkerPool(raw)
    with pool.worker(source("a")) as worker:
        pass
    pool.close()
    pool.close()
    assert worker._closed
