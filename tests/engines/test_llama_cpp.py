"""The llama.cpp server of docs/synth.md, with a tiny model: what EvoEnv asks of a server, it gives."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from evoenv.config import EndpointConfig, ModelConfig, load_config
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


def test_the_settings_of_the_page_are_settings() -> None:
    commands = re.findall(r"^evoenv synth .*?(?<!\\)$", PAGE, re.DOTALL | re.MULTILINE)
    settings = [re.findall(r"--set (\S+)", command) for command in commands]
    by_name, served = (load_config(overrides=own) for own in settings if own)
    assert by_name.generator == served.generator
    assert by_name.review == served.review
    assert (served.endpoint.concurrency, served.generator.prompt) == (1, "full")


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
