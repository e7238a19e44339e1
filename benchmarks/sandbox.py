"""What isolation costs: calls a second and candidates a minute, side by side in one run.

    python benchmarks/sandbox.py [--seconds 1] [--json]

| isolation             | what runs the environment                                                   |
|-----------------------|-----------------------------------------------------------------------------|
| none                  | this very process, same runtime: the speed limit, and no protection          |
| none, bare calls      | this very process, `exec` and the scorer alone: not even copies of instances |
| evoenv                | one locked-down worker per environment, forked from a zygote                 |
| process per candidate | a fresh interpreter for each environment, talked to over pipes; no walls     |
| process per call      | a fresh interpreter for each call, doing the same work; no walls             |

All but the bare calls run the same runtime on the same source with the same items. Rates are medians of rounds
that take turns, so that a busy moment hits all of them.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from evoenv.diagnosis import describe_machine
from evoenv.environment.base import VerifiableEnvironment
from evoenv.environment.seeds import seed_source, seed_sources
from evoenv.sandbox.guest.runtime import Runtime
from evoenv.sandbox.host import DEFAULT_IMPORTS, EnvironmentWorker, Failed, Ok, Outcome, Sandbox, outcome_of
from evoenv.sandbox.pool import Job, WorkerPool

BATCH = 64
ROUNDS = 5
DIFFICULTY = 2
ROWS = ("none, bare calls", "none", "evoenv", "evoenv, all cores", "process per candidate", "process per call")
SOURCE_ROOT = Path(__file__).parents[1] / "src"

CHILD = """
import json, sys
from evoenv.sandbox.guest.runtime import Runtime
runtime = Runtime()
for line in sys.stdin:
    op, args, items = json.loads(line)
    print(json.dumps(list(runtime.handle(op, args, items))), flush=True)
"""


def load_arguments(source: str, **options: Any) -> dict[str, Any]:
    arguments = {"source": source, "controller": None, "parameters": None, "instrument": False}
    return {**arguments, "allowed_imports": list(DEFAULT_IMPORTS), **options}


# ----------------------------------------------------------------------------- the others


class Unprotected:
    """The part of a sandbox that validation and this benchmark use, on a runtime reached in some other way."""

    layers: tuple[str, ...] = ()

    def open(self, source: str, *, twin: bool = False, **options: Any) -> UnprotectedWorker:
        worker = self.worker(load_arguments(source, **options))
        (loaded,) = worker.run("load", worker.arguments, [])
        outcome = outcome_of(loaded)
        if isinstance(outcome, Ok):
            worker.description = outcome.value
        else:
            worker.failure = outcome
        return worker

    def worker(self, arguments: dict[str, Any]) -> UnprotectedWorker:
        raise NotImplementedError


class UnprotectedWorker:
    cpu_s = 0.0  # not kept: only the wall clock is compared here

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.arguments = arguments
        self.description: dict[str, Any] = {}
        self.failure: Failed | None = None

    def call(self, op: str, items: Sequence[Any], args: dict[str, Any] | None = None, **_: Any) -> list[Outcome]:
        return [outcome_of(result) for result in self.run(op, args or {}, list(items))]

    def run(self, op: str, args: dict[str, Any], items: list[Any]) -> list[Any]:
        raise NotImplementedError

    def close(self) -> None:
        pass


class InProcess(Unprotected):
    class worker(UnprotectedWorker):  # noqa: N801
        def __init__(self, arguments: dict[str, Any]) -> None:
            super().__init__(arguments)
            self._runtime = Runtime()

        def run(self, op: str, args: dict[str, Any], items: list[Any]) -> list[Any]:
            return list(self._runtime.handle(op, args, items))


def fresh_interpreter() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-s", "-S", "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCE_ROOT), "PYTHONHASHSEED": "1"},
    )


class ProcessPerCandidate(Unprotected):
    class worker(UnprotectedWorker):  # noqa: N801
        def __init__(self, arguments: dict[str, Any]) -> None:
            super().__init__(arguments)
            self._process = fresh_interpreter()

        def run(self, op: str, args: dict[str, Any], items: list[Any]) -> list[Any]:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps([op, args, items]) + "\n")
            self._process.stdin.flush()
            results: list[Any] = json.loads(self._process.stdout.readline())
            return results

        def close(self) -> None:
            self._process.communicate()


class ProcessPerCall(Unprotected):
    class worker(UnprotectedWorker):  # noqa: N801
        def run(self, op: str, args: dict[str, Any], items: list[Any]) -> list[Any]:
            if op == "load":
                return self._one("load", args, [])
            return [result for item in items for result in self._one(op, args, [item])]

        def _one(self, op: str, args: dict[str, Any], items: list[Any]) -> list[Any]:
            load = json.dumps(["load", self.arguments, []]) + "\n"
            work = "" if op == "load" else json.dumps([op, args, items]) + "\n"
            output, _ = fresh_interpreter().communicate(load + work)
            results: list[Any] = json.loads(output.splitlines()[-1])
            return results


# ----------------------------------------------------------------------------- calls a second


class BareCalls:
    """What a trainer without any of this would do: `exec` the file and call the scorer, instances kept as they are."""

    def __init__(self, name: str, source: str, items: Sequence[tuple[int, int, str]]) -> None:
        scope: dict[str, Any] = {"VerifiableEnvironment": VerifiableEnvironment, "__name__": "environment"}
        exec(source, scope)
        self._environment = scope[name]()
        self._instances = {item[:2]: self._environment._generate(*item[:2]) for item in items}

    def call(self, op: str, items: Sequence[tuple[int, int, str]]) -> list[float]:
        score, instances = self._environment.scorer, self._instances
        return [score(text, *instances[seed, difficulty]) for seed, difficulty, text in items]

    def close(self) -> None:
        pass


def right_answers(worker: EnvironmentWorker) -> list[tuple[int, int, str]]:
    """A batch of items that a scorer has to work for: the reference of each instance, written plainly."""
    items = []
    for seed, instance in enumerate(worker.instances(range(BATCH), DIFFICULTY)):
        assert instance is not None
        reference = instance.reference
        text = " ".join(map(str, reference)) if isinstance(reference, list) else str(reference)
        items.append((seed, DIFFICULTY, text))
    return items


def rate(action: Callable[[], int], seconds: float) -> float:
    """Calls a second, over at least `seconds`."""
    start, done = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - start) < seconds or not done:
        done += action()
    return done / elapsed


def measure_calls(sandbox: Sandbox, seconds: float) -> dict[str, dict[str, float]]:
    """Median rates of single and batched scoring over the ten seeds, each as often as the others."""
    backends: dict[str, Any] = {
        "none": InProcess(),
        "evoenv": sandbox,
        "process per candidate": ProcessPerCandidate(),
        "process per call": ProcessPerCall(),
    }
    sources = seed_sources()
    workers = {name: [backend.open(source) for source in sources.values()] for name, backend in backends.items()}
    items = [right_answers(worker) for worker in workers["evoenv"]]
    workers["none, bare calls"] = [
        BareCalls(name, source, batch) for (name, source), batch in zip(sources.items(), items, strict=True)
    ]
    jobs = [Job(source, "score", batch) for source, batch in zip(sources.values(), items, strict=True)]

    def score(mine: list[Any], batches: list[list[Any]], size: int) -> int:
        """One call on each environment."""
        for worker, batch in zip(mine, batches, strict=True):
            worker.call("score", batch[:size])
        return size * len(mine)

    with WorkerPool(sandbox) as pool:
        pool.run(jobs)
        turn = itertools.cycle(range(len(items)))

        def one_process() -> int:
            seed = next(turn)
            return score([workers["process per call"][seed]], [items[seed]], 1)

        actions: dict[tuple[str, str], Callable[[], int]] = {
            ("process per call", "single"): one_process,
            ("evoenv, all cores", "batched"): lambda: sum(len(outcomes) for outcomes in pool.run(jobs)),
        }
        for name in ("none, bare calls", "none", "evoenv", "process per candidate"):
            for kind, size in (("single", 1), ("batched", BATCH)):
                actions[name, kind] = functools.partial(score, workers[name], items, size)
        rounds: dict[tuple[str, str], list[float]] = {key: [] for key in actions}
        for _ in range(ROUNDS):
            for key, action in actions.items():
                rounds[key].append(rate(action, seconds / ROUNDS))
    for worker in itertools.chain.from_iterable(workers.values()):
        worker.close()
    table: dict[str, dict[str, float]] = {name: {} for name in ROWS}
    for (name, kind), rates in rounds.items():
        table[name][kind] = statistics.median(rates)
    return table


# ----------------------------------------------------------------------------- candidates a minute


def measure_candidates(sandbox: Sandbox, seconds: float) -> dict[str, dict[str, float]]:
    """Validation of good candidates (the ten seeds), all five layers, over all cores where cores help."""
    from evoenv.validation.validate import validate

    sources = list(seed_sources().values())
    table: dict[str, dict[str, float]] = {}

    def run(name: str, backend: Any, threads: int, limit: int | None = None) -> None:
        start, done = time.perf_counter(), 0
        with ThreadPoolExecutor(threads) as executor:
            while time.perf_counter() - start < seconds:
                reports = list(executor.map(lambda source: validate(source, backend), sources[:limit]))
                done += len(reports)
                assert all(report.layer == 5 for report in reports), [report.findings for report in reports]
        table[name] = {"per minute": done / (time.perf_counter() - start) * 60}

    run("none", InProcess(), 1)
    run("evoenv", sandbox, sandbox.workers)
    run("process per candidate", ProcessPerCandidate(), sandbox.workers)
    fewest = min(range(len(sources)), key=lambda index: _items_to_validate(sources[index]))
    sources = [sources[fewest]]  # the cheapest one: a process per call takes minutes for the others
    run("process per call", ProcessPerCall(), 1, limit=1)
    return table


def measure_mixed_stream(sandbox: Sandbox) -> float:
    """Candidates a minute over all cores: the ten seeds and thirty mutants of them, as a generator might send them."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from evoenv.validation.validate import validate
    from tests.validation.mutants import mutant

    stream = [*seed_sources().values(), *(mutant(index) for index in range(30))] * 2
    start = time.perf_counter()
    with ThreadPoolExecutor(sandbox.workers) as executor:
        list(executor.map(lambda source: validate(source, sandbox), stream))
    return len(stream) / (time.perf_counter() - start) * 60


def _items_to_validate(source: str) -> int:
    from evoenv.validation.validate import validate

    counted = 0

    class Counting(InProcess):
        class worker(InProcess.worker):  # noqa: N801
            def run(self, op: str, args: dict[str, Any], items: list[Any]) -> list[Any]:
                nonlocal counted
                counted += max(1, len(items))
                return super().run(op, args, items)

    validate(source, Counting())
    return counted


@contextlib.contextmanager
def cpu_of_workers(sandbox: Sandbox) -> Iterator[list[EnvironmentWorker]]:
    """Every worker opened meanwhile, so that its CPU time can be read afterwards."""
    opened: list[EnvironmentWorker] = []
    original = sandbox.open

    def recording(*arguments: Any, **options: Any) -> EnvironmentWorker:
        opened.append(original(*arguments, **options))
        return opened[-1]

    sandbox.open = recording  # type: ignore[method-assign]
    try:
        yield opened
    finally:
        del sandbox.open


def measure_costs(sandbox: Sandbox) -> dict[str, float]:
    """Opening a worker, its private memory, and the CPU of validating each seed, host and worker together."""
    from evoenv.validation.validate import validate

    source = seed_source("Sorting")
    times, memory = [], []
    for _ in range(40):
        start = time.perf_counter()
        worker = sandbox.open(source)
        times.append(time.perf_counter() - start)
        worker.instances(range(8), DIFFICULTY)
        memory.append(_private_kb(worker))
        worker.close()
    cpu: dict[str, float] = {}
    for name, text in seed_sources().items():
        with cpu_of_workers(sandbox) as opened:
            start = time.process_time()
            validate(text, sandbox)
            cpu[name] = time.process_time() - start + sum(worker.cpu_s for worker in opened)
    return {
        "open ms": statistics.median(times) * 1000,
        "worker private MB": statistics.median(memory) / 1024,
        "validation CPU ms, median seed": statistics.median(cpu.values()) * 1000,
        "validation CPU ms, dearest seed": max(cpu.values()) * 1000,
    }


def _private_kb(worker: EnvironmentWorker) -> int:
    assert worker._process is not None
    try:
        rollup = Path(f"/proc/{worker._process.pid}/smaps_rollup").read_text()
    except PermissionError:  # workers are untraceable, also for their own user: only root may look
        return 0
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_"))


# ----------------------------------------------------------------------------- report


def show(report: dict[str, Any]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    out = Console(width=100, highlight=False)
    machine = report["machine"]
    out.print(f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {report['python']}")
    out.print(f"sandbox layers: {', '.join(report['layers'])}")
    table = Table(title="the ten seeds: scores a second, one at a time and by 64; validations a minute", box=box.SIMPLE)
    table.add_column("isolation", no_wrap=True)
    for heading in ("single/s", "× none", "batched/s", "× none", "valid./min", "× none"):
        table.add_column(heading, justify="right", no_wrap=True)
    calls, candidates = report["calls per second"], report["candidates per minute"]
    for name in ROWS:
        cells = []
        for values, key in ((calls, "single"), (calls, "batched"), (candidates, "per minute")):
            value = values.get(name, {}).get(key)
            cells += ["", ""] if value is None else [f"{value:,.0f}" if value >= 10 else f"{value:.1f}"]
            if value is not None:
                share = value / values["none"][key]
                cells.append(f"{share:.2f}" if share >= 0.01 else f"{share:.5f}")
        table.add_row(name, *cells)
    out.print(table)
    for name, value in report["ratios"].items():
        out.print(f"{name}: {value:.2f}")
    for name, value in report["costs"].items():
        out.print(f"{name}: {value:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each measurement")
    parser.add_argument("--calls-only", action="store_true", help="leave out the validation of candidates")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with Sandbox() as sandbox:
        report: dict[str, Any] = {
            "machine": describe_machine(),
            "python": sys.version.split()[0],
            "layers": list(sandbox.layers),
            "calls per second": measure_calls(sandbox, arguments.seconds),
            "candidates per minute": {},
            "costs": {},
        }
        if not arguments.calls_only:
            report["costs"] = measure_costs(sandbox)
            report["candidates per minute"] = measure_candidates(sandbox, arguments.seconds)
            report["costs"]["candidates a minute, seeds and mutants mixed"] = measure_mixed_stream(sandbox)
    calls = report["calls per second"]
    report["ratios"] = {
        "batched, evoenv / none": calls["evoenv"]["batched"] / calls["none"]["batched"],
        "batched, evoenv / none, bare calls": calls["evoenv"]["batched"] / calls["none, bare calls"]["batched"],
        "batched, evoenv / process per call": calls["evoenv"]["batched"] / calls["process per call"]["single"],
    }
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        show(report)


if __name__ == "__main__":
    main()
