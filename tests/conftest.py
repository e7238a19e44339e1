"""How thorough a run is: the inner loop (`pytest`) takes fewer examples than the whole (`./test`, `./test long`).

Hypothesis has no deadlines: on a busy machine a slow example is no failure.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import settings

# Tests run on all cores at once: threads inside them would only wait for one another. Set before PyTorch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_plugins = ["tests.tiny_models", "tests.verdicts", "tests.written_runs"]

settings.register_profile("thorough", deadline=None)
settings.register_profile("inner-loop", deadline=None, max_examples=25)


def is_thorough(config: pytest.Config) -> bool:
    return re.search(r"(^|\band )\s*not slow\b", config.getoption("markexpr")) is None


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("thorough" if is_thorough(config) else "inner-loop")


WHOLE_MODULES = (
    "cli/test_environment_commands",
    "cli/test_train_synth",
    "corpus/test_corpus_author",
    "curricula/test_comparison",
    "curricula/test_curricula",
    "curricula/test_runs_before",
    "engines/test_endpoint",
    "engines/test_local_learning",
    "evaluation/test_benchmarks",
    "evaluation/test_eval_command",
    "evaluation/test_evaluate",
    "evaluation/test_held_out",
    "evaluation/test_mathematics",
    "evaluation/test_programs",
    "exchange/",
    "models/test_models",
    "models/test_parts",
    "report/test_report_command",
    "report/test_report_figures",
    "review_audit/test_audit_command",
    "review_audit/test_audit_judged",
    "review_audit/test_audit_recomputed",
    "sandbox/test_doctor",
    "sandbox/test_hostile_replies",
    "sandbox/test_hostile_workers",
    "sandbox/test_layers",
    "sandbox/test_lifecycle",
    "sandbox/test_workers",
    "stages/test_recomputing",
    "stages/test_repairs",
    "stages/test_run",
    "suite_audit/",
    "test_library_page",
    "test_memory",
    "training/test_checkpoints",
    "training/test_learning",
    "validation/test_hostile_sources",
    "validation/test_load",
    "validation/test_mutations",
    "warmstart/test_from_run",
    "warmstart/test_warm_start",
    "watch/test_watch_documents",
    "watch/test_watch_guard",
    "watch/test_watch_play",
)
"""Tests of whole commands, real servers, graders and processes: too many seconds in all for the inner loop."""


LONGEST = (
    "stages/test_nano",
    "validation/test_zoo",
    "warmstart/test_warm_start",
    "cli/test_train_synth",
    "engines/test_conformance",
    "stages/test_run",
    "engines/test_local_sampling",
    "watch/",
    "exchange/",
    "environment/test_answers",
    "test_library_page",
    "cli/test_train",
    "test_boundaries",
    "sandbox/attacks/",
    "stages/",
)
"""Begun first, in this order: a file is run by one process (what its tests share is made once), so a long one begun
last would keep one core waiting for the other."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent

    def is_in(item: pytest.Item, modules: str | tuple[str, ...]) -> bool:
        return item.path.relative_to(here).as_posix().startswith(modules)

    for item in items:
        if is_in(item, WHOLE_MODULES):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: next((place for place, name in enumerate(LONGEST) if is_in(item, name)), len(LONGEST)))


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    """Whether slow tests run too: then counts may be large."""
    return is_thorough(pytestconfig)
