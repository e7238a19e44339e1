"""No attack succeeds, as root and unprivileged; without protection those that can be shown live do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from snippets import ATTACKS

from tests.effort import HANG_S

HERE = Path(__file__).parent
SOURCE = HERE.parents[2] / "src"
NOBODY = 65534
NOT_COPIED = (
    "site-packages",
    "test",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip",
    "config-*",
    "__pycache__",
    "lib2to3",
)

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux: run this test there"),
]
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user: run the tests as root")


WHOLE_SUITE_S = 600.0
"""After which the suite of attacks hangs; on a quiet machine it takes twenty seconds."""


def _run(command: list[str], *, environment: dict[str, str], **options: Any) -> dict[str, Any]:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=WHOLE_SUITE_S, env=environment, cwd="/", **options
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _readable_by_nobody(path: Path) -> bool:
    probe = ["test", "-r", str(path)]
    return subprocess.run(probe, user=NOBODY, group=NOBODY, extra_groups=[], check=False).returncode == 0


def _interpreter_for_nobody(directory: Path) -> tuple[Path, dict[str, str]]:
    """Our interpreter, or a copy of it where it lives in a directory (such as /root) that nobody may enter."""
    standard_library = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    if _readable_by_nobody(standard_library / "os.py") and _readable_by_nobody(Path(sys.executable).resolve()):
        return Path(sys.executable), {}
    home = directory / "python"
    library = home / "lib" / standard_library.name
    shutil.copytree(standard_library, library, ignore=shutil.ignore_patterns(*NOT_COPIED))
    for shared in Path(sys.base_prefix, "lib").glob("libpython*.so*"):
        shutil.copy(shared, home / "lib" / shared.name)
    (home / "bin").mkdir()
    binary = home / "bin" / Path(sys.executable).resolve().name
    shutil.copy(Path(sys.executable).resolve(), binary)
    return binary, {"LD_LIBRARY_PATH": str(home / "lib"), "PYTHONHOME": str(home)}


IN_A_CONTAINER = """
import os, sys
from evoenv.sandbox.guest import lockdown, seccomp
EPERM, ENOSYS = 0x00050001, 0x00050026
refused = {
    "x86_64": {272: EPERM, 165: EPERM, 155: EPERM, 444: ENOSYS},
    "aarch64": {97: EPERM, 40: EPERM, 41: EPERM, 444: ENOSYS},
}
program = seccomp._load(seccomp.OFFSET_NUMBER)
for number, verdict in refused[os.uname().machine].items():  # unshare, mount, pivot_root, landlock_create_ruleset
    program += seccomp._when_number_is(number, seccomp._return(verdict))
lockdown.forbid_new_privileges()
lockdown.filter_system_calls(program + seccomp._return(seccomp.ALLOW))
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""What a container's default profile and an older kernel leave: no namespaces, no mounts, no Landlock."""


@pytest.fixture(scope="session")
def public_directory() -> Iterator[Path]:
    """Not one of pytest's, which are private to root."""
    with tempfile.TemporaryDirectory(prefix="evoenv-attacks-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.fixture(scope="session")
def reports(public_directory: Path) -> Callable[[str], dict[str, Any]]:
    """The suite's report in a mode of the runner, `unprivileged` or in a `container`; each run once."""

    @cache
    def report(mode: str) -> dict[str, Any]:
        if mode == "container":
            command = [sys.executable, "-c", IN_A_CONTAINER, str(HERE / "runner.py"), "protected"]
            return _run(command, environment={"PYTHONPATH": str(SOURCE)})
        if mode != "unprivileged":
            return _run([sys.executable, str(HERE / "runner.py"), mode], environment={"PYTHONPATH": str(SOURCE)})
        directory = public_directory
        python, environment = _interpreter_for_nobody(directory)
        shutil.copytree(SOURCE / "evoenv", directory / "src" / "evoenv", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(HERE, directory / "attacks", ignore=shutil.ignore_patterns("__pycache__"))
        environment |= {"PYTHONPATH": str(directory / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [str(python), str(directory / "attacks" / "runner.py"), "protected"]
        result = _run(command, environment=environment, user=NOBODY, group=NOBODY, extra_groups=[])
        assert result["uid"] == NOBODY
        return result

    return report


def _assert_nothing_succeeded(report: dict[str, Any]) -> None:
    results = report["results"]
    assert set(results) == {attack.name for attack in ATTACKS}
    assert "seccomp" in report["layers"]
    assert {name: result for name, result in results.items() if result["evidence"]} == {}
    assert [name for name, result in results.items() if not result["recovered"]] == []
    _assert_the_host_was_not_held(report)


def _assert_the_host_was_not_held(report: dict[str, Any]) -> None:
    # Usual are two seconds at most: the limits of the calls end what does not end by itself.
    assert {name: result for name, result in report["results"].items() if result["seconds"] > HANG_S} == {}


def test_the_suite_is_large_and_its_names_are_distinct() -> None:
    assert len(ATTACKS) >= 50
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert len({attack.code for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.slow
def test_no_attack_succeeds_for_the_user_who_runs_the_tests(reports: Callable[[str], dict[str, Any]]) -> None:
    report = reports("protected")
    assert report["uid"] == os.getuid()
    _assert_nothing_succeeded(report)


@pytest.mark.slow
@root_only
def test_no_attack_succeeds_unprivileged(reports: Callable[[str], dict[str, Any]]) -> None:
    report = reports("unprivileged")
    assert "uid" not in report["layers"]
    _assert_nothing_succeeded(report)


@pytest.mark.long
def test_no_attack_succeeds_where_a_container_forbids_namespaces(reports: Callable[[str], dict[str, Any]]) -> None:
    report = reports("container")
    assert not [layer for layer in report["layers"] if layer.startswith(("namespaces", "landlock"))]
    _assert_nothing_succeeded(report)


@pytest.mark.long
def test_the_system_call_filter_alone_stops_every_attack(reports: Callable[[str], dict[str, Any]]) -> None:
    report = reports("filter-only")
    assert "landlock" not in report["layers"]
    _assert_nothing_succeeded(report)


@pytest.mark.long
def test_without_the_filter_the_layers_behind_it_keep_the_host_unharmed(
    reports: Callable[[str], dict[str, Any]],
) -> None:
    report = reports("no-filter")
    if not {"landlock", "namespaces"} <= {layer.partition(":")[0] for layer in report["layers"]}:
        pytest.skip(
            f"got {report['layers']}, expected Landlock and namespaces behind the filter: run on Linux 5.13 or newer "
            "with Landlock on, outside a container that forbids namespaces"
        )
    harmless = "a forbidden action went through"  # a system call that touches nothing of the host's
    harm = {name: set(result["evidence"]) - {harmless} for name, result in report["results"].items()}
    assert {name: evidence for name, evidence in harm.items() if evidence} == {}
    _assert_the_host_was_not_held(report)


@pytest.mark.slow
@root_only
def test_without_protection_the_attacks_are_live(reports: Callable[[str], dict[str, Any]]) -> None:
    report = reports("control")
    assert "seccomp" not in report["layers"]
    live = {attack.name for attack in ATTACKS if attack.control == "live"}
    assert len(live) >= 50
    assert set(report["results"]) == live
    assert [name for name, result in report["results"].items() if not result["evidence"]] == []
