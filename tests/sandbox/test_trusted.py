"""Modules trusted by name: what they load on first use is there, and the walls hold all the same."""

from __future__ import annotations

import gzip
import importlib.resources
from pathlib import Path
from types import SimpleNamespace

import pytest

from evoenv.sandbox.guest.trusted import KeptResources, remember, serve_resources
from evoenv.sandbox.host import Sandbox

pytestmark = pytest.mark.sandbox

SOURCE = """
import numpy

class Drawn(VerifiableEnvironment):
    prompt_template = "How much is {a} + {b}?"
    def _generate(self, seed, difficulty):
        a, b = numpy.random.default_rng(seed).integers(0, 9, 2).tolist()
        return {"a": a, "b": b}, a + b
    def _prompt_generate(self, z):
        return self.prompt_template.format(**z)
    def _process(self, y):
        return y.strip() or None
    def scorer(self, y, z, a):
        return float(self._process(y) == str(a))
"""
READER = SOURCE.replace("a, b =", "numpy.fromfile('/etc/hostname', 'uint8')\n        a, b =")


def test_what_a_trusted_library_loads_on_first_use_is_loaded_before_the_walls_go_up() -> None:
    with Sandbox(modules=("numpy",)) as sandbox:
        with sandbox.open(SOURCE) as worker:
            (instance,) = worker.instances([3], 0)
            assert instance is not None, worker.failures
            a, b = instance.latent["a"], instance.latent["b"]
            assert [score.value for score in worker.score([(3, 0, str(a + b)), (3, 0, "no")])] == [1.0, 0.0]
        with sandbox.open(READER) as worker:
            assert worker.instances([3], 0) == [None]
            assert "PermissionError" in worker.failures[0].message


def test_kept_files_are_read_as_paths_are(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("één\ntwee\n", encoding="utf-8")
    (tmp_path / "code.py").write_text("")
    kept = KeptResources(tmp_path)
    (tmp_path / "words.txt").unlink()
    words = kept.joinpath("words.txt")
    assert words.read_text(encoding="utf-8") == "één\ntwee\n"
    with words.open("r", encoding="utf-8") as lines:
        assert [line.strip() for line in lines] == ["één", "twee"]
    with words.open("rb") as raw:
        assert raw.read().startswith("één".encode())
    assert words.exists()
    assert [one.name for one in kept.iterdir()] == ["words.txt"]
    assert not kept.joinpath("code.py").exists()
    with pytest.raises(FileNotFoundError, match="not kept"):
        kept.joinpath("code.py").read_text()


LAZY = """
import lazy_library

class Lazy(VerifiableEnvironment):
    def _generate(self, seed, difficulty):
        return {"seed": seed}, lazy_library.late()
    def _prompt_generate(self, z):
        return str(z)
    def _process(self, y):
        return y
    def scorer(self, y, z, a):
        return 0.0
"""


def test_parts_that_a_trusted_library_imports_late_come_out_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lazy_library"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "def late():\n    import html\n    from lazy_library.deep import part\n    return html.escape(part.WORD)\n"
    )
    (package / "deep" / "__init__.py").write_text("")
    (package / "deep" / "part.py").write_text("from . import other\nWORD = other.WORD\n")
    (package / "deep" / "other.py").write_text("WORD = '<late>'\n")
    monkeypatch.syspath_prepend(tmp_path)
    with Sandbox(modules=("lazy_library",)) as sandbox, sandbox.open(LAZY) as worker:
        (instance,) = worker.instances([3], 0)
        assert instance is not None, worker.failures
        assert instance.reference == "&lt;late&gt;"


def test_resources_of_a_kept_package_are_served_from_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "font.flf").write_bytes(b"letters")
    monkeypatch.setattr(importlib.resources, "files", importlib.resources.files)  # put back afterwards
    serve_resources({"some.fonts": KeptResources(tmp_path)})
    (tmp_path / "font.flf").unlink()
    assert importlib.resources.files("some.fonts").joinpath("font.flf").read_bytes() == b"letters"
    assert importlib.resources.files("json").joinpath("decoder.py").is_file()


def test_kept_archives_are_read_and_functions_that_load_files_are_called_once(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "rows.gz", "wt", encoding="utf-8") as rows:
        rows.write("one\ntwo\n")
    kept = KeptResources(tmp_path)
    (tmp_path / "rows.gz").unlink()
    for _ in range(2):
        with gzip.open(kept.joinpath("rows.gz"), "rt", encoding="utf-8") as rows:  # type: ignore[call-overload]
            assert list(rows) == ["one\n", "two\n"]
    library = SimpleNamespace(load=lambda: object())
    remember(library, "load")
    assert library.load() is library.load()
