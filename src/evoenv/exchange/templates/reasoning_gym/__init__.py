"""Verified environments as reasoning-gym data sets: importing this package registers them."""

from .datasets import DATASETS, EvoEnvConfig, EvoEnvCurriculum, EvoEnvDataset

__all__ = ["DATASETS", "EvoEnvConfig", "EvoEnvCurriculum", "EvoEnvDataset"]
