"""How new candidates are: embeddings of what they ask and compute, against all that was ever admitted."""

from __future__ import annotations

import numpy as np

from evoenv.admission.novelty import Measured, beyond_gate, clean_generate_body, measure_batch
from evoenv.admission.reward import NOVELTY_FROM_LAYER
from evoenv.records import Candidate, environment_id
from evoenv.stages.context import Run
from evoenv.stages.synthesis import Proposed


def measure(run: Run, proposed: Proposed) -> tuple[dict[str, Measured], dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Measure the novelty of everything from L2 on; each distinct source is embedded once."""
    embedded = [item for item in proposed.candidates if proposed.reports[item.id].layer >= NOVELTY_FROM_LAYER]
    if not embedded:
        return {}, {}
    texts: dict[str, tuple[str, str]] = {}
    for item in embedded:
        source = item.source or ""
        texts.setdefault(
            environment_id(source), (proposed.reports[item.id].prompt_template, clean_generate_body(source))
        )
    prompts = run.embedder.embed([prompt for prompt, _ in texts.values()])
    codes = run.embedder.embed([code for _, code in texts.values()])
    vectors = {source_id: (prompts[row], codes[row]) for row, source_id in enumerate(texts)}
    source_ids = [environment_id(item.source or "") for item in embedded]
    measured = measure_batch(
        [item.id for item in embedded],
        np.stack([vectors[source_id][0] for source_id in source_ids]),
        np.stack([vectors[source_id][1] for source_id in source_ids]),
        run.cache,
        run.config.novelty,
    )
    return measured, vectors


def already_known(run: Run, candidate: Candidate, prompt_template: str) -> bool:
    """Return whether the gate refuses this candidate, whatever else its batch has: the cache only grows."""
    source = candidate.source or ""
    if environment_id(source) in run.cache:
        return True
    prompt, code = run.embedder.embed([prompt_template, clean_generate_body(source)])
    config = run.config.novelty
    measured = measure_batch([candidate.id], prompt[None], code[None], run.cache, config)
    return beyond_gate(measured[candidate.id].novelty, config)
