"""A run to report on, scripted through the real loop; `tests/written_runs.py` has those that are written straight."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))


@pytest.fixture(scope="session")
def scripted_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three real iterations of the loop with known candidates."""
    from loop_support import open_run

    from evoenv.run import advance
    from evoenv.sandbox.host import Sandbox

    directory = tmp_path_factory.mktemp("scripted") / "run"
    with Sandbox() as sandbox:
        run, _ = open_run(directory, sandbox)
        with run:
            advance(run, 3)
            run.store.record_evaluation(0, "seeds", 0.25, 0.2, 0.3, 40)
            run.store.record_evaluation(3, "seeds", 0.5, 0.4, 0.6, 40)
    return directory
