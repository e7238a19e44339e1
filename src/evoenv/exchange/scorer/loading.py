"""Load a scorer directory as a package under a name of its own. Copied into every file of an export that needs it."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Any


def load_scorer(directory: str | Path) -> Any:
    """Load the scorer in `directory`. Two exports can live in one process: neither takes the other's name."""
    root = Path(directory).resolve()
    name = "evoenv_scorer_" + hashlib.sha256(str(root).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, root / "__init__.py", submodule_search_locations=[str(root)]
        )
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
