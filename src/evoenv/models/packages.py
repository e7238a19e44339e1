"""Which optional packages a model needs, and how to get them."""

from __future__ import annotations

import importlib.util

from evoenv.errors import ModelError


def require_local_extra() -> None:
    """Raise ModelError if torch or transformers are missing, with the command that installs them."""
    missing = [name for name in ("torch", "transformers", "safetensors") if importlib.util.find_spec(name) is None]
    if missing:
        raise ModelError(f"running a model here needs {', '.join(missing)}; install with: pip install 'evoenv[local]'")


def require_gguf_packages() -> None:
    """Raise ModelError if a GGUF file cannot be read here, with the command that installs what is missing."""
    require_local_extra()
    for package in ("gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise ModelError(f"reading a GGUF file needs {package}; install with: pip install 'evoenv[local]'")
