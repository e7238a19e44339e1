"""The llama.cpp server of docs/synth.md, with a tiny model: what EvoEnv asks of a server, it gives."""

from __future__ import annotations

import argparse
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from evoenv.cli import synth
from evoenv.config import Config, EndpointConfig, ModelConfig
from evoenv.engines.endpoint.policy import EndpointPolicy
from evoenv.records import Message, Request
from tests.effort import HANG_S
from tests.models.tiny_gguf import write_gguf

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "synth.md").read_text(encoding="utf-8")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_both_ways_of_the_page_have_the_same_settings() -> None:
    commands = re.findall(r"^evoenv synth .*?(?<!\\)$", PAGE, re.DOTALL | re.MULTILINE)
    by_name, served = (settings_of(command) for command in commands if "Qwen2.5-Coder" in command)
    assert (by_name.model.base_url, served.endpoint.concurrency) == ("", 1)
    for section in ("generator", "solver", "review", "calibration"):
        assert getattr(by_name, section) == getattr(served, section)


def settings_of(command: str) -> Config:
    """Return the configuration of an `evoenv synth` command."""
    parser = argparse.ArgumentParser()
    synth.configure(parser)
    arguments = parser.parse_args(shlex.split(command.replace("\\\n", " "))[2:])
    flags = [f"{name}={getattr(arguments, flag)}" for flag, name in synth.FLAGS.items() if getattr(arguments, flag)]
    return synth.new_config(arguments, [*arguments.overrides, *flags])


@pytest.mark.peer
def test_the_script_of_the_page_serves_a_gguf_file(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import peer_environments

    python = peer_environments.peer_python("xllamacpp", peer_environments.XLLAMACPP)
    (script,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "serve.py").write_text(script)
    write_gguf(tmp_path / "tiny.gguf")
    port = free_port()
    command = [str(python), "serve.py", "tiny.gguf", "tiny-coder", str(port), "1", "2"]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        assert server.stdout.readline().strip() == f"http://127.0.0.1:{port}"
        model = ModelConfig(name="tiny-coder", base_url=f"http://127.0.0.1:{port}/v1")
        policy = EndpointPolicy(model, EndpointConfig(timeout_seconds=HANG_S))
        policy.contact()
        request = Request("q", "solver", (Message("user", "12"),), count=2, max_tokens=5, seed=3)
        samples = list(policy.sample([request]))
        policy.close()
    finally:
        server.kill()
        server.wait()
    assert sorted(sample.index for sample in samples) == [0, 1]
    assert all(0 < sample.tokens <= 5 for sample in samples)
