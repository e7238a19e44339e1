"""Who is admitted: ℓ = 5, review passed, 0 < â < 1, asymmetric enough, sim below the gate; best reward first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from evoenv.admission.novelty import Measured, beyond_gate
from evoenv.admission.reward import FULL_LAYER, UNPROVEN, UNUSABLE, generator_reward, q_val
from evoenv.config import Config
from evoenv.records import Decision

Reason = Literal["layer", "review", "too-hard", "too-easy", "asymmetry", "gate", "batch-duplicate", "admitted"]
REASONS: tuple[Reason, ...] = get_args(Reason)
"""Every fate of a candidate, in the order in which the rules are asked."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """All that is known of a candidate when its fate is decided."""

    candidate_id: str
    environment_id: str
    layer: int
    review_passed: bool
    pass_rate: float | None = None
    """â; None below L5, and if nothing was calibrated."""
    measured: Measured | None = None
    """Novelty against the cache as the step found it; None below L2."""
    known: bool = False
    """The very source was admitted before."""
    asymmetry: float | None = None
    """By how much programs do better than words; None if that was not measured."""


def decide_admissions(batch: Sequence[Evaluated], gamma: float, config: Config) -> list[Decision]:
    """Reward every candidate and admit the worthy, in the order of the batch.

    Rewards use novelty against the cache as the step found it, so that they do not depend on who else is in
    the batch. Admission goes by falling reward (ties: by candidate id) and measures sim again against what
    the batch has admitted already: of a cluster of near copies only the best enters.
    """
    rewards = {item.candidate_id: _reward(item, gamma, config) for item in batch}
    ranked = sorted(batch, key=lambda item: (-rewards[item.candidate_id], item.candidate_id))
    fates: dict[str, tuple[Reason, float | None]] = {}
    admitted: list[Evaluated] = []
    for item in ranked:
        fate = _fate(item, admitted, config)
        fates[item.candidate_id] = fate
        if fate[0] == "admitted":
            admitted.append(item)
    return [
        Decision(
            candidate_id=item.candidate_id,
            layer=item.layer,
            q_val=_quality(item, config),
            reward=rewards[item.candidate_id],
            admitted=fates[item.candidate_id][0] == "admitted",
            reason=fates[item.candidate_id][0],
            similarity_at_admission=fates[item.candidate_id][1],
        )
        for item in batch
    ]


def _quality(item: Evaluated, config: Config) -> float:
    refused = _pay_if_refused(item, config)
    if refused is not None:
        return refused
    return q_val(item.layer, _pass_rate(item, config), config.calibration.target, config.calibration.sigma)


def _reward(item: Evaluated, gamma: float, config: Config) -> float:
    refused = _pay_if_refused(item, config)
    if refused is not None:
        return refused
    novelty = item.measured.novelty.novelty if item.measured else None
    calibration = config.calibration
    return generator_reward(
        item.layer,
        _pass_rate(item, config),
        novelty,
        gamma,
        calibration.target,
        calibration.sigma,
        config.generator.reward,
    )


def _pass_rate(item: Evaluated, config: Config) -> float | None:
    """Return â; of one that was not calibrated the target: nothing is known against its difficulty."""
    if (item.layer == FULL_LAYER and not config.calibration.enabled) or _uncalibrated(item, config):
        return config.calibration.target
    return item.pass_rate


def _fate(item: Evaluated, admitted: Sequence[Evaluated], config: Config) -> tuple[Reason, float | None]:
    """Return the first rule that refuses, or `admitted`, and sim as measured at this moment if it was asked for."""
    refusal = _refusal(item, config)
    if refusal is not None or item.measured is None:
        gated = item.measured if refusal == "gate" else None
        return refusal or "layer", gated.novelty.similarity if gated else None
    similarity = _similarity_now(item.measured, admitted, config.novelty.mix)
    same = any(item.environment_id == other.environment_id for other in admitted)
    return ("batch-duplicate" if same or similarity >= config.novelty.gate else "admitted"), similarity


def _refusal(item: Evaluated, config: Config, *, opinions: bool = True) -> Reason | None:
    """Return the first rule that refuses the candidate, whoever else is in its batch.

    `opinions`: whether the rules count that ask a model what it thinks of the candidate, too.
    """
    pass_rate = _pass_rate(item, config)
    if item.layer != FULL_LAYER or item.measured is None or pass_rate is None:
        return "layer"
    if _unasked(item, config):
        return "gate"
    if opinions and not item.review_passed:
        return "review"
    if pass_rate <= 0.0:
        return "too-hard"
    if pass_rate >= 1.0:
        return "too-easy"
    least = config.admission.min_asymmetry if opinions and config.admission.gates_asymmetry else None
    if least is not None and (item.asymmetry is None or item.asymmetry < least):
        return "asymmetry"
    return "gate" if _gated(item, config) else None


def _gated(item: Evaluated, config: Config) -> bool:
    """Return whether the gate refuses the candidate, whoever else is in its batch."""
    return item.known or (item.measured is not None and beyond_gate(item.measured.novelty, config.novelty))


def _pay_if_refused(item: Evaluated, config: Config) -> float | None:
    """Return what a candidate gets that is refused, where only admissible ones are rewarded by their parts."""
    if config.generator.reward == "gated":
        return UNUSABLE if _refusal(item, config, opinions=False) is not None else None
    if config.generator.reward == "proven":
        if item.layer != FULL_LAYER or _gated(item, config) or _uncalibrated(item, config):
            return UNUSABLE
        return UNPROVEN if _refusal(item, config) is not None else None
    return None


def _unasked(item: Evaluated, config: Config) -> bool:
    """Return whether nobody was asked about the candidate, because the gate refuses it."""
    return config.novelty.first and (_gated(item, config) or _uncalibrated(item, config))


def _uncalibrated(item: Evaluated, config: Config) -> bool:
    """Return whether the gate spared the candidate its calibration.

    It was measured alone then. Measured with its batch, the last bits of its similarity may be others, and on the other
    side of the gate: what was not asked counts, not what would be asked now.
    """
    spares = config.novelty.first and config.calibration.enabled
    return spares and item.layer == FULL_LAYER and item.pass_rate is None


def _similarity_now(measured: Measured, admitted: Sequence[Evaluated], mix: float) -> float:
    """Compute sim against the cache and what this batch has admitted; the maxima of the two views are separate."""
    prompt_cosine, code_cosine = measured.prompt_cosine, measured.code_cosine
    for other in admitted:
        if other.measured is not None:
            prompt_cosine = max(prompt_cosine, _cosine(measured.prompt_vector, other.measured.prompt_vector))
            code_cosine = max(code_cosine, _cosine(measured.code_vector, other.measured.code_vector))
    return mix * prompt_cosine + (1.0 - mix) * code_cosine


def _cosine(
    left: np.ndarray[tuple[int, ...], np.dtype[np.float32]], right: np.ndarray[tuple[int, ...], np.dtype[np.float32]]
) -> float:
    return float(np.clip(np.dot(left, right), -1.0, 1.0))
