"""Virtual environments for the projects that we compare with: one each, made once, kept in the cache.

They are installed by name from whatever package index pip is set up with, and never into our own environment: verl and
TRL need versions of their common dependencies that exclude each other.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from evoenv.models.cache import cache_root

TORCH = "torch==2.13.0"
"""Pinned: the CPU wheel is found only by its exact version."""

TRL = ((TORCH, "trl==1.16.0", "transformers==5.22.2", "peft==0.21.2", "numpy"),)
VERL = (
    (TORCH, "numpy", "omegaconf", "packaging", "codetiming", "tensordict<=0.10.0", "ray", "transformers>=5.5.3,<5.11"),
    # Its loss functions need only these; the whole of verl would bring vLLM and a cluster with it.
    ("--no-deps", "verl==0.9.1"),
)
# Exports are installed without build isolation, so that no test needs an index once these are there.
VERIFIERS = (("verifiers==0.4.0", "uv", "hatchling"),)
REASONING_GYM = (("reasoning-gym==0.1.25", "hatchling", "msgspec", "rich"),)
XLLAMACPP = (("xllamacpp==2026.10.11549",),)
"""A llama.cpp server as a wheel."""
OPENENV = (("openenv==0.10.0", "uvicorn", "setuptools>=68"),)


VERL_DATA = ((*VERL[0], "datasets==5.2.0", "pandas", "hydra-core", "pillow", "torchdata"), *VERL[1:])
"""With what verl needs to read its data files and its configuration."""


def peer_python(name: str, installs: tuple[tuple[str, ...], ...]) -> Path:
    """The interpreter of a peer's environment, which is built first where it is missing or half built."""
    digest = hashlib.sha256(json.dumps([installs, sys.version_info[:2]]).encode()).hexdigest()[:8]
    directory = cache_root() / "peers" / f"{name}-{digest}"
    python = directory / "bin" / "python"
    done = directory / "complete"
    if not done.exists():
        shutil.rmtree(directory, ignore_errors=True)
        print(f"installing {name} into {directory} (once)", file=sys.stderr)
        venv.create(directory, with_pip=True)
        for arguments in installs:
            subprocess.run([python, "-m", "pip", "install", "-q", *arguments], check=True, stdout=sys.stderr)
        done.touch()
    return python
