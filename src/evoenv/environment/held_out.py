"""What RLVE holds out: 2,500 instances of 50 environments, in `data/HELD-OUT_ENVIRONMENTS/test.json` of its checkout.

A row has the prompt and, as JSON in a text, the environment's name, the seed, all parameters of the instance (with its
answer) and the score from which a response counts as right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evoenv.environment.files import join_controller, short
from evoenv.errors import InputError
from evoenv.records import environment_id

TEST_FILE = Path("data") / "HELD-OUT_ENVIRONMENTS" / "test.json"
CLASS_SUFFIX = "_Environment"
"""RLVE-Gym's class of the environment X is X_Environment."""
_CLASS = re.compile(r"^class[ \t]+(\w+)", re.MULTILINE | re.ASCII)


@dataclass(frozen=True, slots=True)
class HeldOutInstance:
    """One row of RLVE's test."""

    environment: str
    prompt: str
    seed: int
    parameter: dict[str, Any]
    threshold: float
    """The score from which a response is right."""


def read_held_out(checkout: Path) -> list[HeldOutInstance]:
    """Read the held-out instances of an RLVE checkout."""
    path = checkout / TEST_FILE
    rows = _read_json(path, f"expected a checkout of RLVE, with {TEST_FILE} and Gym/environments")
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{short(path)} holds no list of rows; expected RLVE's held-out instances")
    return [_instance(path, number, row) for number, row in enumerate(rows, 1)]


def _read_json(path: Path, expected: str) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {short(path)}: {reason}; {expected}") from None


def _instance(path: Path, number: int, row: Any) -> HeldOutInstance:
    try:
        metadata = json.loads(row["metadata"])
        config = metadata["config"]
        instance = HeldOutInstance(
            str(metadata["environment"]),
            row["user_prompt"],
            int(config["seed"]),
            config["parameter"],
            float(config.get("passing_reward_threshold", 1.0)),
        )
        if not isinstance(instance.prompt, str) or not isinstance(instance.parameter, dict):
            raise TypeError("the prompt is no text, or the parameters are no object")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{short(path)}: row {number} is no held-out instance ({type(error).__name__}: {error}); expected "
            "user_prompt and metadata with environment and config"
        ) from None
    return instance


def held_out_names(checkout: Path) -> tuple[str, ...]:
    """Name the environments that an RLVE checkout holds out."""
    return tuple(dict.fromkeys(instance.environment for instance in read_held_out(checkout)))


def find_environments(checkout: Path, names: Iterable[str]) -> dict[str, Path]:
    """Find the files of environments in a checkout by RLVE's names for them; refused if one is missing."""
    files = {
        class_name.removesuffix(CLASS_SUFFIX): file
        for file in sorted((checkout / "Gym" / "environments").glob("*/environment.py"))
        for class_name in class_names(file.read_text(encoding="utf-8", errors="replace"))
    }
    wanted = list(dict.fromkeys(names))
    if missing := [name for name in wanted if name not in files]:
        raise InputError(
            f"{short(checkout)} holds out {len(missing)} of {len(wanted)} environments that are not in its "
            f"Gym/environments: {', '.join(missing[:5])}; expected a whole checkout of RLVE"
        )
    return {name: files[name] for name in wanted}


# --------------------------------------------------------------------------- the same environment, by another text


def class_names(source: str) -> list[str]:
    """Name the classes that a source defines at its top, in order; works on text that does not parse, too."""
    return _CLASS.findall(source)


def names_of(source: str, *others: str) -> set[str]:
    """List what an environment may be called: its id, its classes with and without RLVE's suffix, and `others`."""
    classes = class_names(source)
    return {environment_id(source), *others, *classes, *(name.removesuffix(CLASS_SUFFIX) for name in classes)}


def identities_of(source: str, controller: str | None = None) -> set[str]:
    """Return the texts by which two sources are known to be one environment.

    Their content, with and without the controller that an import joins to it; for RLVE-Gym also the name of the class,
    since two checkouts may differ in details.
    """
    identities = {environment_id(source)}
    if controller is not None:
        identities.add(environment_id(join_controller(source, controller)[0]))
    return identities | {name for name in class_names(source) if name.endswith(CLASS_SUFFIX)}


# --------------------------------------------------------------------------- lists of what is to be left out


def read_excluded(path: Path) -> tuple[str, ...]:
    """Read a list of environments: one name or id a line (`#` begins a remark), a JSON list of them, or RLVE's test."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--exclude {short(path)}: {reason}; expected a file of names, one a line") from None
    if path.suffix == ".json":
        rows = _read_json(path, "expected a JSON list of names, or RLVE's test.json")
        if isinstance(rows, list) and all(isinstance(row, str) for row in rows):
            names = list(rows)
        elif isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
            names = [_instance(path, number, row).environment for number, row in enumerate(rows, 1)]
        else:
            raise InputError(f"--exclude {short(path)}: expected a JSON list of names, or RLVE's test.json")
    else:
        names = [line.partition("#")[0].strip() for line in text.splitlines()]
    names = [name for name in dict.fromkeys(names) if name]
    if not names:
        raise InputError(f"--exclude {short(path)} names no environment; expected one name or id a line")
    return tuple(names)
