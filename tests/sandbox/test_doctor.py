"""`evoenv doctor`: one JSON document, an honest exit code, no heavy import."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from evoenv import assembly, diagnosis
from evoenv.cli import main
from evoenv.sandbox import host

ROOT = Path(__file__).parents[2]


def test_json_is_one_document_with_layers_packages_and_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["sandbox"]["ok"] is True
    assert "seccomp" in report["sandbox"]["layers"]
    assert all(canary["held"] for canary in report["sandbox"]["canaries"])
    assert report["packages"]["core"]["rich"]
    assert report["machine"]["cores"] >= 1
    assert {model["name"] for model in report["models"]} >= {"all-MiniLM-L6-v2"}


def test_the_readable_report_names_every_layer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    for word in ("Sandbox", "ready", "seccomp", "canaries stopped", "Packages", "Models"):
        assert word in text


def test_without_seccomp_it_says_so_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = host.Sandbox

    def without_seccomp(limits: host.Limits, **options: Any) -> host.Sandbox:
        return whole(limits, without=("seccomp",), **options)

    monkeypatch.setattr(assembly, "Sandbox", without_seccomp)
    assert main(["doctor", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["sandbox"]["missing"]["seccomp"] == "left off on request"
    assert any(line.startswith("sandbox layer seccomp: needs Linux") for line in report["advice"])
    assert main(["doctor"]) == 1
    assert "not safe" in capsys.readouterr().out


def test_the_package_list_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[<>=!\[; ]", requirement)[0] for requirement in requirements}

    assert set(diagnosis.PACKAGES["core"]) == names(project["dependencies"])
    for extra in ("local", "endpoint"):
        assert set(diagnosis.PACKAGES[extra]) == names(project["optional-dependencies"][extra])


def test_missing_things_come_with_a_remedy() -> None:
    sandbox = {"ok": True, "error": None, "missing": {"namespaces:mnt": "EPERM", "uid": "not root"}}
    packages = {"core": {"rich": "1"}, "local": {"torch": None}, "endpoint": {"httpx": "1"}}
    lines = diagnosis.advise(sandbox, packages, [{"name": "M", "path": None}])
    assert len(lines) == 3
    assert "unshare" in lines[0]
    assert "evoenv[local]" in lines[1]
    assert lines[2].startswith("model M:")


def test_doctor_does_not_import_torch() -> None:
    program = "import sys; from evoenv import diagnosis; diagnosis.examine(); assert 'torch' not in sys.modules"
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={"PYTHONPATH": str(ROOT / "src"), "HOME": "/nonexistent"}
    )
