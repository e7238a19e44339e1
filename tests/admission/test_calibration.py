from __future__ import annotations

from evoenv.admission.calibration import calibrate, calibration_seeds
from evoenv.config import CalibrationConfig
from evoenv.records import Calibration


def test_pass_rate_is_the_share_above_the_threshold():
    scores = (0.0, 0.01, 0.5, 1.0, 0.0, 0.0, 1.0, 0.0)
    assert calibrate(scores, CalibrationConfig()).pass_rate == 4 / 8
    assert calibrate(scores, CalibrationConfig(pass_threshold=0.5)).pass_rate == 2 / 8


def test_strict_mode_counts_only_fully_right_responses():
    found = calibrate((0.999, 1.0, 1.0 - 1e-9, 0.5), CalibrationConfig(strict=True))
    assert found.pass_rate == 2 / 4
    assert found.scores == (0.999, 1.0, 1.0 - 1e-9, 0.5)


def test_without_a_single_answer_nothing_is_known_to_be_solvable():
    assert calibrate((), CalibrationConfig()) == Calibration((), 0.0)


def test_seeds_differ_between_environments_steps_and_instances_and_repeat_otherwise():
    seeds = {
        seed for environment in ("a", "b") for step in (1, 2) for seed in calibration_seeds(0, environment, step, 8)
    }
    assert len(seeds) == 2 * 2 * 8
    assert calibration_seeds(0, "a", 1, 8) == calibration_seeds(0, "a", 1, 8)
    assert calibration_seeds(1, "a", 1, 8) != calibration_seeds(0, "a", 1, 8)
