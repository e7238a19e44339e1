"""One audit: labelled environments, the mechanical checks, and a reviewer if there is one; continued if stopped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from evoenv import __version__
from evoenv.assembly import open_sandbox
from evoenv.config import Config, load_config
from evoenv.evaluation.subject import Subject
from evoenv.pool.state import starting_level
from evoenv.presets import preset as preset_settings
from evoenv.prompts.recompute import RECOMPUTE_PROMPTS
from evoenv.prompts.review import REVIEW_PROMPT
from evoenv.review_audit.journal import VerdictLedger
from evoenv.review_audit.labels import LabelledSet
from evoenv.review_audit.recomputing import recompute_all
from evoenv.review_audit.tables import Audit, summarise
from evoenv.review_audit.verdicts import check_mechanically, review_all
from evoenv.store.store import Store

MECHANICAL_FOLDER = Path("evaluations") / "mechanical"

Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Opens what is told how many of how many are done, by the name of the part: `L1-L5`, `reviews` or `programs`."""


def audit_config(run_directory: Path | None = None, preset: str | None = None, overrides: Sequence[str] = ()) -> Config:
    """Load how reviews are made: a run's own settings, else defaults or a preset; then `overrides`."""
    if run_directory is not None:
        with Store.read(run_directory) as store:
            return load_config(store.meta("config"), overrides=overrides)
    return load_config(*([preset_settings(preset)] if preset else []), overrides=overrides)


def results_path(labelled: LabelledSet, subject: Subject | None) -> Path:
    """Return where verdicts are kept unless somebody says otherwise."""
    folder = subject.folder if subject is not None else MECHANICAL_FOLDER
    return folder / f"{file_name(labelled)}.jsonl"


def audit(
    labelled: LabelledSet,
    config: Config | None,
    subject: Subject | None,
    results: Path,
    *,
    seed: int,
    progress: Progress,
    allow_degraded: bool = False,
) -> Audit:
    """Check and review every labelled environment; without `config` and `subject` only L1 to L5.

    Verdicts are kept one by one in `results`; what is there already is not asked again.
    """
    with ExitStack() as stack:
        policy, model = subject.open() if subject is not None else (None, None)
        if policy is not None and subject is not None and subject.owned:
            stack.callback(policy.close)
        kept = stack.enter_context(VerdictLedger(results, identity(labelled, config, model, seed)))
        sandbox = stack.enter_context(open_sandbox(allow_degraded=allow_degraded))
        with progress("L1-L5") as told:
            check_mechanically(labelled, sandbox, kept, progress=told)
        if policy is not None and config is not None and config.review.kind != "recomputing":
            with progress("reviews") as told:
                review_all(
                    labelled, sandbox, policy, config.review, kept,
                    level=starting_level(config.solver), seed=seed, progress=told,
                )  # fmt: skip
        if policy is not None and config is not None and config.review.kind != "reading":
            with progress("programs") as told:
                recompute_all(
                    labelled, sandbox, policy, config.review, kept, told,
                    level=starting_level(config.solver), seed=seed,
                )  # fmt: skip
        return summarise(labelled, kept, reviews=reviews_of(config))


def reviews_of(config: Config | None) -> int:
    """Return how often each environment is reviewed by reading; 0 if it is not."""
    return 0 if config is None or config.review.kind == "recomputing" else config.review.reviews


def file_name(labelled: LabelledSet) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", labelled.name.rstrip("/").rpartition("/")[2]).strip("-.")[:60]
    return f"review-audit-{plain or 'set'}-{labelled.digest[:6]}"


def identity(labelled: LabelledSet, config: Config | None, model: Any, seed: int) -> dict[str, Any]:
    """Return what must not change between two sittings of one audit; the number of reviews may grow."""
    # The digest says what is judged: one set may be spelt in several ways.
    found: dict[str, Any] = {"digest": labelled.digest, "evoenv": __version__, "seed": seed}
    if config is not None:
        found |= review_identity(config, model)
        if config.review.kind != "reading":
            found["recomputation"] = recomputation_identity(config)
    return found


def review_identity(config: Config, model: Any) -> dict[str, Any]:
    """Return who reviews and how: what must not change between two sittings."""
    review = config.review
    return {
        "model": model,
        "review": {
            "prompt": REVIEW_PROMPT,
            "temperature": review.temperature,
            "max_prompt_tokens": review.max_prompt_tokens,
            "max_tokens": review.max_tokens,
            "level": starting_level(config.solver),
        },
    }


def recomputation_identity(config: Config) -> dict[str, Any]:
    """Return how environments are recomputed: what must not change between two sittings."""
    review = config.review
    return {
        "prompt": RECOMPUTE_PROMPTS[review.program_prompt],
        "programs": review.programs,
        "instances": review.program_instances,
        "gets": review.program_gets,
        "max_tokens": review.program_max_tokens,
    }
