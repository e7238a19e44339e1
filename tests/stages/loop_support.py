"""A scripted world for the loop: environments of every fate, an embedder with known cosines, a policy by rule.

Also a program: `python loop_support.py RUN STEPS [KILL_AT]` begins or resumes a run there and is killed (really) at
its KILL_AT-th database statement, policy sample, update or save.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np

from evoenv.config import Config, load_config
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.run import advance, create, prepare, reopen
from evoenv.sandbox.host import Sandbox
from evoenv.store.database import Database
from evoenv.store.store import Store

# --------------------------------------------------------------------------- environments

TEMPLATE = """
import random


class {name}(VerifiableEnvironment):
    prompt_template = (
        "Kind {kind}. Multiply each number by its position, counting from {first}, and add the products up. "
        "Numbers: {{numbers}}. Answer with one integer."
    )

    def _generate(self, seed, difficulty):
        rng = {rng}
        kind_{kind} = [rng.randint(10, 99) for _ in range(3 + difficulty)]
        return kind_{kind}, {answer}

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=" ".join(map(str, z)))

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return {score}
"""


def environment(name, kind, first=2, rng="random.Random(seed)", answer=None, score="float(self._process(y) == a)"):
    answer = answer or f"sum((i + {first}) * x for i, x in enumerate(kind_{kind}))"
    return TEMPLATE.format(name=name, kind=kind, first=first, rng=rng, answer=answer, score=score)


ORIGINALS = {"FirstSeed": environment("FirstSeed", "origin", 3), "SecondSeed": environment("SecondSeed", "anchor", 4)}

SOURCES = {
    "syntax": "class Broken(VerifiableEnvironment:\n    pass",
    "import": "import os\n" + environment("Imports", "imports"),
    "crash": environment("Crash", "crash", answer="1 // 0"),
    "unstable": environment("Unstable", "unstable", rng="random.Random()"),
    "constant": environment("Constant", "constant", answer="7"),
    "lenient": environment("Lenient", "lenient", score="1.0"),
    "wrong": environment("Wrong", "wrong"),
    "hard": environment("Hard", "hard"),
    "easy": environment("Easy", "easy"),
    "copy": environment("Copy", "origin", 5),
    "fresh": environment("Fresh", "fresh"),
    "twin": environment("Twin", "fresh", 6),
    "second": environment("Second", "second"),
    "third": environment("Third", "third"),
}

# kinds -> vectors: what is not named here shares no direction with anything else
AXES = (
    "origin",
    "anchor",
    "unstable",
    "constant",
    "fill",
    "wrong",
    "other",
    "easy",
    "fresh",
    "second",
    "third",
    "crash",
)
VECTORS = {kind: np.eye(len(AXES), dtype=np.float32)[row] for row, kind in enumerate(AXES)}
VECTORS["lenient"] = 0.8 * VECTORS["constant"] + 0.6 * VECTORS["fill"]
VECTORS["hard"] = 0.6 * VECTORS["wrong"] + 0.8 * VECTORS["other"]


class TableEmbedder:
    """The vector of the kind that a text names: 'Kind wrong' in prompts, 'kind_wrong' in code."""

    def embed(self, texts):
        return np.stack([VECTORS[re.search(r"[Kk]ind[ _](\w+)", text)[1]] for text in texts])


# --------------------------------------------------------------------------- the policy

FIRST_STEP = (
    ("none", "syntax", "import", "crash", "unstable", "constant", "lenient"),
    ("wrong", "hard", "easy", "copy", "fresh", "twin", "second"),
)
LATER_STEPS = (
    ("fresh", "none", "crash", "constant", "none", "none", "none"),
    ("none", "third", "none", "none", "second", "syntax", "none"),
)
RIGHT_OF_FOUR = {"hard": 0, "easy": 4, "fresh": 1, "second": 3}
"""Calibration responses that are right; two of four for any other class."""


def respond(request, index):
    """Every role, as a function of the request alone."""
    text = request.messages[-1].content
    if request.role == "generator":
        step, group = map(int, re.match(r"s(\d+)\.g(\d+)", request.id).groups())
        name = (FIRST_STEP if step == 1 else LATER_STEPS)[group][index]
        return "I have no idea." if name == "none" else f"Here it is.\n```python\n{SOURCES[name].strip()}\n```\n"
    if request.role == "reviewer":
        return "VERDICT: REJECT" if "kind_wrong" in text else "All four steps hold.\nVERDICT: ACCEPT"
    first = int(re.search(r"counting from (\d+)", text)[1])
    numbers = [int(number) for number in re.search(r"Numbers: ([\d ]+)\.", text)[1].split()]
    answer = sum((position + first) * number for position, number in enumerate(numbers))
    calibrating = re.search(r"\.calibrate\.(\d+)$", request.id)
    if calibrating:
        kind = re.search(r"Kind (\w+)", text)[1]
        if first == 6:  # the twin is right on two of four, unlike what it is a twin of
            kind = "twin"
        right = int(calibrating[1]) < RIGHT_OF_FOUR.get(kind, 2)
    else:
        right = (index + int(request.id[-1])) % 3 == 0
    return f"<answer>{answer if right else answer + 1}</answer>"


CONFIG = {
    "run": {"steps": 4, "seed": 11},
    "generator": {"prompts": 2, "candidates_per_prompt": 7, "few_shot": 2},
    "solver": {"prompts": 6, "responses_per_prompt": 4, "difficulty": 1},
    "calibration": {"instances": 4},
    "pool": {"rotate_every": 2, "max_epochs": 2},
}


def configuration(**sections) -> Config:
    return load_config({name: {**CONFIG.get(name, {}), **sections.get(name, {})} for name in {*CONFIG, *sections}})


def open_run(directory: Path, sandbox: Sandbox, config: Config | None = None, policy=None, **options):
    """Begin or resume; (run, policy)."""
    if Store.begun(directory):
        store, config = reopen(directory)
    else:
        store, config = create(directory, config or configuration())
    policy = policy or ScriptedPolicy(respond)
    policy.checkpoints = policy.checkpoints or directory / "checkpoints"
    return prepare(store, config, policy, sandbox, TableEmbedder(), originals=ORIGINALS, **options), policy


# --------------------------------------------------------------------------- what two runs must share


def contents(directory: Path) -> dict[str, list[tuple]]:
    """Return all that a run holds but for clocks: what an interrupted run must have like an undisturbed one."""
    database = Database(directory / "run.sqlite", read_only=True)
    queries = dedent("""
        SELECT id, step, purpose, count, subject, seed, difficulty, messages FROM requests ORDER BY id
        SELECT request_id, idx, step, finish_reason, tokens, text FROM samples ORDER BY request_id, idx
        SELECT request_id, idx, value, format_ok, failure FROM scores ORDER BY request_id, idx
        SELECT environment_id, source FROM sources ORDER BY environment_id
        SELECT * FROM candidates ORDER BY id
        SELECT candidate_id, layer, class_name, dialect, family, prompt_template FROM reports ORDER BY candidate_id
        SELECT * FROM reviews ORDER BY candidate_id, idx
        SELECT * FROM calibrations ORDER BY candidate_id
        SELECT * FROM novelties ORDER BY candidate_id
        SELECT * FROM vectors ORDER BY environment_id
        SELECT * FROM decisions ORDER BY candidate_id
        SELECT * FROM questions ORDER BY id
        SELECT * FROM votes ORDER BY question_id
        SELECT * FROM question_decisions ORDER BY question_id
        SELECT * FROM environments ORDER BY position
        SELECT * FROM metrics WHERE name NOT LIKE 'time/%' ORDER BY step, name
        SELECT step, stage, data FROM stages ORDER BY step, stage
        SELECT step, kind, data FROM events WHERE kind NOT LIKE 'run-%' ORDER BY id
    """).strip()
    try:
        found = {line: database.query(line) for line in queries.splitlines()}
    finally:
        database.close()
    last = max((directory / "checkpoints").iterdir())
    found["policy"] = [(last.name, (last / "scripted.json").read_text())]
    return found


# --------------------------------------------------------------------------- the program that gets killed


class Countdown:
    """Kills this process at the n-th tick."""

    def __init__(self, ticks: int | None) -> None:
        self.ticks = 0
        self._kill_at = ticks

    def tick(self) -> None:
        self.ticks += 1
        if self.ticks == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    directory, steps = Path(sys.argv[1]), int(sys.argv[2])
    countdown = Countdown(int(sys.argv[3]) if len(sys.argv) > 3 else None)
    execute, execute_many = Database.execute, Database.execute_many

    def counted(self, sql, values=()):
        countdown.tick()
        return execute(self, sql, values)

    def counted_many(self, sql, rows):
        countdown.tick()
        execute_many(self, sql, rows)

    Database.execute, Database.execute_many = counted, counted_many

    class Policy(ScriptedPolicy):
        def _count(self, on):
            countdown.tick()
            super()._count(on)

    with Sandbox() as sandbox:
        run, _ = open_run(directory, sandbox, configuration(run={"steps": steps}), Policy(respond))
        advance(run)
        run.store.close()
    print(countdown.ticks)


if __name__ == "__main__":
    main()
