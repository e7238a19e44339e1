"""A small RLVE-Gym of our own, a run that has really run, and the command line in this process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from textwrap import dedent
from typing import Any

from evoenv.cli import main

ROOT = Path(__file__).parents[2]
BARE_PYTHON = [sys.executable, "-I", "-S"]
"""No site-packages, no environment variables: nothing of EvoEnv can be imported."""

GYM_ENVIRONMENT = dedent("""
    import random
    from typing import Optional
    from ...environment import VerifiableEnvironment


    class MaxProduct_Environment(VerifiableEnvironment):
        prompt_template = "Which two of these numbers have the largest product? Numbers: {numbers}. Give the product."

        def __init__(self, wrong_format: float = -1.0, wrong_answer: float = -0.5, **kwargs):
            super().__init__(**kwargs)
            self.rewards = {"wrong_format": wrong_format, "wrong_answer": wrong_answer}

        def _generate(self) -> None:
            assert "N" in self.parameter, "N is required in parameter"
            numbers = self.parameter["numbers"] = [random.randint(-99, 99) for _ in range(self.parameter["N"])]
            pairs = [a * b for i, a in enumerate(numbers) for b in numbers[i + 1 :]]
            self.parameter["reference_answer"] = max(pairs)

        def _prompt_generate(self) -> str:
            return self.prompt_template.format(numbers=" ".join(map(str, self.parameter["numbers"])))

        def _process(self, answer: Optional[str]) -> Optional[int]:
            if answer is None:
                return None
            try:
                return int(answer.strip())
            except ValueError:
                return None

        def scorer(self, output: str) -> float:
            processed = self.processor(output)
            if processed is None:
                return self.rewards["wrong_format"]
            return 1.0 if processed == self.parameter["reference_answer"] else self.rewards["wrong_answer"]
""").lstrip()

GYM_CONTROLLER = dedent("""
    from ...parameter_controller import ParameterController
    from typing import Dict, List


    class MaxProduct_ParameterController(ParameterController):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.N = 3

        def update(self) -> None:
            self.N = int(self.N * 1.1 + 1)

        def get_parameter_list(self) -> List[Dict]:
            return [dict(N=self.N)]
""").lstrip()

MIT = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software\n"

USES_MODULE = """
import random
import {module}


class Totals(VerifiableEnvironment):
    prompt_template = "Add these numbers up and double the sum: {{numbers}}. Answer with one integer."

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        numbers = [rng.randint(10, 99) for _ in range(4 + 2 * difficulty)]
        return numbers, 2 * int({total})

    def _prompt_generate(self, z):
        return self.prompt_template.format(numbers=" ".join(map(str, z)))

    def _process(self, y):
        try:
            return int(y)
        except ValueError:
            return None

    def scorer(self, y, z, a):
        return float(self._process(y) == a)
"""
USES_NUMPY = USES_MODULE.format(module="numpy", total="numpy.sum(numpy.array(numbers))")
USES_CMATH = USES_MODULE.format(module="cmath", total="cmath.rect(sum(numbers), 0).real")


def make_gym(directory: Path) -> Path:
    """Make a folder in the layout of RLVE-Gym, with its licence above it; return the path of `Gym`."""
    gym = directory / "rlve" / "Gym"
    for kind, name, text in (
        ("environments", "environment.py", GYM_ENVIRONMENT),
        ("parameter_controllers", "parameter_controller.py", GYM_CONTROLLER),
    ):
        place = gym / kind / "max_product"
        place.mkdir(parents=True)
        (place / name).write_text(text)
        (place / "__init__.py").write_text("")
    (gym / "environment.py").write_text("import abc, torch\n\nclass VerifiableEnvironment(abc.ABC):\n    pass\n")
    (gym / "parameter_controller.py").write_text("class ParameterController:\n    pass\n")
    (gym.parent / "LICENSE").write_text(MIT)
    return gym


def evoenv(*arguments: object, expect: int = 0) -> str:
    """Run the command line in this process; its standard output (its standard error where it fails)."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(one) for one in arguments])
    assert code == expect, f"{arguments} gave {code}: {out.getvalue()}{err.getvalue()}"
    return err.getvalue() if expect else out.getvalue()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "500"}


def one_line(text: str) -> str:
    """Return the message of a refusal: one line that begins as all do."""
    assert text.startswith("evoenv: "), text
    assert text.count("\n") == 1, text
    return text


def bare(program: str, *arguments: object) -> str:
    """Run a program where EvoEnv is not to be had."""
    command = [*BARE_PYTHON, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", env={})
    assert done.returncode == 0, done.stderr
    return done.stdout


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def contents(directory: Path) -> dict[str, bytes]:
    """Read every file below a directory."""
    files = (path for path in sorted(directory.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}
