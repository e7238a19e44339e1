"""The committed bundle: there, without a foreign address, and what the sources give (if Node is at hand)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from evoenv.watch.bundle import asset
from evoenv.watch.server import FILES

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"


def test_every_file_that_is_served_is_in_the_package_and_nothing_else() -> None:
    folder = ROOT / "src" / "evoenv" / "watch" / "static"
    assert {path.name for path in folder.iterdir()} == {name for name, _ in FILES.values()}


@pytest.mark.parametrize("name", sorted(name for name, _ in FILES.values()))
def test_the_bundle_names_no_other_server(name: str) -> None:
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", asset(name).decode("utf-8")))
    assert {address for address in addresses if not address.startswith("http://www.w3.org/")} == set()


def test_the_bundle_evaluates_no_text() -> None:
    script = asset("app.js").decode("utf-8")
    assert not re.search(r"\beval\(|new Function|document\.write|insertAdjacentHTML", script)
    sources = "".join(path.read_text("utf-8") for path in (WEB / "src").rglob("*.ts*"))
    assert not re.search(r"innerHTML|outerHTML|dangerouslySet|eval\(|new Function", sources)


def test_the_lock_file_names_versions_and_checksums_but_no_host() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text("utf-8"))
    packages = {name: facts for name, facts in lock["packages"].items() if name}
    assert packages
    assert all(facts["integrity"].startswith("sha512-") for facts in packages.values())
    assert not any("resolved" in facts for facts in packages.values())
    wanted = json.loads((WEB / "package.json").read_text("utf-8"))
    versions = {**wanted["dependencies"], **wanted["devDependencies"]}
    assert {name: packages[f"node_modules/{name}"]["version"] for name in versions} == versions


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("node") is None or not (WEB / "node_modules").is_dir(),
    reason="needs Node and the packages of web/: scripts/build-web.sh --check installs them",
)
def test_the_committed_bundle_is_what_the_sources_give() -> None:
    done = subprocess.run(["node", "check.mjs"], cwd=WEB, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
