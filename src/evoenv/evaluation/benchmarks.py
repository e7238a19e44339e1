"""Suites of problems and answers: JSONL files that the user has, one problem a line.

| grader    | a line has                                                              | right is                     |
|-----------|-------------------------------------------------------------------------|------------------------------|
| `math`    | `problem`, `answer` (a text, a number, or a list of which any will do)  | the same mathematics         |
| `choice`  | `problem`, `choices`, `answer` (the letter, or the option's text)       | the same option              |
| `program` | `problem`, `tests`, perhaps `starter_code`, `function`, `time_limit`    | what passes all tests        |

A test is `{"stdin", "stdout"}`, or `{"arguments", "result"}` where `function` names what is called.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, get_args

from evoenv.environment.answers import extract_answer
from evoenv.errors import InputError
from evoenv.evaluation.mathematics import MathGrader, letter_of, normalised
from evoenv.evaluation.programs import (
    TIME_LIMIT_S,
    FunctionTest,
    ProgramGrader,
    ProgramTest,
    StdinTest,
    extract_program,
)
from evoenv.evaluation.suite import BadProblem, Problem, Verdict
from evoenv.prompts.solver import SOLVER_PROMPT, solver_messages
from evoenv.prompts.texts import fenced, fill, load_prompt
from evoenv.records import Message

if TYPE_CHECKING:
    from evoenv.sandbox.host import Sandbox

GraderName: TypeAlias = Literal["math", "choice", "program"]
GRADERS: tuple[GraderName, ...] = get_args(GraderName)
PROGRAM_PROMPT = "program_v1"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
KEPT_REFERENCE = 200
"""Characters of a reference that the results file repeats."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Under which names a file keeps what is needed."""

    problem: str = "problem"
    answer: str = "answer"
    id: str = "id"


@dataclass(frozen=True, slots=True)
class BenchmarkProblem:
    id: str
    problem: str
    grader: GraderName
    answers: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    starter_code: str = ""
    packed_tests: bytes = b""
    """Tests can be megabytes a problem: packed until they are run."""
    time_limit_s: float = TIME_LIMIT_S

    def tests(self) -> tuple[ProgramTest, ...]:
        entries = json.loads(zlib.decompress(self.packed_tests))
        return tuple(
            StdinTest(*entry) if len(entry) == 2 else FunctionTest(entry[0], tuple(entry[1]), entry[2])
            for entry in entries
        )


@dataclass(frozen=True, slots=True)
class BenchmarkSuite:
    name: str
    problems: Sequence[BenchmarkProblem]
    content: str
    """Digest of what was read: another file under the same name is another suite."""
    seed: int = 0
    allow_degraded: bool = False

    def __post_init__(self) -> None:
        if not self.problems:
            raise InputError(f"the suite {self.name!r} has no problem; expected one or more")

    @property
    def modules(self) -> tuple[str, ...]:
        """None: the graders bring what they need."""
        return ()

    def identity(self) -> dict[str, Any]:
        return {
            "kind": "benchmark",
            "problems": len(self.problems),
            "content": self.content,
            "graders": sorted({problem.grader for problem in self.problems}),
            "seed": self.seed,
            "prompt": f"{SOLVER_PROMPT}, {PROGRAM_PROMPT}",
        }

    def group_names(self) -> dict[str, tuple[str, str]]:
        return {}

    def open(self, sandbox: Sandbox) -> OpenBenchmark:
        return OpenBenchmark(self)


class OpenBenchmark:
    """The problems as they are asked, and the graders that they need."""

    def __init__(self, suite: BenchmarkSuite) -> None:
        self._problems = {problem.id: problem for problem in suite.problems}
        self.problems = [_posed(problem) for problem in suite.problems]
        self.bad: list[BadProblem] = []
        needed = {problem.grader for problem in suite.problems}
        self._math: MathGrader | None = None
        self._programs: ProgramGrader | None = None
        try:
            if "math" in needed:
                self._math = MathGrader(allow_degraded=suite.allow_degraded)
            if "program" in needed:
                self._programs = ProgramGrader(allow_degraded=suite.allow_degraded)
        except BaseException:
            self._close()
            raise

    def grade(self, problem: Problem, response: str) -> Verdict:
        found = self._problems[problem.id]
        if found.grader == "program":
            return self._grade_program(found, response)
        answer = extract_answer(response)
        if answer is None:
            return Verdict(0.0, format_ok=False)
        if found.grader == "choice":
            return _grade_choice(found, answer)
        return self._grade_math(found, answer)

    def _grade_math(self, problem: BenchmarkProblem, answer: str) -> Verdict:
        assert self._math is not None
        failure = None
        for reference in problem.answers:
            same, problem_met = self._math.equivalent(reference, answer)
            if same:
                return Verdict(1.0, answer=answer)
            failure = failure or problem_met
        return Verdict(0.0, answer=answer[:KEPT_REFERENCE], failure=failure)

    def _grade_program(self, problem: BenchmarkProblem, response: str) -> Verdict:
        assert self._programs is not None
        program = extract_program(response)
        if program is None:
            return Verdict(0.0, format_ok=False)
        passed, detail = self._programs.judge(program, problem.tests(), problem.time_limit_s)
        return Verdict(float(passed), detail=detail)

    def _close(self) -> None:
        for grader in (self._math, self._programs):
            if grader is not None:
                grader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def _grade_choice(problem: BenchmarkProblem, answer: str) -> Verdict:
    """Grade by the letter; else by the text of an option, if exactly one has it."""
    (right,) = problem.answers
    letter = chosen_option(answer, problem.choices)
    return Verdict(float(letter == right), format_ok=letter is not None, answer=answer[:KEPT_REFERENCE])


def chosen_option(answer: str, choices: Sequence[str]) -> str | None:
    """Read the letter that an answer names: alone (`B`, `(b)`), before its option (`B) 5 m`), or by its text."""
    letters = LETTERS[: len(choices)]
    letter = letter_of(answer) or letter_of(answer.upper())
    if letter is not None and letter in letters:
        return letter
    texts = {normalised(choice): name for name, choice in zip(letters, choices, strict=True)}
    if normalised(answer) in texts:
        return texts[normalised(answer)]
    head, _, rest = answer.partition(")" if ")" in answer[:3] else ":" if ":" in answer[:2] else ".")
    letter = letter_of(head.strip("( "))
    if letter is not None and letter in letters and normalised(rest) == normalised(choices[letters.index(letter)]):
        return letter
    return None


# --------------------------------------------------------------------------- what the model is shown


def _posed(problem: BenchmarkProblem) -> Problem:
    facts: dict[str, Any] = {}
    if problem.answers:
        facts["reference"] = " or ".join(problem.answers)[:KEPT_REFERENCE]
    return Problem(problem.id, _messages(problem), facts=facts)


def _messages(problem: BenchmarkProblem) -> tuple[Message, ...]:
    if problem.grader == "math":
        return solver_messages(problem.problem)
    if problem.grader == "choice":
        options = "\n".join(f"{letter}) {text}" for letter, text in zip(LETTERS, problem.choices, strict=False))
        return solver_messages(f"{problem.problem}\n\n{options}\n\nAnswer with the letter of the right option alone.")
    if problem.starter_code:
        form = f"Complete this Python 3 code and keep its names:\n\n{fenced(problem.starter_code, 'python')}"
    else:
        form = "Write a Python 3 program that reads the input from standard input and prints the output."
    return (Message("user", fill(load_prompt(PROGRAM_PROMPT), {"task": problem.problem, "form": form})),)


# --------------------------------------------------------------------------- reading files


def benchmark_suite(
    path: Path,
    *,
    name: str | None = None,
    grader: GraderName | Literal["auto"] = "auto",
    fields: Fields = Fields(),  # noqa: B008 - frozen
    limit: int | None = None,
    seed: int = 0,
    allow_degraded: bool = False,
) -> BenchmarkSuite:
    """Read the problems of a JSONL file, the first `limit` of them. `auto` goes by what a line has."""
    if limit is not None and limit < 1:
        raise InputError(f"the limit is {limit}; expected 1 or more problems")
    problems: list[BenchmarkProblem] = []
    lines: dict[str, int] = {}
    digest = hashlib.sha256(f"{grader}\0{fields}".encode())
    for number, line, entry in _entries(path):
        if limit is not None and len(problems) >= limit:
            break
        try:
            problem = _problem(entry, number, grader, fields)
        except _Unfit as error:
            raise InputError(f"{path}:{number}: {error}") from None
        if problem.id in lines:
            raise InputError(
                f"{path}:{number}: the id {problem.id!r} is also on line {lines[problem.id]}; ids must differ"
            )
        lines[problem.id] = number
        problems.append(problem)
        digest.update(line)
    return BenchmarkSuite(name or str(path), tuple(problems), digest.hexdigest()[:32], seed, allow_degraded)


class _Unfit(Exception):
    """A line that is no problem; the words say what it lacks."""


def _entries(path: Path) -> Iterator[tuple[int, bytes, Mapping[str, Any]]]:
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                try:
                    entry = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise InputError(
                        f"{path}:{number} is not JSON ({error}); expected one object per line. "
                        "`evoenv eval convert` makes such a file of json, csv and parquet"
                    ) from None
                if not isinstance(entry, dict):
                    raise InputError(f"{path}:{number} is a {type(entry).__name__}; expected a JSON object")
                yield number, line, entry
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _problem(
    entry: Mapping[str, Any], number: int, grader: GraderName | Literal["auto"], fields: Fields
) -> BenchmarkProblem:
    text = entry.get(fields.problem)
    if not isinstance(text, str) or not text.strip():
        raise _Unfit(_lacks(entry, fields.problem, "the problem's text", "--problem-field"))
    name = entry.get(fields.id)
    identity = str(number) if name is None else str(name)
    kind: GraderName = (
        grader if grader != "auto" else "program" if "tests" in entry else "choice" if "choices" in entry else "math"
    )
    if kind == "program":
        return BenchmarkProblem(
            identity,
            text,
            kind,
            starter_code=str(entry.get("starter_code") or ""),
            packed_tests=_packed(entry),
            time_limit_s=_seconds(entry.get("time_limit", TIME_LIMIT_S)),
        )
    answers = _answers(entry, fields)
    if kind == "math":
        return BenchmarkProblem(identity, text, kind, answers)
    choices = entry.get("choices")
    if not isinstance(choices, list) or not 2 <= len(choices) <= len(LETTERS):
        raise _Unfit(f"a multiple-choice problem needs 'choices', a list of 2 to {len(LETTERS)} options")
    options = tuple(str(choice) for choice in choices)
    right = chosen_option(answers[0], options)
    if right is None:
        raise _Unfit(
            f"the answer {answers[0]!r} is neither the letter nor the text of one of the {len(options)} choices"
        )
    return BenchmarkProblem(identity, text, kind, (right,), options)


def _lacks(entry: Mapping[str, Any], field: str, what: str, flag: str) -> str:
    there = ", ".join(repr(key) for key in list(entry)[:12]) or "nothing"
    return f"no text under {field!r} ({what}); the line has {there}: name the field with {flag}"


def _answers(entry: Mapping[str, Any], fields: Fields) -> tuple[str, ...]:
    value = entry.get(fields.answer)
    values = value if isinstance(value, list) else [value]
    found = tuple(str(one).strip() for one in values if isinstance(one, (str, int, float)) and str(one).strip())
    if not found or len(found) < len(values):
        raise _Unfit(_lacks(entry, fields.answer, "the answer", "--answer-field"))
    return found


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 600:
        raise _Unfit(f"'time_limit' is {value!r}; expected seconds, more than 0 and at most 600")
    return float(value)


def _packed(entry: Mapping[str, Any]) -> bytes:
    tests = entry.get("tests")
    if not isinstance(tests, list) or not tests:
        raise _Unfit("a programming problem needs 'tests', a list of at least one")
    function = entry.get("function")
    packed: list[list[Any]] = []
    for number, test in enumerate(tests, 1):
        if isinstance(test, dict) and isinstance(test.get("stdin"), str) and isinstance(test.get("stdout"), str):
            packed.append([test["stdin"], test["stdout"]])
        elif isinstance(test, dict) and isinstance(test.get("arguments"), list) and "result" in test:
            if not isinstance(function, str) or not function:
                raise _Unfit(f"test {number} has arguments, but the line names no 'function' to call")
            packed.append([function, test["arguments"], test["result"]])
        else:
            raise _Unfit(f"test {number} has neither texts 'stdin' and 'stdout' nor 'arguments' and 'result'")
    return zlib.compress(json.dumps(packed).encode(), 1)
