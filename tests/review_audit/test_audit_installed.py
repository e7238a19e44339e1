"""The shipped set goes with a wheel: it is found where data files are installed, far from any source checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COUNT = "from evoenv.review_audit.labels import read_set, shipped_folder; "
COUNT += "print(len(read_set('shipped').items), shipped_folder())"


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env={**os.environ, **environment}, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("where", ["--prefix", "--target"])
def test_an_installed_wheel_finds_the_shipped_set(tmp_path: Path, where: str) -> None:
    pytest.importorskip("hatchling", reason="builds a wheel; install the extra 'dev'")
    run("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist"))
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    prefix = (tmp_path / "prefix").resolve()
    # --ignore-installed: pip would take the EvoEnv that runs these tests out of its environment otherwise
    options = ("-q", "--no-deps", "--no-index", "--no-compile", "--ignore-installed")
    run("-m", "pip", "install", *options, where, str(prefix), str(wheel))
    paths = {"base": str(prefix), "platbase": str(prefix)}
    packages = prefix if where == "--target" else Path(sysconfig.get_path("purelib", vars=paths))
    found = run("-P", "-c", COUNT, PYTHONPATH=str(packages))
    assert found.split() == ["134", str(prefix / "share" / "evoenv" / "review_audit")]
    assert not list(packages.glob("evoenv/review_audit/environments/*"))


def test_a_copy_without_data_files_says_what_is_missing(tmp_path: Path) -> None:
    """As somebody vendors the package: no checkout above it, no data files installed."""
    for file in (ROOT / "src").rglob("*.py"):
        copy = tmp_path / file.relative_to(ROOT / "src")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    # The environment of these tests may have the data files installed: look for them in another one.
    program = (
        "import sysconfig\nsysconfig.get_path = lambda name: 'nowhere'\n"
        "from evoenv.review_audit.labels import shipped_folder\nshipped_folder()"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path,
    )  # fmt: skip
    assert "InputError: the shipped set is not installed" in done.stderr
    assert "or give a folder with labels" in done.stderr
