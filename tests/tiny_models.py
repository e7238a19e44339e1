"""Fixtures: tiny models of two architectures, built once per session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ARCHITECTURES = ("llama", "qwen3")


@pytest.fixture(scope="session")
def tiny_directories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from evoenv.models.tiny import build_tiny_policy  # here: most tests need no torch

    root = tmp_path_factory.mktemp("tiny")
    return {arch: build_tiny_policy(root / arch, arch=arch) for arch in ARCHITECTURES}  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def tiny_models(tiny_directories: dict[str, Path]) -> dict[str, tuple[Any, Any]]:
    """(model, tokenizer) by architecture, with sharper weights: at their initial size all tokens are equally likely."""
    import torch

    from evoenv.models.resolve import load_model, load_tokenizer

    loaded = {}
    for arch, directory in tiny_directories.items():
        model = load_model(directory, "cpu")
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.mul_(4.0)
        loaded[arch] = (model, load_tokenizer(directory))
    return loaded
