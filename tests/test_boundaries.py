"""The rules of the architecture, read off the imports: what thinks does not block, what is light stays light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import evoenv
from evoenv.cli import COMMANDS
from evoenv.exchange.scorer.carry import CARRIED, GUEST
from tests.clock_rule import ADVICE, elapsed_time_asserted

PACKAGE = Path(evoenv.__file__).parent
HEAVY = {"torch", "transformers", "peft", "safetensors", "tokenizers"}
BLOCKING = {"socket", "subprocess", "sqlite3", "urllib", "http", "httpx", "requests", "shutil", "tempfile", "open"}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[str]:
    """Top-level names of every import in a file, those inside functions included."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]


def files(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in PACKAGE.glob(pattern))


def test_what_thinks_imports_neither_torch_nor_io() -> None:
    thinking = files("validation/*.py", "admission/*.py", "pool/*.py", "objective.py")
    assert len(thinking) > 20
    assert {path.name: imports for path in thinking if (imports := set(imported(path)) & (HEAVY | BLOCKING))} == {}


def test_torch_is_imported_only_where_models_live() -> None:
    elsewhere = [
        path
        for path in files("**/*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("models", "training", "engines", "warmstart")
    ]
    assert len(elsewhere) > 200
    assert {str(path): imports for path in elsewhere if (imports := set(imported(path)) & HEAVY)} == {}


def calls(path: Path) -> Iterator[str]:
    """Return what a file calls by name: `Sandbox(…)`, `LocalPolicy.open(…)`, `host.Sandbox(…)`."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


OPENED = (
    "Sandbox",
    "LocalPolicy",
    "EndpointPolicy",
    "VerlPolicy",
    "ScriptedPolicy",
    "MiniLMEmbedder",
    "HashingEmbedder",
)


def opens(name: str) -> bool:
    """Return whether a call makes a sandbox, a policy or an embedder, also by a class's method or from its module."""
    return any(part in OPENED for part in name.split("."))


def test_only_the_assembly_opens_policies_sandboxes_and_embedders() -> None:
    found = {str(path.relative_to(PACKAGE)): name for path in files("**/*.py") for name in calls(path) if opens(name)}
    # The scorer that an export carries runs where EvoEnv is not installed, so it opens its own sandbox.
    assert sorted(found) == ["assembly.py", "exchange/scorer/api.py"]


@pytest.mark.parametrize("path", files("sandbox/guest/*.py"), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_guest_needs_the_standard_library_alone(path: Path) -> None:
    assert set(imported(path)) <= {*sys.stdlib_module_names, "evoenv"}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evoenv"):
            assert (node.module or "").startswith("evoenv.sandbox.guest")


# --------------------------------------------------------------------------- ids

TAKING_APART = {
    "partition",
    "rpartition",
    "split",
    "rsplit",
    "removesuffix",
    "removeprefix",
    "startswith",
    "endswith",
    "replace",
    "find",
    "rfind",
    "index",
}
AN_ID = re.compile(r"(candidate|request|question)_id$|(group|request|candidate|question)\.id$")
PARTS_OF_IDS = re.compile(r"\.g\{\}|\.c\{\}|^s\{\}|\.calibrate|\.solve\.|\.review$|\.vote$|\|\| *'\.")
"""How an id's text is put together, with {} for every value: in an f-string, in a plain one, in SQL."""


def test_what_an_export_carries_imports_nothing_that_it_leaves_behind() -> None:
    carried = {f"evoenv.{name.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}" for name in CARRIED}
    carried |= {
        "evoenv.sandbox.guest",
        *(f"evoenv.sandbox.guest.{path.stem}" for path in (PACKAGE / GUEST).glob("*.py")),
    }
    for name in CARRIED:
        for module in re.findall(r"^\s*from (evoenv[\w.]*) import", (PACKAGE / name).read_text("utf-8"), re.MULTILINE):
            assert module in carried, f"{name} imports {module}: add it to CARRIED"


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Return the strings of a file but for docstrings, values in f-strings as {}."""
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(node.value)
        if isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(map(str, parts))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.lineno, node.value


def handmade_ids(tree: ast.AST) -> Iterator[int]:
    """Lines that put an id's text together or take one apart."""
    for line, text in texts(tree):
        if PARTS_OF_IDS.search(text):
            yield line
    for node in ast.walk(tree):
        target = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TAKING_APART:
            target = node.func.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            target = node.value
        if target is not None and AN_ID.search(ast.unparse(target)):
            yield node.lineno


def test_ids_are_built_and_read_in_one_place() -> None:
    elsewhere = [path for path in files("**/*.py") if path != PACKAGE / "ids.py"]
    assert len(elsewhere) > 200
    assert {str(path): lines for path in elsewhere if (lines := list(handmade_ids(parsed(path))))} == {}


@pytest.mark.parametrize(
    "line",
    [
        'f"s{step:05d}.g{group:03d}"',
        'f"{request}.c{index:02d}"',
        'f"{case.candidate.id}.review"',
        'f"{candidate}.calibrate.{index:02d}"',
        'sample.request_id.rpartition(".g")[2]',
        'sample.request_id.removesuffix(".vote")',
        'item.candidate_id.rpartition(".")[0]',
        'candidate.id.endswith("c05")',
        "request_id[:6]",
        """query("LEFT JOIN samples s ON s.request_id = r.candidate_id || '.review'")""",
    ],
)
def test_a_handmade_id_is_noticed(line: str) -> None:
    assert set(handmade_ids(ast.parse(line))) == {1}


# --------------------------------------------------------------------------- who may import whom


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in files("**/*.py") if "templates" not in path.parts}


def own_imports(path: Path) -> Iterator[str]:
    """Return the modules of the package that a file imports when it runs, those inside functions included."""
    tree = parsed(path)
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "evoenv")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "evoenv":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else str(node.module)


def part_of(module: str) -> str:
    """Return the package below `evoenv` that a module belongs to, or the module itself if it stands alone."""
    return module.split(".")[1] if "." in module else "__init__"


def test_nothing_but_main_imports_the_command_line() -> None:
    importers = {module for module, path in MODULES.items() if "cli" in map(part_of, own_imports(path))}
    assert {module for module in importers if part_of(module) != "cli"} == {"evoenv.__main__"}


def test_there_is_no_cycle_between_packages() -> None:
    needs: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        needs.setdefault(part_of(module), set()).update(map(part_of, own_imports(path)))
    for part, others in needs.items():
        others.discard(part)
    while leaves := {part for part, others in needs.items() if not others & needs.keys()}:
        for part in leaves:
            del needs[part]
    assert needs == {}, "what is left imports itself in a circle, or is imported by what does"


# --------------------------------------------------------------------------- what is light


def loaded_by(program: str) -> set[str]:
    """Return the heavy packages that a program has loaded when it ends."""
    heavy = "{'torch', 'transformers', 'numpy', 'rich', 'httpx'}"
    probe = f"import sys\n{program}\nprint(*({heavy} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["validate", "--help"], ["--version"]])
def test_help_starts_without_the_heavy_parts(arguments: list[str]) -> None:
    assert loaded_by(f"from evoenv.cli import main\ntry: main({arguments})\nexcept SystemExit: pass") == set()


def test_help_loads_no_command() -> None:
    program = "from evoenv.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass"
    probe = f"{program}\nimport sys\nprint(sorted(name for name in sys.modules if name.startswith('evoenv.cli.')))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['evoenv.cli.common']"


@pytest.mark.slow
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "validate"])
def test_no_command_loads_torch_for_its_help(command: str) -> None:
    program = f"from evoenv.cli import main\ntry: main([{command!r}, '--help'])\nexcept SystemExit: pass"
    assert not loaded_by(program) & {"torch", "transformers", "httpx"}


def test_importing_the_library_loads_nothing_heavy() -> None:
    assert loaded_by("import evoenv") == set()
    assert loaded_by("import evoenv\nevoenv.validate, evoenv.load_config, evoenv.Sandbox, evoenv.Finding") == set()
    assert not loaded_by("import evoenv\nevoenv.train, evoenv.synthesise, evoenv.evaluate") & {"torch", "transformers"}


def test_every_public_name_is_where_the_types_say() -> None:
    """`__init__` names its surface three times: for type checkers, for the interpreter, and for `import *`."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == evoenv._MODULE_OF
    assert sorted([*typed, "__version__"]) == sorted(evoenv.__all__)
    for name in evoenv.__all__:
        assert getattr(evoenv, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        _ = evoenv.trian


def test_files_fit_in_one_sitting() -> None:
    long = {str(path.relative_to(PACKAGE)): count for path in files("**/*.py") if (count := _lines(path)) > 500}
    assert not long


# --------------------------------------------------------------------------- no test asserts an absolute time

TESTS = Path(__file__).parent


@pytest.mark.slow
def test_no_test_asserts_elapsed_time() -> None:
    found = [
        f"{path.relative_to(TESTS.parent)}:{line}: {text}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.relative_to(TESTS).parts[0] not in ("zoo", "effort.py")
        for line, text in elapsed_time_asserted(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join([*found, ADVICE])


@pytest.mark.parametrize(
    "source",
    [
        "start = time.perf_counter()\nwork()\nassert time.perf_counter() - start < 2.0",
        "start = time.process_time()\nspent = time.process_time() - start\nassert 0.1 <= spent",
        "from time import monotonic as now\nstart = now()\nassert now() < start + 5",
        "began = ended = time.monotonic_ns()\nassert (ended - began) / 1e9 < limit",
        "from limits import LIMIT_S\nassert time.monotonic() - began < LIMIT_S",
        "HANG_S = 5\nassert time.monotonic() - began < HANG_S",
        "PATIENCE = 20\nstart = time.monotonic()\nif time.monotonic() - start > PATIENCE:\n    pytest.fail('slow')",
        "def spent():\n    start = time.time()\n    return time.time() - start\nassert spent() < 9 * spent()",
        "def test():\n    start = time.time()\n    def once(): return time.time() - start\n    assert once() < 9",
        "deadline = time.monotonic() + 30\nassert time.monotonic() < deadline",
        "assert report.cpu_seconds < 3",
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_utime < 3",
        "assert all(result['seconds'] < 20 for result in results)",
        "spent, other = time.time() - start, 1\nassert spent == pytest.approx(0.5, abs=0.1)",
        "assert math.isclose(time.time() - start, 0.5, abs_tol=0.1)",
        "if (spent := time.monotonic() - start) > 3:\n    raise AssertionError(spent)",
    ],
)
def test_an_assertion_on_elapsed_time_is_refused(source: str) -> None:
    assert len(elapsed_time_asserted(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "assert_linear(decode, text)",
        "assert calls(work) < 10 * len(names)",
        "from tests.effort import HANG_S\nstart = time.monotonic()\nassert time.monotonic() - start < HANG_S",
        "deadline = time.monotonic() + HANG_S\nassert time.monotonic() < deadline",
        "deadline = time.monotonic() + 60\nwhile not done() and time.monotonic() < deadline:\n    time.sleep(1)",
        "first = worker.cpu_s\nassert 0 < first <= worker.cpu_s\nassert worker.cpu_s - first >= QUICK.cpu_s",
        "assert report.cpu_seconds == 0.125",
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3 << 20",
        "began = time.time()\nassert began <= store.created <= time.time()",
        "class Timed:\n    def __init__(self):\n        self.began = time.time()\n        assert self.count < 3",
        "def one():\n    spent = time.time()\ndef other():\n    spent = 1\n    assert spent < 3",
        "assert limits.as_dict() == {'cpu_s': 0.2}",
    ],
)
def test_work_that_is_counted_or_does_not_hang_is_allowed(source: str) -> None:
    assert elapsed_time_asserted(source) == []


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())
