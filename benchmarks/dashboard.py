"""How fast `evoenv watch` is on runs of any size, and what watching costs the run that is watched.

    python benchmarks/dashboard.py                        # 1,000, 10,000 and 100,000 candidates
    python benchmarks/dashboard.py --sizes 1000 --no-browser
    python benchmarks/dashboard.py --sizes --training 2   # nano, two steps, unwatched and watched in turn

For each size a run is written straight into a store; then the command is started as a user would, and asked. Times are
wall-clock; queries are the median of several. In a browser (Chromium with its driver, selenium) the page is opened:
first paint, and when the first rows of the table stand there. "Watched" means a server with a connected listener that
fetches overview and candidates whenever the run has changed, as an open page does.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evoenv.config import load_config, to_mapping
from evoenv.environment.seeds import seed_sources
from evoenv.ids import GeneratorRequestId
from evoenv.pool.tags import tags_of
from evoenv.records import Message, Request, Sample, environment_id
from evoenv.runs.view import RunView
from evoenv.store.packing import pack_text, pack_vector
from evoenv.store.store import EnvironmentRecord, RequestRecord, Store

SIZES = (1_000, 10_000, 100_000)
PER_STEP = 256
GROUP = 8
REPEATS = 5
QUERIES = {
    "overview": "overview",
    "first page": "candidates?limit=100",
    "page in the middle": "candidates?limit=100&offset={half}",
    "by fate": "candidates?limit=100&fate=too-hard",
    "by finding": "candidates?limit=100&code=L2.raises",
    "text in all sources": "candidates?limit=100&text=number+77{salt}",
    "one candidate": "candidate?id={id}",
    "environments": "environments",
    "groups": "groups?limit=100",
    "map": "map",
}
SOURCE = '''
class Count{number}(VerifiableEnvironment):
    """Count things, number {number}."""

    prompt_template = "Count the {kind} in the list: {{items}}"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        items = [rng.randint(1, {number}) for _ in range(5 + difficulty)]
        return {{"items": items}}, sum(item % 2 for item in items)
'''
KINDS = ("primes", "divisors", "paths", "subsets", "intervals", "digits", "permutations")
FATES = ("layer", "layer", "layer", "review", "too-hard", "too-easy", "gate", "batch-duplicate", "admitted")


def write_run(directory: Path, size: int) -> None:
    """Write a finished run of `size` candidates straight into its tables; nothing is executed."""
    rng = random.Random(size)
    steps = -(-size // PER_STEP)
    with Store.create(directory, to_mapping(load_config({"run": {"steps": steps}})), {"evoenv": "benchmark"}) as store:
        store.set_meta("training", True)
        records = [
            EnvironmentRecord(store.add_source(source), name, original=True, tags=tags_of(source, source))
            for name, source in seed_sources().items()
        ]
        store.add_environments(records)
        originals = [record.id for record in records]
        add = store._database.execute_many
        for step in range(1, steps + 1):
            rows: dict[str, list[tuple[Any, ...]]] = {}
            admitted: list[EnvironmentRecord] = []
            for number in range((step - 1) * PER_STEP, min(step * PER_STEP, size)):
                admitted += _candidate(rows, rng, step, number, originals)
            with store.transaction():
                for table, values in rows.items():
                    add(f"INSERT OR IGNORE INTO {table} VALUES ({','.join('?' * len(values[0]))})", values)
                store.add_environments(admitted)
                store.add_metrics(step, {"solver/score": 0.5, "novelty/gamma": 2.0, "time/step": 30.0})
            with store.stage(step, "rotated"):
                pass


def _candidate(
    rows: dict[str, list[tuple[Any, ...]]], rng: random.Random, step: int, number: int, originals: list[str]
) -> list[EnvironmentRecord]:
    """Add all rows of one candidate; the environment that it became, if it did."""
    group, index = divmod(number % PER_STEP, GROUP)
    request = GeneratorRequestId(step, group)
    name = str(request.candidate(index))
    source = SOURCE.format(number=number, kind=rng.choice(KINDS))
    identity, fate, similarity = environment_id(source), rng.choice(FATES), rng.random()
    layer = rng.randrange(5) if fate == "layer" else 5

    def put(table: str, *values: Any) -> None:
        rows.setdefault(table, []).append(values)

    put("requests", str(request), step, "generate", GROUP, None, None, None, pack_text('[["user", "write"]]'))
    put("samples", str(request), index, step, "stop", 200, pack_text(f"```python\n{source}```"), step - 1)
    put("sources", identity, pack_text(source))
    put("candidates", name, step, group, index, str(request), identity, json.dumps(rng.sample(originals, 2)))
    findings = json.dumps([[f"L{layer + 1}.raises", "what was seen", "what to do"]] if layer < 5 else [])
    put("reports", name, step, layer, f"Count{number}", "functional", None, 0.1, 0.1, "[]", "Count", findings)
    if layer < 5:
        put("finding_codes", name, f"L{layer + 1}.raises", step, 0)
    if layer >= 2:
        put("novelties", name, step, similarity, 1 - similarity, rng.random(), rng.choice(originals))
        vector = [pack_vector(_vector(rng)) for _ in range(2)]
        put("vectors", identity, *vector)
    if layer == 5:
        put("calibrations", name, step, 0.5, "[1.0, 0.0]")
    put("decisions", name, step, layer, 0.0, 1 - similarity, int(fate == "admitted"), fate, None)
    if fate != "admitted":
        return []
    return [EnvironmentRecord(identity, f"Count{number}", False, candidate_id=name, admitted_step=step)]


def _vector(rng: random.Random) -> Any:
    import numpy as np

    return np.array([rng.random() for _ in range(32)], dtype=np.float32)


# --------------------------------------------------------------------------- the command, and what it answers


def cpu_seconds(process_id: int) -> float:
    """The processor time that a process has used; 0 where the kernel has no /proc."""
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def watching(directory: Path, *, wait: bool = False) -> Iterator[tuple[str, float, int]]:
    """Start the command; its address, the seconds until it printed that, and its process id."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "evoenv", "watch", str(directory), "--port", "0", *(["--wait"] if wait else [])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address is not None, "the command has not started"
        yield address[0], time.perf_counter() - began, process.pid
    finally:
        process.terminate()
        process.wait()


def ask(address: str, path: str) -> tuple[Any, float]:
    """A document and the seconds it took."""
    began = time.perf_counter()
    with urllib.request.urlopen(f"{address}api/{path}", timeout=300) as answer:
        document = json.load(answer)
    return document, time.perf_counter() - began


def measure(directory: Path, size: int, *, browser: bool) -> dict[str, float]:
    """All times of one size, in seconds."""
    with watching(directory) as (address, started, process_id):
        times = {"start": started}
        used = cpu_seconds(process_id)
        _, times["first overview"] = ask(address, "overview")
        times["first overview, processor time"] = cpu_seconds(process_id) - used
        rows = ask(address, "candidates?limit=1&fate=admitted")[0]["rows"]
        for name, path in QUERIES.items():
            filled = [
                path.format(half=size // 2, id=rows[0]["id"] if rows else "", salt=salt) for salt in range(REPEATS)
            ]
            times[name] = statistics.median(ask(address, text)[1] for text in filled)
        if browser:
            times |= paint(address)
    return times


def paint(address: str) -> dict[str, float]:
    """Seconds until a browser shows something, the overview's charts, and the first rows of the table."""
    from selenium import webdriver
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --window-size=1280,1000".split():
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        times = {}
        for name, place, sign in (("overview", "#/overview", ".chart"), ("rows", "#/candidates", ".row[data-id]")):
            driver.get("about:blank")
            began = time.perf_counter()
            driver.get(address + place)
            WebDriverWait(driver, 120, 0.02).until(
                lambda _, sign=sign: driver.execute_script("return !!document.querySelector(arguments[0])", sign)
            )
            times[f"browser: {name}"] = time.perf_counter() - began
            first = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
            times[f"browser: first paint, {name}"] = (driver.execute_script(first) or 0.0) / 1000
        scroll = """
            const done = arguments[0], rows = document.querySelector('.rows'), gaps = [];
            let last = performance.now(), n = 0;
            const step = () => {
              const now = performance.now(); gaps.push(now - last); last = now;
              rows.scrollTop += 400;
              if (++n < 120) requestAnimationFrame(step); else done(gaps.sort((a, b) => a - b)[Math.floor(n * 0.95)]);
            };
            requestAnimationFrame(step);"""
        times["browser: 95% of frames while scrolling within"] = driver.execute_async_script(scroll) / 1000
        return times
    finally:
        driver.quit()


# --------------------------------------------------------------------------- what watching costs


@contextmanager
def page_open(directory: Path) -> Iterator[list[int]]:
    """A server and a listener that does what an open page does; counts what it fetched."""
    fetched = [0]
    stop = threading.Event()
    with watching(directory, wait=True) as (address, _, _):

        def listen() -> None:
            with urllib.request.urlopen(f"{address}api/changes", timeout=300) as stream:
                while not stop.is_set() and (line := stream.readline()):
                    if line.startswith(b"data:"):
                        for path in ("overview", "candidates?limit=100"):
                            try:
                                ask(address, path)
                                fetched[0] += 1
                            except OSError:
                                pass  # there is no run yet, or the server ends

        threading.Thread(target=listen, daemon=True).start()
        try:
            yield fetched
        finally:
            stop.set()


def write_samples(directory: Path, count: int) -> float:
    """Write as a run does, one small transaction per sample; the seconds it took."""
    with Store.create(directory, to_mapping(load_config({})), {}) as store:
        began = time.perf_counter()
        for number in range(count):
            group, index = divmod(number, GROUP)
            request = Request(str(GeneratorRequestId(1, group)), "generator", (Message("user", "write"),), count=GROUP)
            if index == 0:
                store.add_requests(1, [RequestRecord(request, "generate")])
            store.add_sample(1, Sample(request.id, index, "a response " * 40, tokens=80))
        return time.perf_counter() - began


def training_seconds(directory: Path, steps: int) -> float:
    """Train nano for some steps; the seconds that its steps took by their own clock."""
    command = [sys.executable, "-m", "evoenv", "train", "--preset", "nano", "--plain", "--steps", str(steps)]
    environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    subprocess.run([*command, "--run", str(directory)], check=True, capture_output=True, env=environment)
    with RunView.open(directory) as view:
        return sum(seconds for _, seconds in view.series("time/step"))


def slowdown(work: Any, folder: Path, pairs: int) -> dict[str, Any]:
    """Do the same work unwatched and watched in turn, and compare the medians."""
    seconds: dict[str, list[float]] = {"unwatched": [], "watched": []}
    fetched = 0
    for pair in range(pairs):
        for kind in ("unwatched", "watched") if pair % 2 == 0 else ("watched", "unwatched"):
            directory = folder / f"{kind}-{pair}"
            if kind == "watched":
                with page_open(directory) as count:
                    seconds[kind].append(work(directory))
                    fetched += count[0]
            else:
                seconds[kind].append(work(directory))
    ratio = statistics.median(seconds["watched"]) / statistics.median(seconds["unwatched"])
    return {**seconds, "ratio of medians": ratio, "documents fetched": fetched}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--samples", type=int, default=0, help="also write this many samples, watched and unwatched")
    parser.add_argument(
        "--training", type=int, default=0, metavar="STEPS", help="also train nano, watched and unwatched"
    )
    parser.add_argument("--pairs", type=int, default=3)
    arguments = parser.parse_args()
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for size in arguments.sizes:
            write_run(folder / f"run-{size}", size)
            report[f"{size:,} candidates"] = measure(folder / f"run-{size}", size, browser=not arguments.no_browser)
            print(json.dumps({f"{size:,} candidates": report[f"{size:,} candidates"]}, indent=2), flush=True)
        if arguments.samples:
            report["writing samples"] = slowdown(
                lambda path: write_samples(path, arguments.samples), folder, arguments.pairs
            )
            print(json.dumps({"writing samples": report["writing samples"]}, indent=2), flush=True)
        if arguments.training:
            report["training"] = slowdown(
                lambda path: training_seconds(path, arguments.training), folder, arguments.pairs
            )
            print(json.dumps({"training": report["training"]}, indent=2), flush=True)


if __name__ == "__main__":
    main()
