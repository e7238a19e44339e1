"""The engines that are shipped, as subjects of the conformance suite."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conformance import TRAINING, Subject

from evoenv.config import EndpointConfig, ModelConfig
from evoenv.engines.endpoint.policy import EndpointPolicy
from evoenv.engines.local.policy import LocalPolicy
from evoenv.engines.scripted import ScriptedPolicy
from evoenv.models.tiny import build_tiny_policy
from evoenv.ports import Policy
from evoenv.records import Request

CONTEXT = 600


@contextmanager
def running_server(*arguments: str) -> Iterator[str]:
    """The address of a chat server process that ends with the block."""
    script = Path(__file__).with_name("chat_server.py")
    process = subprocess.Popen(
        [sys.executable, str(script), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


def tiny_model(directory: Path) -> Path:
    """A random model whose answers differ: built once per directory, the same everywhere."""
    path = directory / "model"
    return path if path.is_dir() else build_tiny_policy(path, initializer_range=0.2)


@contextmanager
def open_local(directory: Path) -> Iterator[Policy]:
    model = ModelConfig(name=str(tiny_model(directory)), device="cpu", dtype="float32", sample_batch_tokens=CONTEXT)
    policy = LocalPolicy.open(model, TRAINING, checkpoints=directory / "checkpoints", progress=False)
    try:
        yield policy
    finally:
        policy.close()


@contextmanager
def open_endpoint(directory: Path) -> Iterator[Policy]:
    """A real model behind a real server on loopback."""
    with running_server("--model-dir", str(tiny_model(directory))) as address:
        policy = EndpointPolicy(ModelConfig(name="echo-1", base_url=f"{address}/v1"), EndpointConfig(concurrency=2))
        try:
            yield policy
        finally:
            policy.close()


def scripted_answer(request: Request, index: int) -> str:
    digest = hashlib.sha256(f"{request.seed} {index}".encode()).hexdigest()
    return f"{digest[:8]}, {digest[8:]}"


@contextmanager
def open_scripted(directory: Path) -> Iterator[Policy]:
    policy = ScriptedPolicy(scripted_answer, checkpoints=directory / "checkpoints")
    try:
        yield policy
    finally:
        policy.close()


LOCAL = Subject("subjects:LOCAL", open_local, context=CONTEXT)
ENDPOINT = Subject("subjects:ENDPOINT", open_endpoint, streams=False, counts=False)
SCRIPTED = Subject("subjects:SCRIPTED", open_scripted, streams=False)
