"""Are two answers the same mathematics? Literally, else by math-verify in processes that can be killed.

The processes are the sandbox's (`guests/mathematics.py` is their runtime): a worker that takes too long or too much
memory is ended by the kernel or by the host, and the next answer gets a new one.
"""

from __future__ import annotations

import importlib.util
import re
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from evoenv.assembly import open_sandbox
from evoenv.errors import InputError
from evoenv.sandbox.host import Limits
from evoenv.sandbox.outcomes import Ok
from evoenv.sandbox.pool import WorkerPool

GUEST = Path(__file__).parent / "guests" / "mathematics.py"
PACKAGES = ("math_verify", "latex2sympy2_extended", "sympy", "mpmath", "antlr4")
LIMITS = Limits(cpu_s=5.0, wall_s=120.0, memory_mb=1024)
"""Nothing in a comparison waits, so the wall clock is only the backstop of a very busy machine."""
MAX_ANSWER = 10_000
"""Characters: no honest final answer is longer, and grammars are slow."""
MAX_NESTING = 200
"""Brackets in brackets: grammars recurse."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}", re.ASCII)
_SPACES = re.compile(r"(?<=[^\W_])\s+(?=[^\W_])|(\s+|\\[,;:! ]|~)")
"""Spaces, which do not matter unless they stand between two letters or digits: `1 23` is not `12 3`."""
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?: [0-9]{3})+(?:\.[0-9]+)?", re.ASCII)
_LETTER = re.compile(r"\(?\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{)?\s*\(?([A-Z])\)?\s*\}?\s*[).:]?")


class MathGrader:
    """Compares answers. `equivalent` may be called from many threads; processes start with the first hard case."""

    def __init__(self, *, allow_degraded: bool = False, limits: Limits = LIMITS) -> None:
        require_math_verify()
        self._allow_degraded = allow_degraded
        self._limits = limits
        self._opening = threading.Lock()
        self._resources = ExitStack()
        self._workers: WorkerPool | None = None

    def _open(self) -> WorkerPool:
        """Start the processes, which takes a second or two: most answers are decided without them."""
        with self._opening:
            if self._workers is None:
                with ExitStack() as stack:
                    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evoenv-math-")))
                    sandbox = stack.enter_context(
                        open_sandbox(
                            limits=self._limits,
                            allow_degraded=self._allow_degraded,
                            runtime=self._runtime(folder / "runtime.py"),
                        )
                    )
                    self._workers = WorkerPool(sandbox)
                    stack.callback(self._workers.close)
                    self._resources = stack.pop_all()
            return self._workers

    def _runtime(self, path: Path) -> Path:
        """Write the guest with the folders it imports from: the zygote's interpreter starts without any."""
        folders = []
        for name in PACKAGES:
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.origin is not None:
                folders.append(str(Path(spec.origin).parent.parent))
        run_guest = (
            f"with open({str(GUEST)!r}, encoding='utf-8') as file:\n    exec(compile(file.read(), file.name, 'exec'))"
        )
        path.write_text(f"import sys\nsys.path[:0] = {list(dict.fromkeys(folders))!r}\n{run_guest}\n", encoding="utf-8")
        return path

    def equivalent(self, reference: str, answer: str) -> tuple[bool, str | None]:
        """Tell whether they are the same, and if that cannot be told, why."""
        if _THOUSANDS.fullmatch(answer.strip()) and " " not in reference.strip():
            answer = answer.replace(" ", "")  # the reference is one number, so this is one as well
        if normalised(reference) == normalised(answer):
            return True, None
        if _INTEGER.fullmatch(reference.strip()) and _INTEGER.fullmatch(answer.strip()):
            return int(reference) == int(answer), None
        if _LETTER.fullmatch(reference):
            return letter_of(reference) == letter_of(answer), None
        if len(answer) > MAX_ANSWER:
            return False, f"the answer has {len(answer):,} characters; at most {MAX_ANSWER:,} are graded"
        if nesting(answer) > MAX_NESTING:
            return False, f"the answer is nested deeper than {MAX_NESTING} brackets"
        with self._open().worker("mathematics") as worker:
            (outcome,) = worker.call("verify", [[without_currency(reference), without_currency(answer)]])
        if not isinstance(outcome, Ok):
            return False, f"comparing it with the reference failed: {outcome.message}"
        return outcome.value is True, None

    def same(self, answer: str, reference: str) -> bool:
        """Tell whether an answer is the reference; one that cannot be compared is not."""
        return self.equivalent(reference, answer)[0]

    def close(self) -> None:
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def require_math_verify() -> None:
    """Refuse to go on without math-verify."""
    if importlib.util.find_spec("math_verify") is None:
        raise InputError("math_verify not found; grading mathematics needs it: pip install 'evoenv[eval]'")


def normalised(text: str) -> str:
    """Strip what never matters: dollars around it, spaces, a final full stop, sizes of brackets."""
    text = without_currency(text).lstrip("$ \t\n").rstrip("$. \t\n")
    text = text.replace("\\left", "").replace("\\right", "").replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    return _SPACES.sub(lambda found: "" if found[1] else " ", text)


def without_currency(text: str) -> str:
    return text.replace("\\$", "")


def letter_of(text: str) -> str | None:
    """Read the letter of an option, if the text is nothing but one: `B`, `(B)`, `B.`, `\\text{B}`."""
    found = _LETTER.fullmatch(text.strip().strip("$").strip())
    return found[1] if found else None


def nesting(text: str) -> int:
    """Return the deepest nesting of brackets of any kind."""
    depth = deepest = 0
    for char in text:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth = max(0, depth - 1)
    return deepest
