"""Public benchmark files as people have them -> our JSONL of problems and answers. No problem text is shipped.

Told apart by their fields, row by row:

- LiveCodeBench: `question_content`, `public_test_cases`, `private_test_cases`, `starter_code`, `metadata`;
- GPQA: `Question`, `Correct Answer`, `Incorrect Answer 1` … `3` (options are shuffled, by the row's id and a seed);
- verl's rows: `prompt` as messages, `reward_model.ground_truth`;
- AIME, AMC, HMMT, BRUMO, BeyondAIME and kin: a problem or question, and an answer, in any of the usual spellings.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
import json
import pickle
import random
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evoenv.errors import InputError
from evoenv.evaluation.benchmarks import LETTERS
from evoenv.records import derive_seed

PROBLEM_FIELDS = ("problem", "question", "Problem", "Question", "prompt")
ANSWER_FIELDS = ("answer", "Answer", "expected_answer", "final_answer", "ground_truth")
ID_FIELDS = ("id", "ID", "Record ID", "question_id", "problem_id", "unique_id", "problem_idx", "task_id", "index")
SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")

Row = Mapping[str, Any]


class _Unfit(Exception):
    """A row that cannot be converted; the words say why."""


def convert(
    paths: Sequence[Path], *, seed: int = 0, since: str | None = None, until: str | None = None
) -> Iterator[dict[str, Any]]:
    """Convert every row of the files. `since` and `until` (ISO dates, inclusive) choose by `contest_date`."""
    seen: set[str] = set()
    for path in paths:
        for number, row in enumerate(read_rows(path), 1):
            if not _within(row, since, until):
                continue
            try:
                name = _first(row, ID_FIELDS)
                identity = str(number) if name is None else str(name)
                entry = _entry(row, identity, seed)
            except _Unfit as error:
                raise InputError(f"{path}, row {number}: {error}") from None
            if identity in seen:
                identity = f"{path.stem}/{identity}"
            if identity in seen:
                raise InputError(f"{path}, row {number}: the id {identity!r} was there before; ids must differ")
            seen.add(identity)
            yield {"id": identity, **entry}


# --------------------------------------------------------------------------- reading


def read_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a jsonl, json, csv or parquet file."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: unknown kind of file; expected {', '.join(SUFFIXES)}")
    try:
        if path.suffix == ".parquet":
            yield from _parquet(path)
        elif path.suffix == ".csv":
            csv.field_size_limit(sys.maxsize)
            yield from csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""))
        elif path.suffix == ".jsonl":
            with path.open(encoding="utf-8-sig") as stream:
                for number, line in enumerate(stream, 1):
                    if line.strip():
                        yield _row(json.loads(line), path, number)
        else:
            document = json.loads(path.read_text(encoding="utf-8-sig"))
            if not isinstance(document, dict | list):
                raise InputError(f"{path} holds a {type(document).__name__}; expected a list of objects")
            if isinstance(document, dict):  # the hub's viewer and some repositories wrap the list
                document = next((value for value in document.values() if isinstance(value, list)), [document])
            for number, entry in enumerate(document, 1):
                wrapped = isinstance(entry, dict) and isinstance(entry.get("row"), dict)
                yield _row(entry["row"] if wrapped else entry, path, number)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not what its name says: {error}") from error


def _row(value: Any, path: Path, number: int) -> Row:
    if not isinstance(value, dict):
        raise InputError(f"{path}, row {number} is a {type(value).__name__}; expected an object")
    return value


def _parquet(path: Path) -> Iterable[Row]:
    try:
        import pyarrow.parquet as parquet  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise InputError(f"reading {path} needs pyarrow: pip install pyarrow") from None
    try:
        for batch in parquet.ParquetFile(path).iter_batches(batch_size=64):
            yield from batch.to_pylist()
    except (ValueError, OSError) as error:
        raise InputError(f"{path} is not a parquet file: {error}") from error


def _within(row: Row, since: str | None, until: str | None) -> bool:
    if since is None and until is None:
        return True
    date = str(row.get("contest_date") or "")[:10]
    return bool(date) and (since is None or date >= since) and (until is None or date <= until)


def _first(row: Row, names: Sequence[str]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


# --------------------------------------------------------------------------- one row


def _entry(row: Row, identity: str, seed: int) -> dict[str, Any]:
    if "question_content" in row:
        return _livecodebench(row)
    if "Correct Answer" in row:
        return _gpqa(row, identity, seed)
    problem, answer = _first(row, PROBLEM_FIELDS), _first(row, ANSWER_FIELDS)
    if isinstance(problem, list):
        problem = next((turn.get("content") for turn in reversed(problem) if isinstance(turn, dict)), None)
    if answer is None and isinstance(row.get("reward_model"), dict):
        answer = row["reward_model"].get("ground_truth")
    if not isinstance(problem, str) or not problem.strip():
        raise _Unfit(f"no problem under any of {', '.join(PROBLEM_FIELDS)}; it has {', '.join(map(repr, row))}")
    if answer is None or not (answers := [text for one in _several(answer) if (text := _text(one))]):
        raise _Unfit(f"no answer under any of {', '.join(ANSWER_FIELDS)}; it has {', '.join(map(repr, row))}")
    return {"problem": problem.strip(), "answer": answers[0] if len(answers) == 1 else answers}


def _several(answer: Any) -> list[Any]:
    """Take a list as so many answers, of which any will do."""
    return answer if isinstance(answer, list) else [answer]


def _text(answer: Any) -> str:
    """Write an answer as text: some files keep integers as floats."""
    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)
    return str(answer).strip()


def _gpqa(row: Row, identity: str, seed: int) -> dict[str, Any]:
    wrong = [
        str(row[f"Incorrect Answer {number}"]).strip() for number in (1, 2, 3) if row.get(f"Incorrect Answer {number}")
    ]
    right, question = str(row["Correct Answer"]).strip(), str(row.get("Question") or "").strip()
    if not question or not right or not wrong:
        raise _Unfit("a GPQA row needs 'Question', 'Correct Answer' and 'Incorrect Answer 1' to 3")
    choices = [right, *wrong]
    order = list(range(len(choices)))
    random.Random(derive_seed("gpqa", seed, identity)).shuffle(order)
    return {
        "problem": question,
        "choices": [choices[place] for place in order],
        "answer": LETTERS[order.index(0)],
    }


# --------------------------------------------------------------------------- LiveCodeBench


class _TextOnly(pickle.Unpickler):
    """The file's packed tests are one pickled text. Anything that needs a class is refused, never imported."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def _livecodebench(row: Row) -> dict[str, Any]:
    metadata = _json(row.get("metadata") or "{}", "metadata")
    function = metadata.get("func_name") if isinstance(metadata, dict) else None
    cases = [*_cases(row, "public_test_cases"), *_cases(row, "private_test_cases")]
    if not cases:
        raise _Unfit("it has no test case")
    entry: dict[str, Any] = {
        "problem": str(row["question_content"]).strip(),
        "tests": [_test(case, function) for case in cases],
    }
    if row.get("starter_code"):
        entry["starter_code"] = str(row["starter_code"])
    if function:
        entry["function"] = str(function)
    return entry


def _cases(row: Row, field: str) -> list[Any]:
    packed = row.get(field) or "[]"
    if isinstance(packed, str) and not packed.lstrip().startswith("["):
        packed = _unpacked(packed, field)
    cases = _json(packed, field) if isinstance(packed, str) else packed
    if not isinstance(cases, list):
        raise _Unfit(f"{field} is a {type(cases).__name__}; expected a list of test cases")
    return cases


def _unpacked(text: str, field: str) -> str:
    """Unpack base64 around zlib around a pickled JSON text."""
    try:
        value = _TextOnly(io.BytesIO(zlib.decompress(base64.b64decode(text, validate=True)))).load()
    except (binascii.Error, zlib.error, pickle.UnpicklingError, EOFError, ValueError, IndexError) as error:
        raise _Unfit(f"{field} cannot be unpacked: {error}") from None
    if not isinstance(value, str):
        raise _Unfit(f"{field} holds a {type(value).__name__}; expected a text")
    return value


def _json(text: Any, field: str) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Unfit(f"{field} is not JSON: {error}") from None


def _test(case: Any, function: Any) -> dict[str, Any]:
    if not isinstance(case, dict) or "input" not in case or "output" not in case:
        raise _Unfit("a test case has no 'input' and 'output'")
    given, wanted = case["input"], case["output"]
    if case.get("testtype") != "functional" and not function:
        return {"stdin": str(given), "stdout": str(wanted)}
    if not function:
        raise _Unfit("a functional test case, but metadata names no func_name")
    arguments = [_json(line, "a test case's input") for line in str(given).split("\n") if line.strip()]
    return {"arguments": arguments, "result": _json(str(wanted), "a test case's output")}
