"""An evaluation protocol: which suites, asked how often and how; one TOML file, shipped or the user's own.

temperature = 0.6           # for every suite that does not say otherwise
samples = 16

[[suites]]
name = "AIME'25"            # the column of the table
file = "aime25.jsonl"       # a benchmark file, in the folder of benchmark files
grader = "math"

[[suites]]
name = "held out"
suite = "corpus:held-out"   # or whatever `evoenv eval --suite` takes
samples = 4
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import msgspec

from evoenv.errors import InputError
from evoenv.evaluation.benchmarks import Fields, GraderName
from evoenv.evaluation.naming import find_suite
from evoenv.evaluation.suite import Suite

SHIPPED = "evoenv.evaluation.protocols"
DATA = Path("data")
"""Where the files of a shipped protocol are, unless the user says otherwise."""
WHERE_FILES_COME_FROM = (
    "`evoenv eval convert` makes such files of public copies (docs/reproduce.md); --data DIR names their folder"
)


class SuitePlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One suite of an evaluation, and how it is asked."""

    name: str
    """Its column."""
    suite: str
    """What `find_suite` makes a suite of."""
    samples: int = 1
    temperature: float = 0.6
    top_p: float = 0.95
    max_tokens: int = 2048
    limit: int | None = None
    """How many problems of a benchmark file, from the first on."""
    difficulties: tuple[int, ...] = (0, 1, 2)
    instances: int = 4
    programs: int | None = None
    per_family: int | None = None
    problem_field: str = "problem"
    answer_field: str = "answer"
    id_field: str = "id"


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """The suites of an evaluation in the order of its table."""

    name: str
    suites: tuple[SuitePlan, ...]
    seed: int = 0
    """Chooses instances and samples."""


def protocol_names() -> tuple[str, ...]:
    """Name the shipped protocols."""
    files = resources.files(SHIPPED).iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def load_protocol(text: str, *, data: Path | None = None, changes: Mapping[str, Any] | None = None) -> Protocol:
    """Read a shipped protocol by its name, or the user's own by its path.

    Benchmark files are looked for in `data`; without it in `data` of the current directory for a shipped protocol, and
    beside the file for one's own. `changes` are laid over every suite, and over the seed.
    """
    if text in protocol_names():
        raw = resources.files(SHIPPED).joinpath(f"{text}.toml").read_bytes()
        name, folder = text, data or DATA
    else:
        path = Path(text)
        raw = _read(path, text)
        name, folder = path.stem, data or path.parent
    try:
        document = tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--protocol {text} is not TOML ({error}); expected suites as in docs/evaluation.md") from None
    return _protocol(name, document, folder, dict(changes or {}))


def _read(path: Path, text: str) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        names = protocol_names()
        near = difflib.get_close_matches(text, names, n=1)
        advice = f"did you mean {near[0]}?" if near else f"expected {' or '.join(names)}, or a file of your own"
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--protocol {text}: {reason}; {advice}") from None


def _protocol(name: str, document: dict[str, Any], folder: Path, changes: dict[str, Any]) -> Protocol:
    """Put the common settings under those of each suite, and `changes` over both."""
    entries = document.pop("suites", None)
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"the protocol {name} has no suites; expected one or more tables [[suites]]")
    seed = changes.pop("seed", document.pop("seed", 0))
    if type(seed) is not int:
        raise InputError(f"the protocol {name}: seed is {seed!r}; expected a whole number")
    shared = {field for field in SuitePlan.__struct_fields__ if field not in ("name", "suite")}
    if unknown := sorted(set(document) - shared):
        raise InputError(_unknown(name, "it", unknown[0], (*shared, "seed", "suites")))
    plans = []
    for number, entry in enumerate(entries, 1):
        own = f"suite {number} ({entry['name']})" if isinstance(entry.get("name"), str) else f"suite {number}"
        if unknown := sorted(set(entry) - shared - {"name", "suite", "file", "grader"}):
            raise InputError(_unknown(name, own, unknown[0], (*shared, "name", "suite", "file", "grader")))
        settings = {**document, **entry, **changes}
        settings["suite"] = _suite_text(f"the protocol {name}: {own}", settings, folder)
        try:
            plans.append(msgspec.convert(settings, SuitePlan))
        except msgspec.ValidationError as error:
            raise InputError(f"the protocol {name}: {own}: {error}") from None
    protocol = Protocol(name=name, suites=tuple(plans), seed=seed)
    check_protocol(protocol)
    if missing := missing_files(protocol):
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        raise InputError(
            f"the protocol {protocol.name} needs {', '.join(map(str, missing[:4]))}{more}, which "
            f"{'is' if len(missing) == 1 else 'are'} not there; {WHERE_FILES_COME_FROM}"
        )
    return protocol


def _suite_text(where: str, settings: dict[str, Any], folder: Path) -> str:
    """Turn `file` and `grader` into the text that `--suite` takes; `suite` is one already."""
    file, grader, suite = (settings.pop(key, None) for key in ("file", "grader", "suite"))
    if (file is None) == (suite is None) or not isinstance(suite if file is None else file, str):
        raise InputError(f'{where} needs either file = "FILE.jsonl" or suite = "what --suite takes"')
    if file is None:
        if grader is not None:
            raise InputError(f"{where} has a grader; that belongs to a file")
        return str(suite)
    if grader is not None and grader not in get_args(GraderName):
        raise InputError(f"{where}: grader is {grader!r}; expected {', '.join(get_args(GraderName))}")
    path = folder / file
    return f"{grader}:{path}" if grader is not None else str(path)


def _unknown(name: str, where: str, key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"expected some of {', '.join(sorted(known))}"
    return f"the protocol {name}: {where} has {key!r}; {advice}"


def check_protocol(protocol: Protocol, flags: bool = False) -> None:
    """Refuse what cannot be asked; with `flags`, in the words of the command line."""
    names = [plan.name for plan in protocol.suites]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"the protocol {protocol.name} has two suites {twice[0]!r}; names must differ")
    for plan in protocol.suites:
        if wrong := sampling_problem(plan):
            raise InputError(f"--{wrong}" if flags else f"the protocol {protocol.name}: {plan.name}: {wrong}")


def sampling_problem(plan: SuitePlan) -> str:
    """Say what is wrong with how a suite is to be sampled; empty if nothing is."""
    if plan.samples < 1:
        return f"samples is {plan.samples}; expected 1 or more"
    if not 0 <= plan.temperature < float("inf"):
        return f"temperature is {plan.temperature:g}; expected 0 or more"
    if not 0 < plan.top_p <= 1:
        return f"top-p is {plan.top_p:g}; expected more than 0 and at most 1"
    if plan.max_tokens < 1:
        return f"max-tokens is {plan.max_tokens}; expected 1 or more"
    if plan.temperature == 0 and plan.samples > 1:
        return f"temperature 0 gives the same response {plan.samples} times; use --samples 1, or a temperature"
    return ""


def open_suites(protocol: Protocol, *, allow_degraded: bool = False) -> list[Suite]:
    """Make the suites of a protocol, each under the name of its column; what one of them lacks is said at once."""
    return [replace(_open(plan, protocol.seed, allow_degraded), name=plan.name) for plan in protocol.suites]


def _open(plan: SuitePlan, seed: int, allow_degraded: bool) -> Any:
    of_corpus = plan.suite.startswith("corpus:")
    return find_suite(
        plan.suite,
        difficulties=plan.difficulties,
        instances=plan.instances,
        seed=seed,
        programs=plan.programs if of_corpus else None,
        per_family=plan.per_family if of_corpus else None,
        fields=Fields(plan.problem_field, plan.answer_field, plan.id_field),
        limit=plan.limit,
        allow_degraded=allow_degraded,
    )


def missing_files(protocol: Protocol) -> list[Path]:
    """List the benchmark files of a protocol that are not there."""
    paths = []
    for plan in protocol.suites:
        kind, colon, rest = plan.suite.partition(":")
        path = Path(rest if colon and kind in get_args(GraderName) else plan.suite)
        if path.suffix == ".jsonl" and not path.exists():
            paths.append(path)
    return paths
