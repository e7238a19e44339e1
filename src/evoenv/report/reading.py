"""A run as the report needs it: the whole as plain values, and the texts that fit into a page.

Every candidate comes with its tags and consistency, every step in numbers. A page that a browser opens smoothly cannot
hold every text of a long run; the run itself does. Texts are chosen within a budget and cut if long; what is left out
is counted, and the page says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evoenv.overlap.results import Overlap, read_overlaps
from evoenv.pool.tags import tags_of
from evoenv.prompts.solver import SOLVER_PROMPT
from evoenv.prompts.texts import load_prompt
from evoenv.records import Score, environment_id
from evoenv.runs.candidates import Answered, Entry, History, original_entry
from evoenv.runs.environments import Movement, Oracle, PoolStep, pool_steps
from evoenv.runs.funnel import add_funnels
from evoenv.runs.view import RunView, Step
from evoenv.store.packing import unpack_text
from evoenv.store.store import EnvironmentRecord, HeldOutAccuracy, Store

TEXT_BUDGET = 12_000_000
"""Characters of embedded texts: parsed in a fraction of a second, and a file that mail still carries."""
SOURCE_CUT = 24_000
TEXT_CUT = 4_000
GROUPS_SHOWN = 3
RESPONSES_SHOWN = 4
_PROBES = "\n## What the scorer gave to some answers\n"
_STEPS = "\n## Review in four steps\n"
_PROBE = re.compile(r"""^(.*?): (['"].*) -> (-?[\d.]+(?:e[+-]?\d+)?)$""")
_INSTANCE = re.compile(
    r"^## Instance \d+ \(seed (\d+), difficulty (\d+)\)\n\nRendered prompt:\n(`{3,})[^\n]*\n(.*?)\n\3\n\n"
    r"Values behind it, and the reference answer:\n(`{3,})[^\n]*\nvalue \| is \| shown in the prompt\n(.*?)\n\5$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class RunData:
    """A whole run as plain values."""

    directory: str
    config: Mapping[str, Any]
    versions: Mapping[str, str]
    created: float | None
    training: bool
    last_step: int
    """The last that is wholly done."""
    wanted_steps: int
    stage: str
    """What was done last, in words."""
    steps: list[Step]
    entries: list[Entry]
    environments: list[EnvironmentRecord]
    evaluations: list[HeldOutAccuracy]
    movements: list[Movement]
    solve_requests: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """(step, request) by environment, oldest first."""
    tokens: int = 0
    seconds: float = 0.0
    overlaps: Sequence[Overlap] = ()
    """What `evoenv audit-overlap` left in the run, by suite."""

    @property
    def names(self) -> dict[str, str]:
        """Names of environments by id."""
        return {record.id: record.name for record in self.environments}

    @property
    def generated(self) -> list[EnvironmentRecord]:
        """The environments that the run admitted."""
        return [record for record in self.environments if not record.original]

    @property
    def seed_tags(self) -> list[frozenset[str]]:
        """The tags of the original environments."""
        return [record.tags for record in self.environments if record.original]

    @property
    def left_out(self) -> frozenset[str]:
        """Tests of FUNNEL that this run does not apply: what passed them says nothing."""
        return frozenset(
            name for name in ("review", "calibration") if not self.config.get(name, {}).get("enabled", True)
        )

    @property
    def funnel(self) -> tuple[int, ...]:
        """Who passed which test, over all steps; what is not known yet counts as 0."""
        return tuple(count or 0 for count in add_funnels(step.funnel for step in self.steps))

    @property
    def pool(self) -> list[PoolStep]:
        """The pool along the steps."""
        return pool_steps(self.environments, ((step.number, step.metrics) for step in self.steps))

    def total(self, *states: str) -> int:
        """Count the candidates of all steps with these fates."""
        return sum(step.fates[state] for step in self.steps for state in states)


def read_run(store: Store) -> RunData:
    """Read all that is known of a run; call it inside `store.snapshot()` if the run may still be written."""
    view = RunView(store)
    progress, environments, steps = view.progress(), view.environments(), view.steps()
    solve_requests: dict[str, list[tuple[int, str]]] = {}
    for subject, step, request_id in store.query(
        "SELECT subject, step, id FROM requests WHERE purpose = 'solve' ORDER BY step, id"
    ):
        solve_requests.setdefault(subject or "", []).append((step, request_id))
    return RunData(
        directory=str(store.directory),
        config=view.config,
        versions=view.versions,
        created=view.created,
        training=view.training,
        last_step=progress.last_step,
        wanted_steps=progress.wanted_steps,
        stage=progress.words,
        steps=steps,
        entries=[
            *(original_entry(record) for record in environments if record.original or record.candidate_id is None),
            *_described(view, [step.number for step in steps]),
        ],
        environments=environments,
        evaluations=view.evaluations(),
        movements=view.movements(),
        solve_requests=solve_requests,
        tokens=view.tokens(step.number for step in steps),
        seconds=sum(step.metrics.get("time/step", 0.0) for step in steps),
        overlaps=read_overlaps(store.directory),
    )


def _described(view: RunView, steps: Iterable[int]) -> Iterator[Entry]:
    """Yield every candidate with the tags of its task and whether it is consistent: both are read off its source."""
    tags: dict[tuple[str, str], frozenset[str]] = {}
    oracle = Oracle()
    for step in steps:
        consistent = view.consistency(step, oracle)
        texts = {
            name: (unpack_text(template), "" if source is None else unpack_text(source))
            for name, template, source in view.store.query(
                "SELECT c.id, r.prompt_template, s.source FROM candidates c JOIN reports r ON r.candidate_id = c.id "
                "LEFT JOIN sources s ON s.environment_id = c.environment_id WHERE c.step = ? AND r.layer > 0",
                [step],
            )
        }
        for entry in view.entries(step):
            own = entry.tags
            if entry.record is None and entry.id in texts:
                key = texts[entry.id]
                own = tags[key] = tags[key] if key in tags else tags_of(*key)
            yield replace(entry, tags=own, consistent=consistent.get(entry.id))


# --------------------------------------------------------------------------- texts


@dataclass(slots=True)
class Details:
    """The texts that a page embeds."""

    by_entry: dict[str, dict[str, Any]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    """By environment: near copies in a batch are often the very same text."""
    size: int = 0
    left_out: int = 0


def collect(store: Store, data: RunData, budget: int = TEXT_BUDGET) -> Details:
    """Read the texts of as many entries as the budget holds: some of every fate, the admitted and the newest first."""
    details = Details()
    reader = _Reader(RunView(store), data)
    for entry in _by_turns(data.entries):
        if details.size >= budget:
            break
        texts, source = reader.read(entry)
        if source is not None:
            name = environment_id(source)
            texts["source"] = name
            if name not in details.sources:
                details.sources[name] = cut(source, SOURCE_CUT)
                details.size += len(details.sources[name])
        details.by_entry[entry.id] = texts
        details.size += _size(texts)
    details.left_out = len(data.entries) - len(details.by_entry)
    return details


def _by_turns(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield one entry of each fate in turn, newest first, and four of those that were admitted."""
    queues: dict[str, list[Entry]] = {}
    for entry in entries:
        queues.setdefault("pool" if entry.record is not None else entry.state, []).append(entry)
    ordered = sorted(queues.items(), key=lambda item: item[0] != "pool")
    while any(queue for _, queue in ordered):
        for name, queue in ordered:
            for _ in range(4 if name == "pool" else 1):
                if queue:
                    yield queue.pop()


def cut(text: str, limit: int = TEXT_CUT) -> str:
    """Shorten a long text, and say how long it was."""
    return text if len(text) <= limit else f"{text[:limit]}\n… ({len(text):,} characters in all; the run has the rest)"


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(_size(item) for item in value.values())
    return sum(_size(item) for item in value) if isinstance(value, list) else 8


class _Reader:
    """Reads the texts of entries out of a run."""

    def __init__(self, view: RunView, data: RunData) -> None:
        self._view = view
        self._data = data

    def read(self, entry: Entry) -> tuple[dict[str, Any], str | None]:
        if entry.id == entry.environment_id:  # given to the run: there is no candidate
            return self._solved(entry), self._view.store.source(entry.id)
        history = self._view.candidate(entry.id)
        assert history is not None, "an entry of the same run"
        report = history.report
        texts: dict[str, Any] = {"response": _around(history)}
        if report is not None:
            texts["template"] = cut(report.prompt_template)
            texts["family"], texts["dialect"] = report.family, report.dialect
            texts["findings"] = [[item.code, cut(item.message, 1200), cut(item.hint, 600)] for item in report.findings]
            if report.passed:
                texts.update(_judged(history))
        if entry.record is not None:
            texts.update(self._solved(entry))
        return texts, history.source

    def _solved(self, entry: Entry) -> dict[str, Any]:
        """Return some groups of the solver on this environment: the first and the latest."""
        asked = self._data.solve_requests.get(entry.environment_id or "", [])
        chosen = asked if len(asked) <= GROUPS_SHOWN else [asked[0], *asked[-(GROUPS_SHOWN - 1) :]]
        groups = []
        for _, request_id in chosen:
            group = self._view.answered(request_id)
            assert group is not None, "a request of the same run"
            replies = sorted(group.replies, key=lambda reply: -(reply[1].value if reply[1] else -1.0))
            best_and_worst = [
                *replies[: RESPONSES_SHOWN // 2],
                *replies[RESPONSES_SHOWN // 2 :][-RESPONSES_SHOWN // 2 :],
            ]
            groups.append(
                {
                    "step": group.step,
                    "task": _task(group),
                    "scores": [None if score is None else score.value for _, score in group.replies],
                    "replies": [_reply(text, score) for text, score in best_and_worst],
                }
            )
        return {"solved": groups, "groups": len(asked)}


def _judged(history: History) -> dict[str, Any]:
    """Return what the reviewer was shown and said, and how the solver fared at calibration."""
    instances, probes = read_evidence("".join(message.content for message in history.review_prompt))
    calibration = [
        [_task(request) if index < GROUPS_SHOWN else "", *_reply(text, score)]
        for index, request in enumerate(history.calibration_requests)
        for text, score in request.replies
    ]
    return {
        "instances": instances,
        "probes": probes,
        "reviews": [[verdict, cut(text)] for verdict, text in history.opinions],
        "calibration": calibration,
    }


def _task(request: Answered) -> str:
    """Return the environment's own prompt, without the words that the solver's template puts around it."""
    before, _, after = load_prompt(SOLVER_PROMPT).partition("{{task}}")
    inner = request.prompt.strip().removeprefix(before.lstrip()).removesuffix(after.rstrip())
    return cut(inner.strip())


def _reply(text: str, score: Score | None) -> list[Any]:
    if score is None:
        return [cut(text), None, True, None]
    return [cut(text), score.value, score.format_ok, score.failure]


def _around(history: History) -> str:
    """Return what the generator said besides the source."""
    if history.source and history.source in history.response:
        said = history.response.replace(history.source, "[the source]", 1)
        return cut(said) if said.strip().strip("`").removeprefix("python").strip() != "[the source]" else ""
    return cut(history.response, 2 * TEXT_CUT)


def read_evidence(prompt: str) -> tuple[list[list[Any]], list[list[Any]]]:
    """Read instances (seed, difficulty, prompt, value rows) and probes (kind, answer, score) out of a review prompt.

    What does not look like one gives nothing: the page has the words that are there, it never fails over them.
    """
    head, mark, tail = prompt.rpartition(_PROBES)
    if not mark:
        return [], []
    instances = []
    for instance in _INSTANCE.finditer(head):
        rows = [_value_row(line) for line in instance[6].splitlines()]
        instances.append([instance[1], int(instance[2]), cut(instance[4]), rows])
    probes = []
    for line in tail.partition(_STEPS)[0].splitlines():
        if probe := _PROBE.match(line):
            probes.append([probe[1], probe[2], float(probe[3])])
    return instances, probes


def _value_row(line: str) -> list[str]:
    """Split a row into a value's name, the value (which may hold bars) and whether the prompt shows it."""
    path, _, rest = line.partition(" | ")
    value, _, shown = rest.rpartition(" | ")
    return [path, value, shown]
